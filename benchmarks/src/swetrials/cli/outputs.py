"""What a command says of its files: whether one can be written, before it does the work, and what was left out."""

import sys
from collections.abc import Iterable
from pathlib import Path

from swetrials.errors import UsageError


def check_output(flag: str, path: Path | None) -> None:
    """Refuse what cannot become a file.

    Raises:
        UsageError: it is a folder or a device, or what should be a folder on the way to it is a file.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{flag} {path}: is a folder; name a file")
    if path.exists() and not path.is_file():  # what is written takes the name of what was there
        raise UsageError(f"{flag} {path}: is a device; name a file")
    _check_way(flag, path, path.parents)


def check_folder(flag: str, path: Path | None) -> None:
    """Refuse what cannot become a folder, or is none.

    Raises:
        UsageError: it, or what should be a folder on the way to it, is a file.
    """
    if path is not None:
        _check_way(flag, path, (path, *path.parents))


def _check_way(flag: str, path: Path, way: Iterable[Path]) -> None:
    there = next((place for place in way if place.exists()), None)
    if there is not None and not there.is_dir():
        raise UsageError(f"{flag} {path}: {there} is no folder")


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
