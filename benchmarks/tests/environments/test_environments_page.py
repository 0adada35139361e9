"""The page on environments says what the code does: each key with its default, and its example."""

import re
from pathlib import Path

from swetrials.records.environment import EnvironmentSpec
from swetrials.store.project import find_project
from swetrials.store.yaml_source import read_yaml

PAGE = find_project().root / "docs" / "environments.md"


def test_every_key_is_there_with_its_default() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`)? ?\|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    defaults = {
        name: str(field.default) if field.default and field.default is not None else ""
        for name, field in EnvironmentSpec.model_fields.items()
    }
    assert dict(rows) == defaults


def test_its_example_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    file = tmp_path / "x.yaml"
    file.write_text(example)
    data = read_yaml(file).data
    assert isinstance(data, dict)
    assert EnvironmentSpec.model_validate(data["environment"]).prepares
