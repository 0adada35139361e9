"""What a program has printed, as a person reads it in one line."""

import re
from collections.abc import Iterator

MOST_OF_A_LINE = 300
"""Characters of a line that a message holds."""

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")
# Control sequences (ECMA-48: CSI), a terminal's own (OSC), and single control characters.


def plain_lines(output: str) -> Iterator[str]:
    """Yield each line without a terminal's colours and blanks around it; one that says nothing is empty."""
    return (_CONTROL.sub("", line).strip() for line in output.splitlines())


def last_line(output: str) -> str:
    """Return the last line that says something, without a terminal's colours; at most 300 characters of it."""
    return next(iter(last_lines(output, 1)), "")


def last_lines(output: str, most: int = 5) -> list[str]:
    """Return the last lines that say something, each as :func:`last_line` has it."""
    return [line[:MOST_OF_A_LINE] for line in plain_lines(output) if line][-most:]
