"""Reading what Claude Code prints with ``--output-format stream-json``.

Facts it rests on (Claude Code 2.1.332):

- One API message comes as several ``assistant`` events, one per content block, each repeating the usage
  that was known when the message started; the final output count is only in ``stream_event`` /
  ``message_delta`` (with ``--include-partial-messages``). So usage is kept per ``message.id``.
- Its input, cache read and cache creation counts are disjoint.
- ``result.usage`` covers the main agent alone, since the last ``result``; ``modelUsage`` covers the whole session and
  subagents too, and is what counts. What it has beyond the sum of the others is the subagents'.
- What a subagent does is marked with ``parent_tool_use_id``; ``task_started`` and ``task_notification`` frame it
  (commands in the background have these too, with another ``task_type``). The last response of one in the
  foreground is shown in no event of its own: its usage stands in the ``tool_use_result`` of the call that it works
  for. One in the background shows it; each wakes the main agent once more, and then a ``result`` for each
  waking stands at the end of the stream.
- A failed API call ends in subtype ``success`` with ``is_error: true``. A stopped agent prints no ``result``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from swetrials.agents import failures
from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    PermissionDenied,
    RequestUsage,
    Retry,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.jsonl import JsonLines, count, listing, mapping, text
from swetrials.agents.line_reader import LineReader
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage

_SYNTHETIC = "<synthetic>"
# The model id under which Claude Code prints messages of its own, such as "API Error: ...".

_ENDINGS = {
    "error_max_turns": OutcomeKind.TURN_LIMIT,
    "error_max_budget_usd": OutcomeKind.BUDGET_SPENT,
}

_STOPS = {
    "max_tokens": OutcomeKind.OUTPUT_LIMIT,
    "model_context_window_exceeded": OutcomeKind.CONTEXT_OVERFLOW,
    "refusal": OutcomeKind.REFUSED,
}


_API_ERRORS = {
    "max_output_tokens": OutcomeKind.OUTPUT_LIMIT,
    "rate_limit": OutcomeKind.RATE_LIMITED,
    "authentication_failed": OutcomeKind.AUTH_FAILED,
    "billing_error": OutcomeKind.AUTH_FAILED,
}


_PIECES = (b'{"type":"stream_event","event":{"type":"content_block_', b'{"type":"stream_event","event":{"type":"ping"')
# What the model says, a few letters at a time: all of it comes again, whole, in the ``assistant`` events.


class ClaudeReader(LineReader):
    """One stream of Claude Code, turned into events."""

    def __init__(self) -> None:
        super().__init__(JsonLines(passed_over=_PIECES))
        self._subagents: set[str] = set()
        self._main_agents = Usage()
        self._open: dict[str, dict[str, object]] = {}
        self._shows_starts = False
        self._refused = False
        self._stop_reason = ""
        self._did_anything = False
        self._untold = 0
        self._told: Counter[str] = Counter()

    def _events(self, line: dict[str, object]) -> Iterable[Event]:
        match line.get("type"):
            case "system":
                return self._system(line)
            case "stream_event":
                return self._partial(line)
            case "assistant":
                return self._assistant(line)
            case "user":
                return self._user(line)
            case "result":
                return [self._end(line)]
            case _:
                return []

    def _system(self, line: dict[str, object]) -> Iterator[Event]:
        match line.get("subtype"):
            case "init":
                version = text(line.get("claude_code_version"))
                yield Session(text(line.get("session_id")), text(line.get("model")), version)
            case "api_retry":
                delay = line.get("retry_delay_ms")
                if count(line.get("error_status")) is None:
                    self._untold += 1
                yield Retry(
                    attempt=count(line.get("attempt")) or 0,
                    delay_seconds=delay / 1000 if isinstance(delay, int | float) else 0.0,
                    status=count(line.get("error_status")),
                    reason=text(line.get("error")),
                )
            case "permission_denied":
                yield PermissionDenied(text(line.get("tool_name")), text(line.get("decision_reason_type")))
            case "model_refusal_no_fallback":
                self._refused = True
                yield Notice("the model refused")
            case "compact_boundary":
                details = mapping(line.get("compact_metadata"))
                yield Compaction(text(details.get("trigger")), count(details.get("pre_tokens")))
            case "task_started" if line.get("task_type") == "local_agent":
                call_id = text(line.get("tool_use_id"))
                self._subagents.add(call_id)
                yield SubagentStart(call_id, text(line.get("subagent_type")), text(line.get("description")))
            case "task_notification" if (call_id := text(line.get("tool_use_id"))) in self._subagents:
                yield SubagentEnd(call_id, is_error=line.get("status") != "completed")
            case _:
                pass

    def _partial(self, line: dict[str, object]) -> Iterator[Event]:
        event = mapping(line.get("event"))
        if event.get("type") == "message_start":
            message = mapping(event.get("message"))
            self._shows_starts = True
            message_id = text(message.get("id"))
            self._untold += message_id in self._open  # it began and never ended
            self._open[message_id] = message
            yield self._request(message, subagent=text(line.get("parent_tool_use_id")))
        elif event.get("type") == "message_delta":
            self._stop_reason = text(mapping(event.get("delta")).get("stop_reason")) or self._stop_reason
            yield from self._whole(line, mapping(event.get("usage")))

    def _whole(self, line: dict[str, object], usage: dict[str, object]) -> Iterator[Event]:
        """Take in the last usage of a response. Without an output count what began it stands, and is no final one."""
        message_id = text(line.get("api_message_id"))
        message = self._open.pop(message_id, {})
        if not message:
            return
        told = {name: value for name, value in usage.items() if value is not None}
        joined = {**mapping(message.get("usage")), **told}
        final = count(told.get("output_tokens")) is not None and _disjoint(joined).is_whole
        self._untold += not final
        yield self._request({**message, "usage": joined}, subagent=text(line.get("parent_tool_use_id")), final=final)
        self._told[message_id] += 1

    def _assistant(self, line: dict[str, object]) -> Iterator[Event]:
        message = mapping(line.get("message"))
        subagent = text(line.get("parent_tool_use_id"))
        message_id, own = text(message.get("id")), message.get("model") == _SYNTHETIC
        if not own and message_id not in self._open and not self._told[message_id]:
            yield self._request(message, subagent=subagent)
        for block in map(mapping, listing(message.get("content"))):
            self._did_anything = self._did_anything or not own
            if block.get("type") == "text":
                yield Text(text(block.get("text")), subagent)
            elif block.get("type") == "tool_use":
                yield ToolCall(text(block.get("id")), text(block.get("name")), mapping(block.get("input")), subagent)

    def _request(self, message: dict[str, object], *, subagent: str, final: bool = False) -> RequestUsage:
        """Return a response's usage; some gateways give each response the same id, so whole ones are counted."""
        # Until the final count arrives, the one output token of the snapshot is the least that is certain.
        message_id = text(message.get("id"))
        told = self._told[message_id]
        name = f"{message_id} ({told + 1})" if told else message_id
        usage = _disjoint(mapping(message.get("usage")))
        return RequestUsage(name, usage, final, text(message.get("model")) or None, subagent)

    def _user(self, line: dict[str, object]) -> Iterator[Event]:
        subagent = text(line.get("parent_tool_use_id"))
        for block in map(mapping, listing(mapping(line.get("message")).get("content"))):
            if block.get("type") != "tool_result":
                continue
            call_id = text(block.get("tool_use_id"))
            if call_id in self._subagents:
                yield from _last_response(call_id, mapping(line.get("tool_use_result")))
            yield ToolResult(call_id, _said(block.get("content")), bool(block.get("is_error")), subagent=subagent)

    def _end(self, line: dict[str, object]) -> End:
        each = {name: _model_usage(mapping(usage)) for name, usage in mapping(line.get("modelUsage")).items()}
        models = {name: usage for name, usage in each.items() if usage.total}
        main_agents = _disjoint(mapping(line.get("usage")))
        self._main_agents += main_agents
        total = Usage.sum(models.values()) if models else main_agents
        cost = line.get("total_cost_usd")
        api_ms = line.get("duration_api_ms")
        return End(
            outcome=self._outcome(line, total),
            subtype=text(line.get("subtype")) or None,
            is_error=bool(line.get("is_error")),
            usage=total,
            subagent_usage=_rest(total, self._main_agents) if self._subagents else None,
            usage_by_model=models,
            cost_usd=float(cost) if isinstance(cost, int | float) else None,
            turns=count(line.get("num_turns")),
            api_seconds=api_ms / 1000 if isinstance(api_ms, int | float) else None,
            api_error_status=count(line.get("api_error_status")),
            text=text(line.get("result")),
            responses_cut=self._untold + (len(self._open) if self._shows_starts else 0),
        )

    def _outcome(self, line: dict[str, object], usage: Usage) -> Outcome:
        errors = "; ".join(text(error) for error in listing(line.get("errors")))
        said = text(line.get("result")) or errors
        if ending := _ENDINGS.get(text(line.get("subtype"))):
            return Outcome.of(ending, errors)
        stop = text(line.get("stop_reason"))
        status = count(line.get("api_error_status"))
        if line.get("is_error") and status is not None:
            return failures.failure(status, said)
        if line.get("is_error") and (kind := _STOPS.get(stop) or _STOPS.get(self._stop_reason)):
            return Outcome.of(kind, said)
        if line.get("is_error") and (kind := _API_ERRORS.get(text(line.get("api_error")))):
            return Outcome.of(kind, said)
        if self._refused:
            return Outcome.of(OutcomeKind.REFUSED, said)
        if line.get("is_error") or text(line.get("subtype")) not in {"", "success"}:
            return failures.failure(status, said)
        if not (usage.output or self._did_anything):
            return Outcome.of(OutcomeKind.EMPTY_SUCCESS, "the agent reports success without a single output token")
        return Outcome.of(OutcomeKind.COMPLETED)


def _disjoint(usage: dict[str, object]) -> Usage:
    """Convert the API's usage block, whose three input counts do not overlap."""
    writes = mapping(usage.get("cache_creation"))
    return Usage(
        fresh_input=count(usage.get("input_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
        cache_write_5m=count(writes.get("ephemeral_5m_input_tokens")),
        cache_write_1h=count(writes.get("ephemeral_1h_input_tokens")),
        output=count(usage.get("output_tokens")),
        reasoning=count(mapping(usage.get("output_tokens_details")).get("thinking_tokens")),
    )


def _model_usage(usage: dict[str, object]) -> Usage:
    """Convert one entry of ``modelUsage``."""
    return Usage(
        fresh_input=count(usage.get("inputTokens")),
        cache_read=count(usage.get("cacheReadInputTokens")),
        cache_write=count(usage.get("cacheCreationInputTokens")),
        cache_write_5m=count(usage.get("cacheCreationEphemeral5mInputTokens")),
        cache_write_1h=count(usage.get("cacheCreationEphemeral1hInputTokens")),
        output=count(usage.get("outputTokens")),
        reasoning=count(usage.get("thinkingTokens")),
    )


def _rest(total: Usage, part: Usage) -> Usage:
    """Take a part from a total, bucket by bucket; where one of them is unknown, so is the rest."""
    whole, less = total.model_dump(), part.model_dump()
    known = {name: value for name, value in whole.items() if value is not None and less[name] is not None}
    return Usage(**{name: max(value - less[name], 0) for name, value in known.items()})


def _last_response(call_id: str, result: dict[str, object]) -> Iterator[RequestUsage]:
    if usage := mapping(result.get("usage")):
        model = text(result.get("resolvedModel")) or None
        yield RequestUsage(f"last of {call_id}", _disjoint(usage), True, model, subagent=call_id)


def _said(content: object) -> str:
    """Return a tool's answer: plain text, or several parts of which some may be text."""
    return content if isinstance(content, str) else "\n".join(text(mapping(p).get("text")) for p in listing(content))
