"""Usage on Bedrock: Anthropic's own events inside AWS's frames, or the events of Converse.

``invoke-with-response-stream`` wraps each Anthropic event as ``{"bytes": <base64>}`` in a frame named ``chunk``.
Converse counts cache reads and writes beside ``inputTokens``; it never names the model. Source: the service
model of the Bedrock runtime in botocore 1.44.
"""

from base64 import b64decode

from swetrials.records.usage import Usage
from swetrials.wire.eventstream import Frame
from swetrials.wire.usage import JsonObject, Told, count, error_message, mapping, parse, text


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

    def event(self, event: JsonObject) -> None:
        """Take in one event, under its name."""
        if event.get("type") == "error":
            self.told.error = error_message(event)
        if stop := mapping(event.get("messageStop")):
            self.told.stop_reason = text(stop.get("stopReason"))
        if metadata := mapping(event.get("metadata")):
            self._usage(mapping(metadata.get("usage")))
            self.told.final = True

    def whole(self, body: JsonObject) -> None:
        """Take in a response that is not streamed."""
        self.told.stop_reason = text(body.get("stopReason"))
        self.told.final = self.told.stop_reason is not None
        self._usage(mapping(body.get("usage")))

    def _usage(self, reported: JsonObject) -> None:
        if not reported:
            return
        details = reported.get("cacheDetails")
        written = {
            text(mapping(detail).get("ttl")): count(mapping(detail).get("inputTokens"))
            for detail in (details if isinstance(details, list) else [])
        }
        self.told.usage = Usage(
            fresh_input=count(reported.get("inputTokens")),
            cache_read=count(reported.get("cacheReadInputTokens")),
            cache_write=count(reported.get("cacheWriteInputTokens")),
            cache_write_5m=written.get("5m"),
            cache_write_1h=written.get("1h"),
            output=count(reported.get("outputTokens")),
        )
