"""Reading files that may be anything: a program's, a person's, or what somebody has put in their place."""

import errno
import os
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_PATIENCE_SECONDS = 10.0
"""How long whoever holds a pipe open may take to write into it."""

_CHUNK_BYTES = 2**20


def read_bytes(path: Path, most_bytes: int | None = None) -> bytes:
    """Return what a file holds.

    A pipe is read to its end, so that a shell's ``<(command)`` does for a file. One that nobody writes into is empty:
    opened in the usual way, it would be waited for without end. What may have no end (a device, a socket) is refused.

    Args:
        path: the file.
        most_bytes: read about as much as this; ``None``: all of it.

    Raises:
        OSError: it cannot be read, is no file, or nothing came through the pipe for 10 s; it names the file.
    """
    pieces, size = [], 0
    with _opened(path) as descriptor:
        while most_bytes is None or size < most_bytes:
            try:
                piece = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:  # a pipe that somebody holds open
                if select.select([descriptor], [], [], _PATIENCE_SECONDS)[0]:
                    continue
                said = f"nothing came through this pipe for {_PATIENCE_SECONDS:.0f} s"
                raise OSError(errno.ETIMEDOUT, said, str(path)) from None
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(path)) from None
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def open_file(path: Path) -> BinaryIO:
    """Return a file opened for reading piece by piece, whoever writes a pipe taking the time that it takes.

    Raises:
        OSError: it cannot be opened or is no file; it names the file.
    """
    with _opened(path) as descriptor:
        os.set_blocking(descriptor, True)
        return os.fdopen(os.dup(descriptor), "rb")


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        OSError: as of :func:`read_bytes`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path).decode("utf-8")


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "is a device or a socket, not a file", str(path))
        yield descriptor
    finally:
        os.close(descriptor)
