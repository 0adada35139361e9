"""One request and its response, looked at while they pass."""

import time
import zlib
from hashlib import sha256
from urllib.parse import unquote

import orjson

from swetrials.records.requests import RequestRecord
from swetrials.wire.meter.asked import Asked, asked
from swetrials.wire.meter.bodies import KeptBodies
from swetrials.wire.meter.decoding import Decoder, decoder_for
from swetrials.wire.meter.heads import retry_after_seconds
from swetrials.wire.meter.messages import Headers, find
from swetrials.wire.route import Dialect
from swetrials.wire.usage import Told, text
from swetrials.wire.usage_readers import BoundedBody, ErrorReader, UnknownReader, UsageReader, bedrock_model, reader_for

LONGEST_ERROR = 500


class Exchange:
    """What is known of a request and its response; nothing in it can stop their way.

    Args:
        number: in the order of starts.
        method: of HTTP.
        path: without the attempt's secret and without the query.
        dialect: of a call of a model, else ``None``.
        began: when the attempt began, on the clock of ``time.monotonic``.
        bodies: where the bodies are kept, if they are.
    """

    def __init__(
        self, number: int, method: str, path: str, dialect: Dialect | None, began: float, bodies: KeptBodies | None
    ) -> None:
        self.error = ""
        self._number, self._method, self._path, self._dialect = number, method, path, dialect
        self._began = began
        self._bodies = bodies
        self._started = self._now()
        self._first_byte: float | None = None
        self._last_byte: float | None = None
        self._ended: float | None = None
        self._refused = self._retry = False
        self._sent_on = True
        self._status: int | None = None
        self._retry_after: float | None = None
        self._came_to_its_end = False
        self._request_bytes = self._response_bytes = 0
        self._request_body = BoundedBody()
        self._asked = Asked()
        self._reader: UsageReader | None = None
        self._decode: Decoder | None = None

    @property
    def digest(self) -> bytes:
        """What is the same for two calls of a model when their paths are and what their bodies say.

        Codex writes the keys of a repeated request in another order. It is computed when asked for, for that takes
        as long as reading the body does.
        """
        body = self._request_body.whole()
        try:
            said = orjson.dumps(orjson.loads(body), option=orjson.OPT_SORT_KEYS)
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            said = f"{self._request_bytes} ".encode() + body
        return sha256(self._path.encode() + b" " + said).digest()

    def refuse(self, why: str) -> None:
        """Take in that the request is none of the agent's: it is answered here with 401, and goes no further."""
        self._refused, self._status = True, 401
        self.not_sent(why)

    def not_sent(self, why: str) -> None:
        """Take in that nothing of the request reaches the endpoint."""
        self._sent_on, self.error = False, why

    def see_request(self, data: bytes) -> None:
        """Take in a piece of the request's body."""
        self._request_bytes += len(data)
        if self._dialect is not None:
            self._request_body.add(data)
        if self._bodies is not None:
            self._bodies.request(data)

    def request_ended(self) -> None:
        """Take in that the request came to its end."""
        self._asked = asked(self._request_body.whole())

    def response_began(self, status: int, headers: Headers) -> None:
        """Take in the head of the response."""
        self._status = status
        self._retry_after = retry_after_seconds(headers)
        content_type = find(headers, b"content-type")
        self._decode = decoder_for(find(headers, b"content-encoding"))
        if self._bodies is not None:
            self._bodies.begin_response(content_type)
        if status >= 400:
            self._reader = ErrorReader()
        elif self._dialect is not None:
            self._reader = reader_for(self._dialect, self._path, content_type)
            if self._reader is None:
                self.error = f"the answer to a call of a model is {content_type or 'of no stated type'}"
        elif self._method == "POST":
            self._reader = UnknownReader(self._path)

    def see_response(self, data: bytes) -> None:
        """Take in a piece of the response's body, as it came."""
        self._last_byte = self._now()
        if self._first_byte is None:
            self._first_byte = self._last_byte
        self._response_bytes += len(data)
        if self._decode is None:
            return
        try:
            for piece in self._decode(data):
                if self._reader is not None:
                    self._reader.feed(piece)
                if self._bodies is not None:
                    self._bodies.response(piece)
        except zlib.error as error:
            self._decode = None
            if self._reader is not None:
                self._reader.told.lose("the end of the answer cannot be read")
            self.error = f"the response's content encoding cannot be taken off: {error}"

    def response_ended(self) -> None:
        """Take in that the response came to its end."""
        self._came_to_its_end = True
        if self._reader is not None:
            self._reader.finish()
            if not (self._reader.told.final or self._reader.told.error):
                self.error = self.error or "the response ends, but what it says does not"

    def end(self, *, retry: bool) -> None:
        """Take in that nothing more comes, whatever came, and whether the same request had failed before."""
        self._ended = self._now()
        self._retry = retry
        if self._bodies is not None:
            self._bodies.close()

    def record(self) -> RequestRecord:
        """Return the record as it stands."""
        told = self._reader.told if self._reader is not None else Told()
        answers = self._dialect is not None and (self._status or 0) < 400
        return RequestRecord(
            number=self._number,
            method=self._method,
            path=self._path,
            dialect=self._dialect,
            started_seconds=self._started,
            first_byte_seconds=self._first_byte,
            last_byte_seconds=self._last_byte,
            ended_seconds=self._now() if self._ended is None else self._ended,
            status=self._status,
            retry_after_seconds=self._retry_after,
            stream=self._asked.stream is True or self._path.endswith("-stream"),
            model_asked=self._model_asked(),
            model_served=told.model,
            stop_reason=told.stop_reason,
            usage=told.usage,
            price_terms=told.terms,
            usage_doubts=tuple(dict.fromkeys((*told.lost, *told.doubts))),
            complete=(told.final and not told.broken_off) if answers else self._came_to_its_end,
            probe=self._asked.max_tokens == 1,
            retry=self._retry,
            request_bytes=self._request_bytes if self._sent_on else 0,
            response_bytes=self._response_bytes,
            refused=self._refused,
            error=(self.error or told.error)[:LONGEST_ERROR],
        )

    def _model_asked(self) -> str | None:
        in_path = bedrock_model(self._path)
        return text(self._asked.model) or (unquote(in_path) if in_path else None)

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 6)
