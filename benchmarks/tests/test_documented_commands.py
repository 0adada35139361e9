"""Every command that the pages show is one that the program takes: its words, its options and their values."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from swetrials.cli.app import app
from swetrials.store.project import find_project

ROOT = find_project().root
REPOSITORY = ROOT.parent
NAMES = ("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = sorted({*(REPOSITORY / name for name in NAMES), *REPOSITORY.glob("docs/**/*.md")}) + sorted(
    {ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("perf/*.md")}
)
DOORS = {
    "run-e2e-benchmark.sh": ["e2e"],
    "run-multi-model-benchmark.sh": ["batch"],
    "run-swe-headless.py": ["run"],
    "codex_judge.py": ["judge"],
    "summarize_run.py": ["summarize"],
    "dataset_loader.py": ["dataset", "validate"],
    "eval_swe_router.py": ["router", "evaluate"],
    "run-swe-router-headless.py": ["router", "inputs"],
}
"""Scripts, and the words of the command behind each."""

BEFORE = {"uv", "run", "scripts/uv.sh", "./scripts/uv.sh", "python", "python3", ".venv/bin/python", "nohup"}
"""What may stand before a command without being part of it."""

COMMAND = typer.main.get_command(app)


class Shown(NamedTuple):
    """A command on a page."""

    where: str
    words: list[str]


def fenced(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page's code blocks, with their numbers; a line that goes on is one with the next."""
    inside, whole = False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            inside, whole = not inside, ""
        elif inside:
            whole += line.rstrip().removesuffix("\\")
            if not line.rstrip().endswith("\\"):
                yield number, whole
                whole = ""


def shown() -> Iterator[Shown]:
    """Yield every command of the project on every page."""
    for page in PAGES:
        for number, line in fenced(page):
            for part in re.split(r"\s(?:&&|\|\|?)\s|;\s|\s&&?$", line.strip().removeprefix("$ ")):
                words = command_of(part)
                if words is not None:
                    yield Shown(f"{page.relative_to(REPOSITORY)}:{number}", words)


def command_of(text: str) -> list[str] | None:
    """Return the words behind ``swetrials``; ``None`` where the text is another program's or no command."""
    try:
        words = shlex.split(re.sub(r"\s2?>.*", "", text), comments=True)
    except ValueError:
        return None
    while words and (words[0] in BEFORE or re.fullmatch(r"[A-Z_]+=.*", words[0])):
        words = words[1:]
    if not words:
        return None
    program = words[0].rpartition("/")[2]
    if program == "swetrials":
        return words[1:]
    return [*DOORS[program], *words[1:]] if program in DOORS else None


SHOWN = list(shown())


def parse(words: list[str]) -> None:
    """Take the words as the program would, up to the point where it would begin to work.

    Raises:
        Exception: of Click, where it would refuse them.
    """
    command: Any = COMMAND
    context = None
    while hasattr(command, "commands"):
        context = command.make_context(command.name, list(words), parent=context)
        words = [*context._protected_args, *context.args]
        _, command, words = command.resolve_command(context, words)
    command.make_context(command.name, list(words), parent=context)


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command.where)
def test_a_shown_command_is_taken(command: Shown) -> None:
    if {"-h", "--help", "--version", "..."} & set(command.words):
        pytest.skip("shows help or leaves something out")
    parse(command.words)


def test_the_pages_show_commands_of_every_kind() -> None:
    assert {command.words[0] for command in SHOWN if command.words} >= {"e2e", "run", "judge", "report", "router"}


@pytest.mark.parametrize("words", [["no-such"], ["run", "--no-such"], ["run", "--repeats", "many"]])
def test_a_command_that_does_not_exist_is_refused(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|valid integer"):
        parse(words)
