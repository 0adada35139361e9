"""Usage in the two OpenAI dialects: cached tokens are part of the input, reasoning is part of the output.

Chat Completions tells usage in a stream's last chunk, and only to a client that sends
``stream_options.include_usage``; Responses tells it with the last event. Neither has a bucket for cache writes: they
are 0 by declaration, unless a server tells them under a name of its own. The names are in ``usage_spellings``.
"""

import re
from collections.abc import Iterator

from swetrials.records.usage import Usage
from swetrials.wire.usage import JsonObject, Told, error_message, mapping, text
from swetrials.wire.usage_spellings import OPENAI_CHAT, OPENAI_RESPONSES, Vocabulary
from swetrials.wire.usage_terms import joined, openai_terms

_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}
_UNDER_WAY = {"queued", "in_progress"}
_TOOL_RAN = re.compile(r"response\.(\w+_call)\.completed")
_CHAT, _RESPONSES = Vocabulary(OPENAI_CHAT), Vocabulary(OPENAI_RESPONSES)


class OpenAIChat:
    """Reads chat.completion objects and their chunks."""

    silent: frozenset[bytes] = frozenset()

    def __init__(self) -> None:
        self.told = Told()
        self._counted = _Counted(_CHAT, "prompt_tokens", "completion_tokens")

    def event(self, event: JsonObject) -> None:
        """Take in one chunk."""
        if event.get("error"):
            self.told.break_off(error_message(event) or "an error event")
        self.told.model = text(event.get("model")) or self.told.model
        choices = event.get("choices")
        usages = [event.get("usage"), mapping(event.get("x_groq")).get("usage")]
        for choice in choices if isinstance(choices, list) else []:
            self.told.stop_reason = text(mapping(choice).get("finish_reason")) or self.told.stop_reason
            usages.append(mapping(choice).get("usage"))
        for usage in usages:
            if reported := mapping(usage):
                self._counted.add(reported, self.told)
                self.told.terms = joined(self.told.terms, openai_terms({}, reported))
        if tier := text(event.get("service_tier")):
            self.told.terms = joined(self.told.terms, openai_terms({"service_tier": tier}, {}))

    def whole(self, body: JsonObject) -> None:
        """Take in a chat.completion object."""
        self.event(body)
        self.told.final = isinstance(body.get("choices"), list)

    def finish(self) -> None:
        """Take in that the response came to its end."""


class OpenAIResponses:
    """Reads response objects and the events of their streams."""

    silent = frozenset(
        {
            b"response.output_item.added",
            b"response.output_item.done",
            b"response.output_text.delta",
            b"response.function_call_arguments.delta",
            b"response.reasoning_summary_text.delta",
        }
    )

    def __init__(self) -> None:
        self.told = Told()
        self._counted = _Counted(_RESPONSES, "input_tokens", "output_tokens")
        self._ran: list[JsonObject] = []

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        kind = text(event.get("type"))
        if kind == "error":
            self.told.break_off(error_message(event) or "an error event")
        elif ran := _TOOL_RAN.fullmatch(kind or ""):
            self._ran.append({"type": ran[1]})
        elif response := mapping(event.get("response")):
            self.told.model = text(response.get("model")) or self.told.model
            if kind in _LAST_EVENTS:
                self.whole(response)

    def whole(self, body: JsonObject) -> None:
        """Take in a response object."""
        status = text(body.get("status"))
        self.told.model = text(body.get("model")) or self.told.model
        self.told.stop_reason = text(mapping(body.get("incomplete_details")).get("reason")) or status
        self.told.final = status is not None and status not in _UNDER_WAY
        self.told.error = error_message(body)
        reported = mapping(body.get("usage"))
        self.told.terms = joined(
            self.told.terms, openai_terms({**body, "output": body.get("output") or self._ran}, reported)
        )
        if reported:
            self._counted.add(reported, self.told)

    def finish(self) -> None:
        """Take in that the response came to its end."""


class _Counted:
    """The counts of one answer so far. They are cumulative and never fall, so the greatest that was told stands."""

    def __init__(self, vocabulary: Vocabulary, sent: str, made: str) -> None:
        self._vocabulary, self._sent, self._made = vocabulary, sent, made
        self._counts: dict[str, int] = {}
        self._disagreements: dict[str, None] = {}

    def add(self, reported: JsonObject, told: Told) -> None:
        """Take in a usage object. One that is all zero tells nothing, for no prompt is empty."""
        counts, disagreements = self._vocabulary.counts(reported)
        self._disagreements |= dict.fromkeys(disagreements)
        if not any(counts.values()):
            told.lose(*disagreements)
            return
        for what, value in counts.items():
            if 0 < value < self._counts.get(what, 0):
                self._disagreements[f"a later report has a smaller {what}"] = None
            self._counts[what] = max(value, self._counts.get(what, 0))
        doubts: list[str] = list(self._disagreements)
        told.usage = Usage(**dict(self._output(doubts)), **dict(self._input(doubts)))
        told.doubts = tuple(doubts)

    def _input(self, doubts: list[str]) -> Iterator[tuple[str, int]]:
        """Yield the prompt's buckets; where its parts are not told, or do not fit into it, the whole."""
        prompt, read, miss = self._counts.get("prompt") or None, self._counts.get("read"), self._counts.get("miss")
        write = self._written(doubts)
        if prompt is None and read is not None and miss is not None:
            prompt = read + miss + write
        if prompt is not None and read is None and miss is not None:
            read = prompt - miss - write
        parts = (read or 0) + write
        rest = None if prompt is None else prompt - parts
        fits = rest is None or (rest >= 0 and (read or 0) >= 0 and (read is None or miss in (None, rest)))
        if prompt is not None and not fits:
            doubts.append(f"the cached parts of {self._sent} do not fit into it")
            yield "input_total", prompt
            return
        if prompt is None and read is None and not write:
            return
        yield "cache_write", write
        for what in ("write_5m", "write_1h"):
            if what in self._counts:
                yield f"cache_{what}", self._counts[what]
        if read is not None:
            yield "cache_read", read
            if prompt is not None:
                yield "fresh_input", prompt - parts
        elif prompt is not None:
            yield "input_total", prompt

    def _written(self, doubts: list[str]) -> int:
        parts = self._counts.get("write_5m", 0) + self._counts.get("write_1h", 0)
        write = self._counts.get("write", parts)
        if parts > write:
            doubts.append("the parts of the cache write are more than the whole")
        return write

    def _output(self, doubts: list[str]) -> Iterator[tuple[str, int]]:
        """Yield the output and its part for reasoning, which some servers count beside it: the total tells."""
        output, reasoning, total = self._counts.get("output"), self._counts.get("reasoning"), self._counts.get("total")
        prompt = self._counts.get("prompt") or None
        if output is None:
            return
        if None not in (total, prompt) and total != (prompt or 0) + output:
            if reasoning and total == (prompt or 0) + output + reasoning:
                output += reasoning
            else:
                doubts.append(f"{self._sent} and {self._made} do not make total_tokens")
        if reasoning is not None and reasoning > output:
            doubts.append(f"reasoning_tokens are more than {self._made}")
            reasoning = None
        yield "output", output
        if reasoning is not None:
            yield "reasoning", reasoning
