"""Cutting a stream of bytes into JSON objects, whatever the bytes."""

from collections.abc import Iterator

import orjson


class JsonLines:
    """Collects bytes into lines and yields the objects among them.

    A line that is not a JSON object (a banner, a warning, a torn last line) is passed over and counted in
    ``skipped``; invalid UTF-8 inside a line costs only the characters concerned. Memory is bounded by the
    longest line.
    """

    def __init__(self, passed_over: tuple[bytes, ...] = ()) -> None:
        """Take the beginnings of lines that nobody wants: they are not even parsed."""
        self.skipped = 0
        self._passed_over = passed_over
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[dict[str, object]]:
        """Take the next bytes, cut anywhere, and yield the objects of the lines they complete."""
        *lines, rest = data.split(b"\n")
        if lines:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces = []
        if rest:
            self._pieces.append(rest)
        for line in lines:
            if not line.startswith(self._passed_over) and (value := self._parsed(line)) is not None:
                yield value

    def finish(self) -> Iterator[dict[str, object]]:
        """Yield the object of a last line that has no newline, if it is whole."""
        line, self._pieces = b"".join(self._pieces), []
        if not line.startswith(self._passed_over) and (value := self._parsed(line)) is not None:
            yield value

    def _parsed(self, line: bytes) -> dict[str, object] | None:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                return None
            try:
                value = orjson.loads(line.decode(errors="replace"))
            except orjson.JSONDecodeError:
                value = None
        if isinstance(value, dict):
            return value
        self.skipped += 1
        return None


def mapping(value: object) -> dict[str, object]:
    """Return ``value`` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[object]:
    """Return ``value`` when it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """Return ``value`` when it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """Return ``value`` when it can be a number of tokens, else ``None``; some servers write ``12.0`` for 12."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and float(value).is_integer() else None
