"""The reference page says what the code does: the same commands, keys, defaults, codes, outcomes and fields."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from swetrials.cli.app import app
from swetrials.cli.options import ALIASES, CONFIG_KEYS
from swetrials.records.config import RunnerConfig
from swetrials.records.evaluation import Evaluation
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import USUAL_BLAME, OutcomeKind
from swetrials.store.project import find_project

ROOT = find_project().root
PAGE = (ROOT / "docs" / "harness-reference.md").read_text(encoding="utf-8")
SECTIONS = {
    title.strip("`"): text for title, text in re.findall(r"^##+ (.+)\n((?:(?!^#).*\n?)*)", PAGE, flags=re.MULTILINE)
}


def rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    lines = [line for line in SECTIONS[title].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")] for line in lines[2:]]


def plain(cell: str) -> str:
    return cell.strip("` ")


def commands(group: Any, path: tuple[str, ...] = ("swetrials",)) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield every command that a person may call, with its whole name. Typer keeps the types of these to itself."""
    for name, child in group.commands.items():
        if hasattr(child, "commands"):
            yield from commands(child, (*path, name))
        elif not child.hidden:
            yield " ".join((*path, name)), child


COMMANDS = dict(commands(typer.main.get_command(app)))


def test_every_command_has_its_section_and_no_other() -> None:
    assert {title for title in SECTIONS if title.startswith("swetrials ")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_there_and_no_other(name: str) -> None:
    options = {word for parameter in COMMANDS[name].params for word in parameter.opts if word.startswith("--")}
    keys = {f"--{key.replace('_', '-')}" for key in CONFIG_KEYS}
    takes_all_keys = keys <= options
    also = {word for words in ALIASES.values() for word in words} if takes_all_keys else shorter(name)
    assert {plain(row[0]).split()[0] for row in rows(name)} == options - (keys if takes_all_keys else set()) - also
    assert ("Takes every configuration key" in SECTIONS[name]) is takes_all_keys
    arguments = [p.metavar or p.name for p in COMMANDS[name].params if p.param_type_name == "argument"]
    assert all(f"`{argument.upper()}`" in SECTIONS[name] for argument in arguments)


def shorter(name: str) -> set[str]:
    """Return further spellings of a command's options, each of which the page names beside the first."""
    words = {word for parameter in COMMANDS[name].params for word in parameter.opts[1:] if len(parameter.opts[0]) > 2}
    words -= {word for words in ALIASES.values() for word in words}
    assert all(f"`{word}` is the same here" in SECTIONS[name] for word in words)
    return words | {word for words in ALIASES.values() for word in words}


def test_every_configuration_key_is_there_with_its_default() -> None:
    told = {plain(row[0]): plain(row[1]) for row in rows("Configuration")}
    assert told == {key: _in_words(field.default) for key, field in RunnerConfig.model_fields.items()}


def _in_words(default: object) -> str:
    if default is None:
        return ""
    return ",".join(default) if isinstance(default, tuple) else f"{default}"


def test_every_outcome_is_there_with_its_blame() -> None:
    told = {plain(row[0]): plain(row[1]) for row in rows("Outcomes")}
    assert told == {kind.value: blame.value if (blame := USUAL_BLAME.get(kind)) else "" for kind in OutcomeKind}


def test_the_exit_codes_are_those_of_the_command_line() -> None:
    from swetrials.cli import errors

    others = {errors.USAGE, errors.PREFLIGHT, errors.REFUSED, errors.INTERRUPTED}
    assert {int(row[0]) for row in rows("Exit codes")} == {0, 1} | others


def test_every_field_of_the_records_is_there() -> None:
    told = {field for row in rows("metrics.json") for field in re.findall(r"`(\w+)`", row[0])}
    assert told == set(Metrics.model_fields)
    assert set(Evaluation.model_fields) <= set(re.findall(r"`(\w+)`", SECTIONS["eval.json"]))


def test_every_finding_is_there() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    findings = {
        found for text in sources for found in re.findall(r'Finding\(\s*code="(\w+)",\s*severity="(\w+)"', text)
    }
    assert {(plain(row[0]), plain(row[1])) for row in rows("Findings")} == findings
