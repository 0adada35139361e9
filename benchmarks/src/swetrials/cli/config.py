"""``config show``: what a run would take as its configuration, and where each value comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from swetrials.cli.lean import command_group
from swetrials.cli.options import AsJson, ConfigFile, with_config_keys

if TYPE_CHECKING:
    from swetrials.store.configuration import ExplainedConfig

app = command_group("Look at the configuration of a run.")


@app.command("show", epilog="Example: swetrials config show --config config/runner.yaml --repeats 3")
@with_config_keys
def config_show(flags: dict[str, object], config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print each value that a run would take, and what gives it: a flag, a variable, a line of the file, the default.

    Secrets are masked. Nothing is run.
    """
    show(config, flags, as_json=as_json)


def show(path: Path | None, flags: Mapping[str, object], *, as_json: bool) -> None:
    """Print the configuration, a line a key, or as JSON by key.

    Raises:
        DocumentError: a value has a fault, as a run would tell it.
    """
    from swetrials.store.configuration import explained_config

    explained = explained_config(path, os.environ, flags)
    if as_json:
        print(json.dumps({key: {"value": value, **_source(explained, key)} for key, value in _values(explained)}))
        return
    rows = [(key, _in_words(value), _source_in_words(_source(explained, key))) for key, value in _values(explained)]
    key_width = max(len(key) for key, _, _ in rows)
    source_width = max(len(source) for _, _, source in rows)
    for key, value, source in rows:
        print(f"{key:<{key_width}}  {source:<{source_width}}  {value}".rstrip())


def _values(explained: ExplainedConfig) -> Iterator[tuple[str, object]]:
    """Yield each key with its value as JSON has it; a secret is a mask, what has to be named yet is ``None``."""
    from swetrials.runs.defaults import lacks_default, with_quickstart
    from swetrials.store.project import find_project
    from swetrials.store.redaction import MASK

    dumped = with_quickstart(explained.config, find_project()).model_dump(mode="json")
    dumped |= {key: None for key in dumped if lacks_default(explained.config, key)}
    for key in type(explained.config).model_fields:
        given = getattr(explained.config, key)
        yield key, MASK if hasattr(given, "get_secret_value") else dumped[key]


def _source(explained: ExplainedConfig, key: str) -> dict[str, object]:
    """Return what gives a key: the kind of source, its name, and the line where it is a file."""
    from swetrials.records.config import SAME_KEYS
    from swetrials.runs.defaults import lacks_default

    origin = explained.origin(key)
    if origin is None:
        kind = "to be named" if lacks_default(explained.config, key) else "default"
        return {"source": kind, "name": None, "line": None}
    names = {key, SAME_KEYS.get(key, key)}
    kind = "flag" if names & explained.flags else "environment" if names & explained.variables else "file"
    return {"source": kind, "name": origin.file, "line": origin.place.line if origin.place else None}


def _source_in_words(source: Mapping[str, object]) -> str:
    if source["source"] == "file":
        return f"{source['name']}:{source['line']}"
    return str(source["name"] or source["source"])


def _in_words(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return json.dumps(value)
