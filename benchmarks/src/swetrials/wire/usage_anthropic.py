"""Usage in Anthropic Messages: input, cache reads and cache writes stand beside each other, so nothing is subtracted.

``message_start`` carries the prompt's counts and a placeholder for the output, which no answer comes to; the counts
of each ``message_delta`` are cumulative and replace them. The dialect has all buckets: what is not told is unknown.
Source: the public API reference, and what Claude Code 2.1 reads.
"""

from collections.abc import Mapping

from swetrials.records.usage import Usage
from swetrials.wire.usage import JsonObject, Told, error_message, mapping, text
from swetrials.wire.usage_spellings import ANTHROPIC, Vocabulary, counters
from swetrials.wire.usage_terms import anthropic_terms, joined

_INPUT = ("fresh_input", "cache_read", "cache_write", "cache_write_5m", "cache_write_1h")
_OUTPUT = ("output", "reasoning")
_LIFETIMES = {"ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"}
_VOCABULARY = Vocabulary(ANTHROPIC)


class AnthropicMessages:
    """Reads message objects and the events of their streams."""

    silent = frozenset({b"content_block_start", b"content_block_delta", b"content_block_stop", b"ping"})

    def __init__(self) -> None:
        self.told = Told()
        self._counts: dict[str, int] = {}
        self._placeholder: int | None = None

    def event(self, event: JsonObject) -> None:
        """Take in one event of a streamed response."""
        match event.get("type"):
            case "message_start":
                self._message(mapping(event.get("message")))
                self._placeholder = self._counts.get("output")
            case "message_delta":
                self._stop(mapping(event.get("delta")))
                self._usage(mapping(event.get("usage")))
            case "message_stop":
                self.told.final = True
                self.finish()
            case "error":
                self.told.break_off(error_message(event) or "an error event")

    def whole(self, body: JsonObject) -> None:
        """Take in a message object."""
        if body.get("type") == "message":
            self._message(body)
            self.told.final = True
        else:
            self.told.error = error_message(body)

    def finish(self) -> None:
        """Take in that the answer came to its end: a placeholder that nothing replaced is no count of it."""
        if self.told.final and self._placeholder is not None and self.told.usage is not None:
            self.told.usage = self.told.usage.model_copy(update={"output": None, "reasoning": None})

    def _message(self, message: JsonObject) -> None:
        self.told.model = text(message.get("model")) or self.told.model
        self._stop(message)
        self._usage(mapping(message.get("usage")))

    def _stop(self, holder: JsonObject) -> None:
        self.told.stop_reason = text(holder.get("stop_reason")) or self.told.stop_reason

    def _usage(self, reported: JsonObject) -> None:
        """Take in a report: what it tells replaces what was told before, unless it is less.

        The counts are cumulative, so one that falls is in doubt, and the greater stands.

        One that is all zero tells nothing: some gateways fill ``message_delta`` so, and no prompt is empty. The same
        holds for the prompt's counts alone.
        """
        if not reported:
            return
        self.told.terms = joined(self.told.terms, anthropic_terms(reported))
        counts, doubts = _VOCABULARY.counts(reported)
        lifetimes = {name for name, _ in counters(reported.get("cache_creation"))} - _LIFETIMES
        doubts += [f"cache_creation.{name} is not known" for name in sorted(lifetimes)]
        self.told.lose(*doubts)
        if not any(counts.values()):
            return
        tells_input = any(counts.get(name) for name in _INPUT)
        if tells_input and _prompt(self._counts | {name: counts[name] for name in _INPUT if name in counts}) < _prompt(
            self._counts
        ):
            self.told.lose("a later report has a shorter prompt")
            tells_input = False
        if self._placeholder is None and counts.get("output", 0) < self._counts.get("output", 0):
            if counts.get("output"):
                self.told.lose("a later report has a shorter output")
            counts.pop("output", None)
        for name in (*_INPUT, *_OUTPUT) if tells_input else _OUTPUT:
            if name in counts:
                self._counts[name] = counts[name]
        if "output" in counts:
            self._placeholder = None
        self._conclude(reported)

    def _conclude(self, reported: JsonObject) -> None:
        counts, doubts = dict(self._counts), []
        parts = [counts[name] for name in ("cache_write_5m", "cache_write_1h") if name in counts]
        write = counts.setdefault("cache_write", sum(parts)) if parts else 0
        if sum(parts) > write or (len(parts) > 1 and sum(parts) != write):
            doubts.append("the parts of cache_creation are not cache_creation_input_tokens")
        if counts.get("reasoning", 0) > counts.get("output", counts.get("reasoning", 0)) and not self._placeholder:
            doubts.append("thinking_tokens are more than output_tokens")
            del counts["reasoning"]
        if _has_more_calls(reported.get("iterations")):
            doubts.append("usage.iterations has calls that the totals leave out")
        self.told.usage = Usage(**counts)
        self.told.doubts = tuple(dict.fromkeys((*self.told.doubts, *doubts)))


def _prompt(counts: Mapping[str, int]) -> int:
    parts = counts.get("cache_write_5m", 0) + counts.get("cache_write_1h", 0)
    return counts.get("fresh_input", 0) + counts.get("cache_read", 0) + counts.get("cache_write", parts)


def _has_more_calls(iterations: object) -> bool:
    """Whether there are calls beside the answer, as for a compaction: they are billed, and in no total.

    Source: platform.claude.com/docs/en/build-with-claude/compaction.
    """
    kinds = [mapping(each).get("type") for each in (iterations if isinstance(iterations, list) else [])]
    return any(kind not in ("message", None) for kind in kinds)
