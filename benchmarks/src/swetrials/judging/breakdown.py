"""A command that broke down before it could tell anything of the tests."""

import re

from swetrials.records.verification import CommandResult
from swetrials.workspace.printed import last_line

_NOT_THERE = frozenset({126, 127})
# What a shell ends with where a program cannot be run, or is not there (POSIX, "Exit Status for Commands").

_SIGNALS = range(129, 193)
# 128 and the signal's number: what shells and bubblewrap make of a signal.

_NO_PROGRAM = re.compile(r"\S*python\S*: No module named [\w.]+|bwrap: execvp .+: (No such file .*|Permission denied)")
# What ``python -m`` prints, where a traceback puts the name into quotes; bubblewrap ends with 1 then.


def breakdown(result: CommandResult) -> str | None:
    """Return how a command broke down; ``None``: it came to an end by itself, whatever that was."""
    code = result.exit_code
    if code is None:
        return "was stopped at its limit"
    if code < 0 or code in _SIGNALS:
        return f"was killed by signal {-code if code < 0 else code - 128}"
    if code in _NOT_THERE or (code and _NO_PROGRAM.fullmatch(last_line(result.output_tail))):
        return "has no program to run"
    return None
