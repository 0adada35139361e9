"""What is done to a recorded stream to make another case of it."""

from collections.abc import Callable

import orjson

Edit = Callable[[list[bytes]], list[bytes]]

FUTURE = b'{"type":"from_the_future","session_id":"s","sessionID":"s","timestamp":1,"part":[{"tokens":{"input":9}}]}\n'


def without_last_line(lines: list[bytes]) -> list[bytes]:
    """Leave the last line out."""
    return lines[:-1]


def torn(lines: list[bytes]) -> list[bytes]:
    """Cut the last line in its middle, as when the disk was full or the program was killed."""
    return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]


def inserted(*new: bytes, after: bytes) -> Edit:
    """Put lines after the first one that holds a text."""

    def edit(lines: list[bytes]) -> list[bytes]:
        place = next(index for index, line in enumerate(lines) if after in line) + 1
        return [*lines[:place], *(line.rstrip(b"\n") + b"\n" for line in new), *lines[place:]]

    return edit


def repeated(since: bytes) -> Edit:
    """Append once more what follows the last line that holds a text, that line included."""

    def edit(lines: list[bytes]) -> list[bytes]:
        place = max(index for index, line in enumerate(lines) if since in line)
        return [*lines, *lines[place:]]

    return edit


def from_the_future(lines: list[bytes]) -> list[bytes]:
    """Add events that nobody knows between all others, and fields that nobody knows to each."""
    return [
        part
        for line in lines
        for part in (FUTURE, orjson.dumps(orjson.loads(line) | {"zz": {"deep": [None, 1.5]}}) + b"\n")
    ]


def swapped(old: bytes, new: bytes) -> Edit:
    """Replace a text wherever it stands; it has to be there."""

    def edit(lines: list[bytes]) -> list[bytes]:
        data = b"".join(lines)
        assert old in data
        return data.replace(old, new).splitlines(keepends=True)

    return edit


def swapped_in_last_line(old: bytes, new: bytes) -> Edit:
    """Replace a text in the last line; it has to be there."""

    def edit(lines: list[bytes]) -> list[bytes]:
        return [*lines[:-1], *swapped(old, new)(lines[-1:])]

    return edit
