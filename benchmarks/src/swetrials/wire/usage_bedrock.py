"""Usage on Bedrock: Anthropic's own events inside AWS's frames, or the events of Converse.

``invoke-with-response-stream`` wraps each Anthropic event as ``{"bytes": <base64>}`` in a frame named ``chunk``.
Converse counts cache reads and writes beside ``inputTokens``; it never names the model. It has all buckets; a model
that caches nothing may leave them out, and then they are unknown. Source: the service model of the Bedrock runtime in
botocore 1.44.
"""

from base64 import b64decode

from swetrials.records.usage import Usage
from swetrials.wire.eventstream import Frame
from swetrials.wire.usage import JsonObject, Told, count, error_message, mapping, parse, text
from swetrials.wire.usage_spellings import CONVERSE, Vocabulary
from swetrials.wire.usage_terms import converse_terms, joined

_VOCABULARY = Vocabulary(CONVERSE)
_LIFETIMES = ("5m", "1h")


def event_of(frame: Frame) -> JsonObject:
    """Return the event in a frame: Anthropic's own, or Converse's under its name, as ``{"metadata": ...}``."""
    body = parse(frame.payload)
    if frame.headers.get(":message-type") == "event" and frame.event != "chunk":
        return {frame.event: body}
    if frame.event == "chunk":
        try:
            return parse(b64decode(text(body.get("bytes")) or ""))
        except ValueError:
            return {}
    name = frame.event or frame.headers.get(":error-code", "error")
    said = error_message(body) or frame.headers.get(":error-message", "")
    return {"type": "error", "error": {"message": f"{name}: {said}"}}


class Converse:
    """Reads Converse's responses and the events of ConverseStream."""

    silent: frozenset[bytes] = frozenset()

    def __init__(self) -> None:
        self.told = Told()
        self._counts: dict[str, int] = {}

    def event(self, event: JsonObject) -> None:
        """Take in one event, under its name."""
        if event.get("type") == "error":
            self.told.break_off(error_message(event) or "an error event")
        if stop := mapping(event.get("messageStop")):
            self.told.stop_reason = text(stop.get("stopReason"))
        if metadata := mapping(event.get("metadata")):
            self._usage(metadata)
            self.told.final = True

    def whole(self, body: JsonObject) -> None:
        """Take in a response that is not streamed."""
        self.told.stop_reason = text(body.get("stopReason"))
        self.told.final = self.told.stop_reason is not None
        self._usage(body)

    def finish(self) -> None:
        """Take in that the response came to its end."""

    def _usage(self, holder: JsonObject) -> None:
        self.told.terms = joined(self.told.terms, converse_terms(holder))
        told, unreadable = _VOCABULARY.counts(mapping(holder.get("usage")))
        self.told.lose(*unreadable)
        if not any(told.values()):
            return
        for what, value in told.items():
            if 0 < value < self._counts.get(what, 0):
                self.told.lose(f"a later report has a smaller {what}")
            self._counts[what] = max(value, self._counts.get(what, 0))
        counts = dict(self._counts)
        doubts = []
        total = counts.pop("total", None)
        inside = counts.get("fresh_input", 0) + counts.get("output", 0)
        beside = inside + counts.get("cache_read", 0) + counts.get("cache_write", 0)
        if total not in (None, inside, beside):
            doubts.append("the counts do not make totalTokens")
        written = self._written(mapping(holder.get("usage")).get("cacheDetails"))
        if written and counts.setdefault("cache_write", sum(written.values())) != sum(written.values()):
            doubts.append("the parts of cacheDetails are not cacheWriteInputTokens")
        self.told.usage = Usage(**counts, **written)
        self.told.doubts = tuple(doubts)

    def _written(self, details: object) -> dict[str, int]:
        written: dict[str, int] = {}
        for detail in details if isinstance(details, list) else []:
            lifetime, tokens = text(mapping(detail).get("ttl")), count(mapping(detail).get("inputTokens"))
            if lifetime not in _LIFETIMES or tokens is None:
                self.told.lose("a part of cacheDetails cannot be read")
            else:
                written[f"cache_write_{lifetime}"] = written.get(f"cache_write_{lifetime}", 0) + tokens
        return written
