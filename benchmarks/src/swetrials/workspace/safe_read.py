"""Reading what an agent has left, which may be anything but the plain file it should be."""

import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotPlainError(OSError):
    """Something else lies in the place of a plain file; ``strerror`` says what."""


def open_plain(folder: Path | bytes, name: str | bytes) -> BinaryIO:
    """Open a plain file that lies right in a folder.

    A link, in place of the file or of the folder, could lead to any file of the machine, also from inside a
    sandbox; a pipe would never end. Neither is opened.

    Raises:
        NotPlainError: it is something else.
        OSError: there is none, or it cannot be read; a link is told as ``ELOOP``.
    """
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)
    mode = os.fstat(found).st_mode
    if not stat.S_ISREG(mode):
        os.close(found)
        raise NotPlainError(0, f"is {kind_of(mode)}")
    return os.fdopen(found, "rb")


def open_left(folder: Path, name: str) -> BinaryIO | None:
    """Do what :func:`open_plain` does; ``None`` when there is no such file, or it cannot be read."""
    try:
        return open_plain(folder, name)
    except OSError:
        return None


def read_left(folder: Path, name: str, most_bytes: int) -> bytes | None:
    """Return what a plain file holds; ``None``: there is none, it cannot be read, or it is larger than it may be."""
    file = open_left(folder, name)
    if file is None:
        return None
    with file:
        data = file.read(most_bytes + 1)
    return data if len(data) <= most_bytes else None


def kind_of(mode: int) -> str:
    """Say what lies somewhere, by its mode."""
    kinds = ((stat.S_ISREG, "a file"), (stat.S_ISDIR, "a folder"), (stat.S_ISLNK, "a symbolic link"))
    special = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((word for is_kind, word in (*kinds, *special) if is_kind(mode)), "a device")
