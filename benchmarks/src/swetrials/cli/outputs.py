"""What a command says of its files: whether one can be written, before it does the work, and what was left out."""

import sys
from pathlib import Path

from swetrials.pipeline.workbench import UsageError


def check_output(flag: str, path: Path | None) -> None:
    """Refuse what cannot become a file.

    Raises:
        UsageError: it is a folder, or what should be a folder on the way to it is a file.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{flag} {path}: is a folder; name a file")
    for parent in path.parents:
        if parent.exists():
            if not parent.is_dir():
                raise UsageError(f"{flag} {path}: {parent} is no folder")
            return


class LeftOut:
    """Names on standard error what is left out, one line each, as it is met.

    Attributes:
        count: the lines so far.
    """

    def __init__(self) -> None:
        """Begin with nothing left out."""
        self.count = 0

    def __call__(self, line: str) -> None:
        """Take one line."""
        self.count += 1
        print(line, file=sys.stderr)
