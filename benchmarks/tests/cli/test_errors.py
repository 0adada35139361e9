"""From exceptions to exit codes: what every command does with what it did not expect."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from swetrials.cli.app import app
from swetrials.cli.errors import guarded


def ended_by(error: Exception) -> int:
    app = typer.Typer()

    @app.command()
    def command() -> None:
        raise error

    return guarded(app, [])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "out/page.html"), "out/page.html: Permission denied"),
        (IsADirectoryError(21, "Is a directory", "out/.x.tmp", None, "out/x"), "out/x: Is a directory"),
        (OSError(28, "No space left on device", Path("out/x")), "out/x: No space left on device"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_no_fault_of_the_program(
    capsys: pytest.CaptureFixture[str], error: OSError, said: str
) -> None:
    assert ended_by(error) == 1
    assert capsys.readouterr().err == f"{said}\n"


def test_an_output_that_takes_nothing_is_no_fault_of_the_program() -> None:
    words = [str(Path(sys.executable).with_name("swetrials")), "matrix"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "cannot write the output: No space left on device\n"


def test_a_fault_of_the_program_is_two_lines_that_say_how_to_report_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended_by(ZeroDivisionError("division by zero")) == 1
    assert capsys.readouterr().err.splitlines() == [
        "unexpected ZeroDivisionError: division by zero",
        "run it again with --debug and report what it prints",
    ]


def number_options() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Give the command, the flag and the kind of every option that takes a number."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), typer.main.get_command(app))]
    while waiting:
        words, command = waiting.pop()
        waiting += [((*words, name), inner) for name, inner in getattr(command, "commands", {}).items()]
        for option in command.params:
            kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
            if kind in {int, float} and option.opts[0].startswith("--"):
                yield words, option.opts[0], "a whole number" if kind is int else "a number"


def test_whatever_takes_a_number_says_so_in_one_line_of_our_words(capsys: pytest.CaptureFixture[str]) -> None:
    tried = list(number_options())
    assert len(tried) > 60
    for words, flag, kind in tried:
        assert guarded(app, [*words, flag, "zero"]) == 2, (words, flag)
        [said] = capsys.readouterr().err.splitlines()
        limits = r"( of at least [\d.,]+| from [\d.]+ to [\d.,]+| greater than .+)?"
        assert re.fullmatch(rf"(--[a-z-]+ / )*{flag}( / --[a-z-]+)*: expected {kind}{limits}, got 'zero'", said), said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --concurrency zero", "--concurrency: expected a whole number from 1 to 256, got 'zero'"),
        ("run --timeout-seconds 5min", "--timeout-seconds: expected a number greater than 0, got '5min'"),
        ("results --rank-by score", "--rank-by: 'score' is not one of 'resolved', 'rubric'."),
        ("run --count 1.5", "--count: expected a whole number of at least 1, got '1.5'"),
        ("cost x --box-share 2", "--box-share: expected a number from 0.001 to 1, got '2'"),
        ("proxy start --port 0", "--port: expected a whole number from 1 to 65,535, got '0'"),
    ],
)
def test_what_a_number_may_be_is_said(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    assert guarded(app, words.split()) == 2
    assert capsys.readouterr().err == f"{said}\n"
