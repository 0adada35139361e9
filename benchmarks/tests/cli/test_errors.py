"""From exceptions to exit codes: what every command does with what it did not expect."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

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
