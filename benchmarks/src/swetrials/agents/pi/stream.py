"""Reading what pi and its fork omp print with ``--mode json``.

Facts it rests on (pi 0.74.2 and 1.6.0, omp 18.2.3):

- ``message_end`` holds each message whole and once. ``message_update``, ``turn_end`` and ``agent_end`` repeat
  messages, the first of them for every few letters, so they are passed over unparsed.
- An assistant message's usage is of that one response. Input excludes cache reads and writes, output includes
  reasoning (``reasoning`` in pi, ``reasoningTokens`` in omp). All are 0 when the response broke off before any
  figure came: then nothing is known.
- ``agent_start`` and ``agent_end`` come in pairs, one for each go: a retry and a compaction begin another.
  ``agent_end.messages`` holds that go alone. Only pi 1.6 says which end is the last (``agent_settled``): for
  the others it is the one after which nothing more comes. What omp says of it (``isTerminal``) cannot be
  relied on: it announces goes that never come.
- The summary that a compaction asks the model for is in no message: its tokens are billed and untold.
- A refusal is ``error``: omp tells it in ``stopDetails``; pi says "An unknown error occurred" for it on
  Anthropic Messages, and for nothing else, and names the finish reason ``content_filter`` on Chat Completions.
- ``aborted`` is the mark of a run that was stopped from outside.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    RequestUsage,
    Retry,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.failures import failure
from swetrials.agents.jsonl import JsonLines, count, listing, mapping, text
from swetrials.agents.line_reader import LineReader
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage

_REPETITIONS = tuple(
    b'{"type":"%s"' % kind
    for kind in (b"message_update", b"tool_execution_update", b"tool_stream_update", b"message_start", b"turn_end")
)

_SUBAGENT_TOOL = "task"

_STATUS = re.compile(r"\A(?:\w+: )?([45]\d\d)\b")
_PI_REFUSALS = {
    "anthropic-messages": "An unknown error occurred",
    "openai-completions": "Provider finish_reason: content_filter",
}


def is_of_pi(line: Mapping[str, object], *, fork: bool) -> bool:
    """Say whether an object is of a stream of pi's, or with ``fork`` of omp's.

    The two differ in the user's message, which stands near the beginning: omp says in it whose it is.
    """
    message = mapping(line.get("message"))
    if line.get("type") not in {"message_start", "message_end"} or message.get("role") != "user":
        return False
    return ("attribution" in message) is fork


class PiReader(LineReader):
    """One stream of pi or omp, turned into events."""

    def __init__(self) -> None:
        super().__init__(JsonLines(passed_over=_REPETITIONS))
        self._responses = 0
        self._subagents = 0
        self._untold = 0
        self._total = Usage()
        self._did_anything = False
        self._last: dict[str, object] = {}
        self._compacting = ""
        self._over = False

    def finish(self) -> Iterator[Event]:
        """Yield what a last line without a newline still holds, and the end when nothing has come after it."""
        yield from super().finish()
        if self._over:
            yield from self._end()

    def _events(self, line: dict[str, object]) -> Iterable[Event]:
        match line.get("type"):
            case "session":
                return [Session(text(line.get("id")) or None)]
            case "agent_start":
                self._over = False
            case "agent_end":
                self._over = True
            case "agent_settled":
                self._over = False
                return self._end()
            case "message_end":
                return self._message(mapping(line.get("message")))
            case "tool_execution_start":
                return _subagents_start(line)
            case "tool_execution_end":
                return self._tool_end(line)
            case "auto_retry_start":
                self._over = False
                return [_retry(line)]
            case "compaction_start" | "auto_compaction_start":
                self._compacting = text(line.get("reason"))
            case "compaction_end" | "auto_compaction_end":
                return self._compacted(line)
            case "notice":
                return [Notice(text(line.get("message")))]
        return []

    def _message(self, message: dict[str, object]) -> Iterator[Event]:
        if message.get("role") != "assistant":
            return
        self._last = message
        yield from self._request(message)
        for block in map(mapping, listing(message.get("content"))):
            if block.get("type") == "text":
                self._did_anything = True
                yield Text(text(block.get("text")))
            elif block.get("type") == "toolCall":
                self._did_anything = True
                yield ToolCall(text(block.get("id")), text(block.get("name")), mapping(block.get("arguments")))

    def _request(self, message: dict[str, object]) -> Iterator[Event]:
        if not _is_response(message):
            # An answer that was none, or a connection that broke: nobody knows what it cost, unless a status says so.
            self._untold += _status(message) is None
            return
        usage = _told(message)
        whole = _was_refused(message) or message.get("stopReason") not in {"error", "aborted"}
        if not (whole and usage.is_whole):
            self._untold += 1
        self._responses += 1
        self._total += usage
        model = text(message.get("model")) or None
        yield RequestUsage(f"response-{self._responses}", usage, whole, model)

    def _tool_end(self, line: dict[str, object]) -> Iterator[Event]:
        call_id, result = text(line.get("toolCallId")), mapping(line.get("result"))
        if line.get("toolName") == _SUBAGENT_TOOL:
            for subagent in map(mapping, listing(mapping(result.get("details")).get("results"))):
                yield from self._subagent_request(call_id, subagent)
                yield SubagentEnd(call_id, bool(subagent.get("exitCode") or subagent.get("aborted")))
        parts = [text(mapping(part).get("text")) for part in listing(result.get("content"))]
        exit_code = mapping(result.get("structuredContent")).get("exit_code")
        code = exit_code if isinstance(exit_code, int) else None
        yield ToolResult(call_id, "\n".join(parts), bool(line.get("isError")), code)

    def _subagent_request(self, call_id: str, subagent: dict[str, object]) -> Iterator[Event]:
        usage = _disjoint(mapping(subagent.get("usage")))
        if usage.total:
            self._subagents += 1
            self._total += usage
            model = text(subagent.get("resolvedModelIdentity")).partition("/")[2] or None
            yield RequestUsage(f"subagent-{self._subagents}", usage, True, model, subagent=call_id)
        elif subagent.get("requests"):
            self._untold += 1

    def _compacted(self, line: dict[str, object]) -> Iterator[Event]:
        result = mapping(line.get("result"))
        if result:
            self._untold += 1
            yield Compaction(self._compacting, count(result.get("tokensBefore")))
        elif said := text(line.get("errorMessage")):
            yield Notice(f"the conversation was not compacted: {said}")

    def _end(self) -> Iterator[Event]:
        stop = text(self._last.get("stopReason"))
        if stop == "aborted":
            return
        said = [text(mapping(block).get("text")) for block in listing(self._last.get("content"))]
        yield End(
            outcome=self._outcome(stop),
            subtype=stop or None,
            is_error=stop == "error",
            usage=self._total,
            turns=self._responses,
            api_error_status=_status(self._last),
            text="\n".join(part for part in said if part),
            responses_cut=self._untold,
        )

    def _outcome(self, stop: str) -> Outcome:
        said = text(self._last.get("errorMessage"))
        if _was_refused(self._last):
            return Outcome.of(OutcomeKind.REFUSED, said or "the model refused")
        if stop == "error":
            return failure(_status(self._last), said)
        if stop == "length":
            return Outcome.of(OutcomeKind.OUTPUT_LIMIT, "the last response reached its limit of output tokens")
        if not _is_response(self._last):
            return Outcome.of(OutcomeKind.PROVIDER_ERROR, "what the endpoint answered was no response of a model")
        if not self._did_anything and not self._total.output:
            return Outcome.of(OutcomeKind.EMPTY_SUCCESS, "the agent ended well without a single output token")
        return Outcome.of(OutcomeKind.COMPLETED)


def _disjoint(usage: dict[str, object]) -> Usage:
    """Convert one response's usage, whose buckets are disjoint already; all zero means that none was told."""
    kept = mapping(usage.get("cttl"))
    buckets = Usage(
        fresh_input=count(usage.get("input")),
        cache_read=count(usage.get("cacheRead")),
        cache_write=count(usage.get("cacheWrite")),
        cache_write_5m=count(kept.get("ephemeral5m")),
        cache_write_1h=count(kept.get("ephemeral1h")),
        output=count(usage.get("output")),
        reasoning=count(usage.get("reasoning", usage.get("reasoningTokens"))),
    )
    return buckets if buckets.total else Usage()


def _told(message: dict[str, object]) -> Usage:
    """Return what a message tells of its tokens. Zeros that stand for a figure that was not told are unknown.

    In the OpenAI dialects, where cached tokens are part of the prompt, both agents write 0 for what is left of it also
    where more is said to be cached than was sent; no prompt is without a token that no cache served. An answer with
    content is of some tokens.
    """
    usage = _disjoint(mapping(message.get("usage")))
    unknown: dict[str, None] = {}
    if text(message.get("api")).startswith("openai") and usage.fresh_input == 0:
        unknown["fresh_input"] = None
    if usage.output == 0 and listing(message.get("content")):
        unknown["output"] = None
    return usage.model_copy(update=unknown)


def _is_response(message: dict[str, object]) -> bool:
    """Whether a model answered at all: a request that was turned away leaves a message with nothing in it."""
    return bool(_disjoint(mapping(message.get("usage"))).total or message.get("responseId") or message.get("content"))


def _was_refused(message: dict[str, object]) -> bool:
    if mapping(message.get("stopDetails")).get("type") in {"refusal", "sensitive"}:
        return True
    said = _PI_REFUSALS.get(text(message.get("api")))
    return message.get("stopReason") == "error" and said is not None and message.get("errorMessage") == said


def _status(message: dict[str, object]) -> int | None:
    """Return the HTTP status of a failure: omp tells it, in pi the message begins with it."""
    return count(message.get("errorStatus")) or _leading_status(text(message.get("errorMessage")))


def _leading_status(said: str) -> int | None:
    found = _STATUS.search(said)
    return int(found[1]) if found else None


def _retry(line: dict[str, object]) -> Retry:
    delay_ms, said = line.get("delayMs"), text(line.get("errorMessage"))
    delay_seconds = delay_ms / 1000 if isinstance(delay_ms, int | float) else 0.0
    return Retry(count(line.get("attempt")) or 0, delay_seconds, _leading_status(said), said)


def _subagents_start(line: dict[str, object]) -> Iterator[Event]:
    if line.get("toolName") == _SUBAGENT_TOOL:
        for task in map(mapping, listing(mapping(line.get("args")).get("tasks"))):
            yield SubagentStart(text(line.get("toolCallId")), text(task.get("agent")), text(task.get("task")))
