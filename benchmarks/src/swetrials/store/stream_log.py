"""An agent's stream on disk: byte for byte, but for the secrets in it."""

from pathlib import Path
from types import TracebackType
from typing import Self

from swetrials.store.redaction import Redactor


class StreamLog:
    """Writes whole lines as they come, each with its secrets masked, so that a reader may follow the file."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        self._redactor = redactor
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Append bytes; what follows the last newline waits for the rest of its line.

        Raises:
            OSError: the disk is full, or the file cannot be written.
        """
        whole, newline, rest = data.rpartition(b"\n")
        if newline:
            self._file.write(self._redactor.bytes(b"".join((*self._pieces, whole, newline))))
            self._file.flush()
            self._pieces = []
        if rest:
            self._pieces.append(rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.write(self._redactor.bytes(b"".join(self._pieces)))
        finally:
            self._file.close()
