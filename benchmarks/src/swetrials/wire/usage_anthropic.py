"""Usage in Anthropic Messages: input, cache reads and cache writes stand beside each other, so nothing is subtracted.

``message_start`` carries the prompt's counts and a first output token; the counts of each ``message_delta`` are
cumulative and replace them. ``output_tokens_details.thinking_tokens`` is a part of ``output_tokens``. Source: the
public API reference, and what Claude Code 2.1 reads.
"""

from swetrials.records.usage import Usage
from swetrials.wire.usage import JsonObject, Told, count, error_message, mapping, text

_INPUT = ("fresh_input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h")
_OUTPUT = ("output", "reasoning")


class AnthropicMessages:
    """Reads message objects and the events of their streams."""

    silent = frozenset({b"content_block_start", b"content_block_delta", b"content_block_stop", b"ping"})

    def __init__(self) -> None:
        self.told = Told()

    def event(self, event: JsonObject) -> None:
        """Take in one event of a streamed response."""
        match event.get("type"):
            case "message_start":
                self._message(mapping(event.get("message")))
            case "message_delta":
                self._stop(mapping(event.get("delta")))
                self._usage(mapping(event.get("usage")))
            case "message_stop":
                self.told.final = True
            case "error":
                self.told.error = error_message(event) or "an error event"

    def whole(self, body: JsonObject) -> None:
        """Take in a message object."""
        if body.get("type") == "message":
            self._message(body)
            self.told.final = True
        else:
            self.told.error = error_message(body)

    def _message(self, message: JsonObject) -> None:
        self.told.model = text(message.get("model")) or self.told.model
        self._stop(message)
        self._usage(mapping(message.get("usage")))

    def _stop(self, holder: JsonObject) -> None:
        self.told.stop_reason = text(holder.get("stop_reason")) or self.told.stop_reason

    def _usage(self, reported: JsonObject) -> None:
        if reported:
            self.told.usage = _joined(self.told.usage or Usage(), _disjoint(reported))


def _disjoint(reported: JsonObject) -> Usage:
    written = mapping(reported.get("cache_creation"))
    written_5m = count(written.get("ephemeral_5m_input_tokens"))
    written_1h = count(written.get("ephemeral_1h_input_tokens"))
    parts = [part for part in (written_5m, written_1h) if part is not None]
    total = count(reported.get("cache_creation_input_tokens"))
    return Usage(
        fresh_input=count(reported.get("input_tokens")),
        cache_read=count(reported.get("cache_read_input_tokens")),
        cache_write=sum(parts) if total is None and parts else total,
        cache_write_5m=written_5m,
        cache_write_1h=written_1h,
        output=count(reported.get("output_tokens")),
        reasoning=count(mapping(reported.get("output_tokens_details")).get("thinking_tokens")),
    )


def _joined(earlier: Usage, later: Usage) -> Usage:
    """Return cumulative counts after a later report: what it tells replaces what was told before.

    Some gateways fill the prompt's counts of ``message_delta`` with zeros. No prompt is empty, so an input side
    that is all zero tells nothing.
    """
    tells_input = any(getattr(later, name) for name in _INPUT)
    knows_input = any(getattr(earlier, name) for name in _INPUT)
    names = _OUTPUT if knows_input and not tells_input else (*_INPUT, *_OUTPUT)
    told = {name: value for name in names if (value := getattr(later, name)) is not None}
    return earlier.model_copy(update=told)
