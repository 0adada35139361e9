"""Server-sent events as the three dialects frame them."""

from collections.abc import Iterator, Mapping

import orjson

MEDIA_TYPE = "text/event-stream"

DONE = b"data: [DONE]\n\n"
"""The last frame of an OpenAI Chat stream."""

LONGEST_EVENT_BYTES = 16 * 1024 * 1024
"""A longer event is passed over, so that reading needs bounded memory."""


def frame(data: Mapping[str, object], event: str | None = None) -> bytes:
    """Return one event: its name, where the dialect names events, and its data as JSON on one line."""
    head = b"" if event is None else b"event: " + event.encode() + b"\n"
    return head + b"data: " + orjson.dumps(data) + b"\n\n"


GARBAGE = b'data: {"type": "content_bl\xff\xfe<<garbage>>\n\n'
"""An event that is cut in the middle of its JSON, and no UTF-8."""


class Events:
    """Cuts a stream of bytes into the data of its events, however the bytes were split on their way.

    Lines end in LF or CRLF, which is what services send; the standard's lone CR is not a line's end here.
    """

    def __init__(self, silent: frozenset[bytes] = frozenset()) -> None:
        """Take the names of the events that are passed over."""
        self._silent = silent
        self._is_silent = False
        self._line = bytearray()
        self._data = bytearray()
        self._too_long = False
        self.passed_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the data of the events that ``data`` completes; several data lines are joined by newlines."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._line:
                line = bytes(self._line) + line
                self._line.clear()
            yield from self._take(line.removesuffix(b"\r"))
        self._line += rest
        if len(self._line) > LONGEST_EVENT_BYTES:
            self._line.clear()
            self._too_long = True
            self.passed_over = self.passed_over or not self._is_silent

    def rest(self) -> Iterator[bytes]:
        """Yield the data of the last event, where the stream ends without the empty line after it."""
        last = bytes(self._line)
        self._line.clear()
        for line in (last, b""):
            yield from self._take(line.removesuffix(b"\r"))

    def _take(self, line: bytes) -> Iterator[bytes]:
        if not line:
            if self._data and not self._too_long:
                yield bytes(self._data)
            self._data.clear()
            self._too_long = self._is_silent = False
        elif line.startswith(b"event:"):
            self._is_silent = line[6:].strip() in self._silent
        elif line.startswith(b"data:") and not self._is_silent:
            if self._data:
                self._data += b"\n"
            self._data += line[5:].removeprefix(b" ")
            if len(self._data) > LONGEST_EVENT_BYTES:
                self._too_long = self.passed_over = True
