"""``config show``, and the configuration's flags, which are made from its model."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from e2e.harness import Workplace
from swetrials.cli.app import app
from swetrials.cli.config_flags import CONFIG_FLAGS, config_flags
from swetrials.cli.options import CONFIG_KEYS
from swetrials.records.config import RunnerConfig

FILE = """# a comment
provider: endpoint
endpoint: http://127.0.0.1:9
model: from-file
repeats: 2
tasks:
  - word-tally
  - title-slug
"""


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "runner.yaml").write_text(FILE)
    return Workplace(tmp_path, {"SWETRIALS_API_KEY": "key-0123456789", "SWETRIALS_MODEL": "from-variable"})


def show(place: Workplace, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("swetrials")
    return subprocess.run(
        [program, "config", "show", *words], cwd=place.root, env=place.environ(), capture_output=True, text=True
    )


def test_each_value_is_shown_with_what_gives_it(place: Workplace) -> None:
    words = ("--config", "runner.yaml", "--repeats", "3", "--no-meter")
    done = show(place, *words, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert list(shown) == list(RunnerConfig.model_fields)
    expected = {
        "repeats": (3, "flag", "--repeats", None),
        "meter": (False, "flag", "--meter", None),
        "model": ("from-variable", "environment", "SWETRIALS_MODEL", None),
        "api_key": ("[redacted]", "environment", "SWETRIALS_API_KEY", None),
        "endpoint": ("http://127.0.0.1:9", "file", "runner.yaml", 3),
        "dataset": (None, "to be named", None, None),
        "max_turns": (200, "default", None, None),
    }
    assert {key: tuple(shown[key].values()) for key in expected} == expected
    assert shown["tasks"]["value"] == ["word-tally", "title-slug"]

    lines = {line.split()[0]: line.split()[1:] for line in show(place, *words).stdout.splitlines()}
    assert lines["repeats"] == ["--repeats", "3"]
    assert lines["endpoint"] == ["runner.yaml:3", "http://127.0.0.1:9"]
    assert lines["tasks"][1] == "word-tally,title-slug"
    assert lines["max_turns"] == ["default", "200"]
    assert lines["dataset"] == ["to", "be", "named", "-"]
    assert lines["clone_dir"] == ["default", "-"]


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_no_secret_is_shown(place: Workplace, words: tuple[str, ...]) -> None:
    done = show(place, "--judge-api-key", "judge-key-0123456789", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[redacted]") == 2
    assert "0123456789" not in done.stdout + done.stderr


def test_the_environment_is_shown_under_both_of_its_names(place: Workplace) -> None:
    shown = json.loads(show(place, "--config", "runner.yaml", "--sandbox", "none", "--json").stdout)
    told = {key: (shown[key]["value"], shown[key]["source"], shown[key]["name"]) for key in ("environment", "sandbox")}
    assert told == {"environment": ("host", "flag", "--sandbox"), "sandbox": ("none", "flag", "--sandbox")}


def test_a_fault_is_told_as_a_run_tells_it(place: Workplace) -> None:
    (place.root / "runner.yaml").write_text("repeats: many\n")
    done = show(place, "--config", "runner.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("runner.yaml:1: repeats: ")


def test_the_quickstart_is_found_from_any_folder(place: Workplace) -> None:
    done = show(Workplace(place.root), "--json")
    shown = json.loads(done.stdout)
    assert (shown["dataset"]["source"], Path(shown["dataset"]["value"]).is_file()) == ("default", True)
    assert (shown["model"]["value"], shown["model"]["source"]) == ("rehearsal", "default")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run", {"--model": "rehearsal in a rehearsal", "--provider": "rehearsal"}),
        ("batch start", {"--provider": "vllm", "--dataset": "dataset/mcp-gateway-registry.yaml", "--model": None}),
        ("router inputs", {"--dataset": "dataset/mcp-gateway-registry.yaml", "--skill": None, "--repeats": "1"}),
    ],
)
def test_a_default_is_the_commands_own(words: str, told: dict[str, str | None]) -> None:
    command: Any = typer.main.get_command(app)
    for word in words.split():
        command = command.commands[word]
    helps = {option.opts[0]: option.help for option in command.params}
    found = {name: re.search(r"\[default: (.*)\]", helps[name] or "") for name in told}
    assert {name: match and match.group(1) for name, match in found.items()} == told


def test_the_flags_are_those_of_the_model() -> None:
    assert CONFIG_FLAGS.read_bytes() == config_flags(), "make docs writes them anew"


def test_the_help_shows_choices_and_defaults() -> None:
    program = Path(sys.executable).with_name("swetrials")
    done = subprocess.run([program, "run", "--help"], capture_output=True, text=True, check=True)
    together = re.sub(r"-\s+", "-", " ".join(done.stdout.split()))  # a line may end within a word such as from-file
    for key in CONFIG_KEYS.values():
        for told in ("|".join(key.choices), f"[default: {key.default}]" if key.default else ""):
            assert told.replace(" ", "") in together.replace(" ", "")
    assert "--sandbox auto|bubblewrap|none" in together
    assert "[default: 3600]" in together
