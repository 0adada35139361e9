"""Writes config_flags.json: what the command line has to know of the configuration's model without loading it.

``python -m swetrials.cli.config_flags`` writes it, and ``make docs`` calls that.
"""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import orjson
from pydantic.fields import FieldInfo

from swetrials.agents import AGENTS
from swetrials.environments import ENVIRONMENTS
from swetrials.hosting import PROVIDERS
from swetrials.plugins import Family
from swetrials.records.config import RunnerConfig
from swetrials.runs.defaults import OF_THE_DEMO
from swetrials.store.files import write_atomically
from swetrials.trials.executors import EXECUTORS

CONFIG_FLAGS = Path(__file__).with_name("config_flags.json")

_FAMILIES: dict[str, Family[Any]] = {
    "agent": AGENTS,
    "provider": PROVIDERS,
    "executor": EXECUTORS,
    "environment": ENVIRONMENTS,
}
_KINDS = {bool: "switch", int: "whole", float: "number", tuple: "list"}


def config_flags() -> bytes:
    """Return the file's content: for each key its kind, what it means, its choices and its default."""
    flags = {key: _flag(key, field) for key, field in RunnerConfig.model_fields.items()}
    return orjson.dumps(flags, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _flag(key: str, field: FieldInfo) -> dict[str, object]:
    types_ = list(_types(field.annotation))
    kind = next((_KINDS[type_] for type_ in types_ if type_ in _KINDS), "text")
    choices: list[str] = [*_FAMILIES[key].own] if key in _FAMILIES else []
    choices += [word for type_ in types_ if get_origin(type_) is Literal for word in get_args(type_)]
    return {
        "kind": kind,
        "about": _about(key, field.description or "", kind, choices),
        "choices": choices,
        "default": _default(key, field.default) + (" in a rehearsal" if key in OF_THE_DEMO else ""),
    }


def _types(annotation: Any) -> Iterator[Any]:  # noqa: ANN401  an annotation is of any type
    """Yield what a value may be; of a list of several the word ``tuple``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _types(get_args(annotation)[0])
    elif origin in {Union, types.UnionType}:
        for part in get_args(annotation):
            yield from _types(part)
    else:
        yield tuple if origin is tuple else annotation


def _about(key: str, description: str, kind: str, choices: list[str]) -> str:
    if key in _FAMILIES:
        description += "; or one of your own, as module:Name"
    if kind == "list":
        description += "; separated by commas, or the flag repeated"
    begins_with_choice = description.split(":")[0] in choices
    return (description if begins_with_choice else description[:1].upper() + description[1:]) + "."


def _default(key: str, default: object) -> str:
    if isinstance(default, bool):
        return ("" if default else "no-") + key.replace("_", "-")
    if isinstance(default, tuple):
        return ",".join(default)
    if isinstance(default, float):
        return f"{default:g}"
    return "" if default is None or default == {} else str(default)


if __name__ == "__main__":
    write_atomically(CONFIG_FLAGS, config_flags())
