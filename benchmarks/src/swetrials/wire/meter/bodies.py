"""Keeping bodies, where the user asks for it: one file per request and one per response, secrets masked."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import orjson

from swetrials.store.redaction import Redactor
from swetrials.store.stream_log import StreamLog
from swetrials.wire import eventstream
from swetrials.wire.usage_bedrock import event_of


class KeptBodies:
    """The two files of one exchange in ``requests/``, beside the log.

    What cannot be written is left out: a full disk is no reason to stop the request.
    """

    def __init__(self, log: Path, number: int, redactor: Redactor) -> None:
        folder = log.parent / "requests"
        self._files = ExitStack()
        self._request = self._files.enter_context(StreamLog(folder / f"{number}.request", redactor))
        self._response = self._files.enter_context(StreamLog(folder / f"{number}.response", redactor))
        self._legible: Callable[[bytes], bytes] = bytes

    def begin_response(self, content_type: str) -> None:
        """Learn what kind of body the response has."""
        if content_type.startswith(eventstream.CONTENT_TYPE):
            self._legible = _Unframed().feed

    def request(self, data: bytes) -> None:
        """Keep a piece of the request's body."""
        with suppress(OSError):
            self._request.write(data)

    def response(self, data: bytes) -> None:
        """Keep a piece of the response's body, without content encoding."""
        with suppress(OSError, eventstream.BadFrame, orjson.JSONEncodeError):
            self._response.write(self._legible(data))

    def close(self) -> None:
        """Write what is left."""
        with suppress(OSError):
            self._files.close()


class _Unframed:
    """The events in an event stream's frames, one a line: a secret cannot be found in base64."""

    def __init__(self) -> None:
        self._decoder = eventstream.Decoder()

    def feed(self, data: bytes) -> bytes:
        return b"".join(orjson.dumps(event_of(frame)) + b"\n" for frame in self._decoder.feed(data))
