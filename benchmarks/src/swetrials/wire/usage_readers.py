"""Reading usage out of a response's bytes while they pass: one reader for each way of framing a response.

A reader takes decoded bytes, cut anywhere, and never raises for what it cannot understand; the memory it needs
is bounded, whatever the length of the response.
"""

import re
from collections.abc import Callable
from typing import Protocol

import orjson

from swetrials.wire import eventstream, sse
from swetrials.wire.route import Dialect
from swetrials.wire.usage import Interpreter, JsonObject, Told, error_message, mapping, parse
from swetrials.wire.usage_anthropic import AnthropicMessages
from swetrials.wire.usage_bedrock import Converse, event_of
from swetrials.wire.usage_openai import OpenAIChat, OpenAIResponses

LONGEST_BODY_BYTES = 16 * 1024 * 1024
"""A longer body that is not streamed is not read; it would be hundreds of times the longest answer there is."""

_ENDINGS: dict[str, Dialect] = {
    "/v1/messages": "anthropic",
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
}
_BEDROCK_CALL = re.compile(r"/model/(.+)/(?:invoke|invoke-with-response-stream|converse|converse-stream)")
_TELLS_USAGE = re.compile(rb'"usage(?:Metadata)?"\s*:\s*\{[^}]*:\s*[1-9]')
_INTERPRETERS: dict[Dialect, Callable[[], Interpreter]] = {
    "anthropic": AnthropicMessages,
    "bedrock": AnthropicMessages,
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
}


class UsageReader(Protocol):
    """Reads one response as it passes."""

    @property
    def told(self) -> Told:
        """What the response has told so far."""

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the body, cut anywhere, without content encoding."""

    def finish(self) -> None:
        """Take in that the body came to its end."""


def dialect_of(method: str, path: str) -> Dialect | None:
    """Return the dialect of a call of a model; ``None`` for any other request. The path is without its query."""
    if method != "POST":
        return None
    if bedrock_model(path) is not None:
        return "bedrock"
    return next((dialect for ending, dialect in _ENDINGS.items() if path.rstrip("/").endswith(ending)), None)


def bedrock_model(path: str) -> str | None:
    """Return the model, as the path writes it, of a call ``.../model/{id}/invoke`` and its like.

    An id can be an ARN, with slashes of its own.
    """
    call = _BEDROCK_CALL.fullmatch(path[max(path.find("/model/"), 0) :])
    return call[1] if call else None


def reader_for(dialect: Dialect, path: str, content_type: str) -> UsageReader | None:
    """Return a reader for the answer to a call of a model; ``None`` for a kind of body that no model sends.

    Args:
        dialect: of the call.
        path: of the call; tells Converse from the other calls of Bedrock.
        content_type: the response's header.
    """
    converse = dialect == "bedrock" and path.endswith(("/converse", "/converse-stream"))
    interpreter = Converse() if converse else _INTERPRETERS[dialect]()
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type == sse.MEDIA_TYPE:
        return SseReader(interpreter)
    if media_type == eventstream.CONTENT_TYPE:
        return FrameReader(interpreter)
    if media_type == "application/json":
        return WholeReader(interpreter)
    return None


class SseReader:
    """Server-sent events, each with a JSON object; ``[DONE]`` ends the stream of OpenAI Chat."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._events = sse.Events(interpreter.silent)

    @property
    def told(self) -> Told:
        """What the response has told so far."""
        return self._interpreter.told

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the stream."""
        for event in self._events.feed(data):
            self._take(event)

    def finish(self) -> None:
        """Take in that the body came to its end.

        Some servers leave out the last event after the stop reason, or the empty line after the last event.
        """
        for event in self._events.rest():
            self._take(event)
        if self._events.passed_over:
            self.told.lose("an event of the stream is too long to be read")
        self.told.final = self.told.final or self.told.stop_reason is not None
        self._interpreter.finish()

    def _take(self, event: bytes) -> None:
        if event.strip() == b"[DONE]":
            self.told.final = True
            return
        try:
            self._interpreter.event(mapping(orjson.loads(event)))
        except orjson.JSONDecodeError:
            self.told.lose("an event of the stream cannot be read")


class FrameReader:
    """Frames of an AWS event stream."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._decoder = eventstream.Decoder()
        self._lost = False

    @property
    def told(self) -> Told:
        """What the response has told so far."""
        return self._interpreter.told

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the stream; after a damaged frame the rest cannot be read."""
        if self._lost:
            return
        try:
            for frame in self._decoder.feed(data):
                self._interpreter.event(event_of(frame))
        except eventstream.BadFrame as error:
            self._lost = True
            self.told.error = str(error)
            self.told.lose("a frame of the stream cannot be read")

    def finish(self) -> None:
        """Take in that the body came to its end."""
        self._interpreter.finish()


class WholeReader:
    """A body that is one JSON object."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._body = BoundedBody()

    @property
    def told(self) -> Told:
        """What the response has told so far: nothing before its end."""
        return self._interpreter.told

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the body."""
        self._body.add(data)

    def finish(self) -> None:
        """Take in that the body came to its end."""
        if body := self._body.json():
            self._interpreter.whole(body)


class ErrorReader:
    """The body of a response that says why there is no answer."""

    def __init__(self) -> None:
        self.told = Told()
        self._body = BoundedBody()

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the body."""
        self._body.add(data)

    def finish(self) -> None:
        """Take in that the body came to its end."""
        self.told.error = error_message(self._body.json())
        self.told.final = True


class UnknownReader:
    """The answer to a call that the meter does not know: where it tells usage, it is billed, and nobody counts it."""

    def __init__(self, path: str) -> None:
        self.told = Told()
        self._path = path
        self._body = BoundedBody()

    def feed(self, data: bytes) -> None:
        """Take in the next bytes of the body."""
        self._body.add(data)

    def finish(self) -> None:
        """Take in that the body came to its end."""
        self.told.final = True
        if _TELLS_USAGE.search(self._body.whole()):
            self.told.lose(f"{self._path} tells usage, and the meter does not know this kind of call")


class BoundedBody:
    """A body that is kept until it is whole, unless it is too long for that."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._bytes = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes."""
        self._bytes += len(data)
        self._pieces.append(data)
        if self._bytes > LONGEST_BODY_BYTES:
            self._pieces.clear()

    def whole(self) -> bytes:
        """Return the body; nothing where it is too long."""
        return b"".join(self._pieces)

    def json(self) -> JsonObject:
        """Return the object that the body is; an empty one where it is none, or too long."""
        return parse(self.whole())
