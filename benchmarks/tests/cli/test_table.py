"""The table of commands, out of which ``--help`` is written, against the commands; and where each command is."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import swetrials.cli
from swetrials.cli.app import app
from swetrials.cli.lean import TableGroup, first_paragraph

PROGRAM = Path(sys.executable).with_name("swetrials")
FOLDER = Path(swetrials.cli.__file__).parent


def groups(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    """Yield every group of commands with its words. Typer keeps the types of these to itself."""
    yield path, group
    for name, child in group.commands.items():
        if hasattr(child, "commands"):
            yield from groups(child, (*path, name))


GROUPS = dict(groups(typer.main.get_command(app)))
COMMANDS = {
    (*path, name): child
    for path, group in GROUPS.items()
    for name, child in group.commands.items()
    if not hasattr(child, "commands")
}


def test_the_table_says_what_the_commands_say_of_themselves() -> None:
    tables = [group for group in GROUPS.values() if isinstance(group, TableGroup)]
    assert len(tables) == 2  # of all commands, and of the router's
    for group in tables:
        entries = {name: entry for section in group.sections.values() for name, entry in section.items()}
        told = {name: (first_paragraph(command.help), command.hidden) for name, command in group.commands.items()}
        assert told == {name: (entry.help, entry.hidden) for name, entry in entries.items()}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_commands_file_is_named_after_it(words: tuple[str, ...]) -> None:
    module = COMMANDS[words].callback.__module__.removeprefix("swetrials.cli.")
    # "import" is a word of the language, so that no module has that name.
    assert module.rstrip("_") in {"_".join(words), words[0]}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=map(" ".join, COMMANDS))
def test_a_value_is_called_by_a_word_of_manuals_and_not_by_a_type_of_python(command: Any) -> None:  # noqa: ANN401
    shown = command.get_help(typer.Context(command))
    assert not re.search(r"<(str|int|float|path|list\[|\w+ range|\w+\|)", shown), shown
    assert all(value.metavar for value in command.params if not getattr(value, "is_flag", False))


def test_every_file_that_declares_a_command_is_reached_from_the_table() -> None:
    declaring = {path.stem for path in FOLDER.glob("*.py") if re.search(r"^@app\.command", path.read_text(), re.M)}
    assert declaring == {command.callback.__module__.rpartition(".")[2] for command in COMMANDS.values()}


def help_of(*words: str) -> str:
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([PROGRAM, *words, "--help"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("words", [words for words in GROUPS if words != ("batch",)], ids=" ".join)
def test_the_help_of_a_group_cuts_no_line(words: tuple[str, ...]) -> None:
    text = help_of(*words)
    assert "..." not in text.replace("[ARGS]...", "")
    assert max(map(len, text.splitlines())) <= 80
    together = " ".join(text.split())
    for name, command in GROUPS[words].commands.items():
        assert (f"{name} {first_paragraph(command.help)}" in together) is not command.hidden


def test_commands_are_shown_by_what_one_wants() -> None:
    assert re.findall(r"^(\w.*):$", help_of(), re.M) == [
        "Options", "Set up", "Run", "Score", "Look", "Decide", "Maintain",
    ]  # fmt: skip


def in_bash(line: str, home: Path) -> str:
    """Return what bash prints; the program asks its parent which shell it is."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash on this machine")
    environment = {**os.environ, "HOME": str(home), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", f"{line}; true"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def test_completion_can_be_shown_installed_and_used(tmp_path: Path) -> None:
    script = in_bash("swetrials --show-completion", tmp_path)
    in_bash("swetrials --install-completion", tmp_path)
    [installed] = (tmp_path / ".bash_completions").iterdir()
    assert installed.read_text().strip() == script.strip()
    assert str(installed) in (tmp_path / ".bashrc").read_text()
    completed = {
        line: in_bash(
            f"source {installed}; COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; "
            '_swetrials_completion swetrials; echo "${COMPREPLY[@]}"',
            tmp_path,
        ).split()
        for line in ("swetrials re", "swetrials router in", "swetrials run --order i", "swetrials run --dia")
    }
    assert completed == {
        "swetrials re": ["rehearse", "results", "report"],
        "swetrials router in": ["inputs"],
        "swetrials run --order i": ["interleaved"],
        "swetrials run --dia": ["--dialect"],
    }
