"""Reading what ``codex exec --json`` prints.

Facts it rests on (Codex 0.171):

- ``turn.completed.usage`` is cumulative for the thread; cached and cache-writing tokens are part of
  ``input_tokens``, reasoning is part of ``output_tokens``. It tells no cost and counts no model responses.
- A subagent is a thread of its own, whose tokens are told nowhere. A compaction is not told either, but its tokens
  are in the sum. A response that broke off is billed and in no sum.
- An ``error`` *item* ("Model metadata for ... not found") appears in good runs. A failed run prints an
  ``error`` *event* for each retry, then ``turn.failed``. A killed run just stops.
- Commands that its sandbox refused, or that never started because the sandbox itself could not, are told
  to the model but do not appear in the stream.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from swetrials.agents.events import (
    End,
    Event,
    Notice,
    Retry,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.failures import failure
from swetrials.agents.jsonl import JsonLines, count, mapping, text
from swetrials.agents.line_reader import LineReader
from swetrials.agents.prompt_check import checked
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage

SHELL = "shell"
"""The tool name under which the reader tells of commands."""

PATCHER = "apply_patch"
"""The tool name under which the reader tells of changed files."""

_RECONNECTING = re.compile(r"Reconnecting\.\.\. (\d+)/\d+")
_STATUS = re.compile(r"status:? (\d{3})\b")
_BROKE_OFF = "stream disconnected before completion"
_BUSY = "high demand"
# What it says in place of the status 500.
_INCOMPLETE = re.compile(r"Incomplete response returned, reason: (\w+)")
_INCOMPLETE_KINDS = {
    "max_output_tokens": OutcomeKind.OUTPUT_LIMIT,
    "content_filter": OutcomeKind.REFUSED,
}
_SUBAGENT_OVER = frozenset({"completed", "errored", "interrupted", "shutdown", "not_found"})


class CodexReader(LineReader):
    """One stream of ``codex exec --json``, turned into events."""

    def __init__(self) -> None:
        super().__init__(JsonLines())
        self._open: set[str] = set()
        self._subagents: dict[str, str] = {}
        self._untold = 0
        self._text = ""
        self._did_anything = False

    def _events(self, line: dict[str, object]) -> Iterable[Event]:
        match line.get("type"):
            case "thread.started":
                return [Session(text(line.get("thread_id")) or None)]
            case "item.started" | "item.completed":
                return self._item(mapping(line.get("item")), done=line["type"] == "item.completed")
            case "error":
                return [self._error(text(line.get("message")))]
            case "turn.completed":
                return [self._completed(mapping(line.get("usage")))]
            case "turn.failed":
                return [self._failed(mapping(line.get("error")))]
            case _:
                return []

    def _item(self, item: dict[str, object], done: bool) -> list[Event]:
        match item.get("type"):
            case "command_execution":
                exit_code = item.get("exit_code")
                code = exit_code if isinstance(exit_code, int) else None
                arguments: dict[str, object] = {"command": text(item.get("command"))}
                said = text(item.get("aggregated_output"))
                return self._tool(item, done, SHELL, arguments, said, code)
            case "file_change":
                return self._tool(item, done, PATCHER, {"changes": item.get("changes")})
            case "web_search":
                return self._tool(item, done, "web_search", {"query": text(item.get("query"))})
            case "mcp_tool_call":
                return self._tool(item, done, text(item.get("tool")), mapping(item.get("arguments")))
            case "collab_tool_call":
                called = self._tool(item, done, text(item.get("tool")), {"prompt": item.get("prompt")})
                return [*called, *self._collaboration(item, done)]
            case "agent_message" if done:
                self._text = text(item.get("text"))
                return [Text(self._text)]
            case "error" if done:
                return [Notice(text(item.get("message")))]
            case _:
                return []

    def _tool(
        self,
        item: dict[str, object],
        done: bool,
        name: str,
        arguments: dict[str, object],
        said: str = "",
        exit_code: int | None = None,
    ) -> list[Event]:
        call_id = text(item.get("id"))
        self._did_anything = True
        events: list[Event] = []
        if call_id not in self._open:
            self._open.add(call_id)
            events.append(ToolCall(call_id, name, arguments))
        if done:
            self._open.discard(call_id)
            failed = item.get("status", "completed") != "completed" or (name == SHELL and exit_code != 0)
            events.append(ToolResult(call_id, said, is_error=failed, exit_code=exit_code))
        return events

    def _collaboration(self, item: dict[str, object], done: bool) -> Iterator[Event]:
        """Tell of subagents: each is known by its thread, and any later call may tell that it is over."""
        if not done:
            return
        states = {thread: text(mapping(state).get("status")) for thread, state in _states(item)}
        if item.get("tool") == "spawn_agent":
            for thread in states:
                self._untold += 1
                self._subagents[thread] = text(item.get("id"))
                yield SubagentStart(text(item.get("id")), "", text(item.get("prompt")))
        for thread, status in states.items():
            if status in _SUBAGENT_OVER and (call_id := self._subagents.pop(thread, None)) is not None:
                yield SubagentEnd(call_id, is_error=status != "completed")

    def _error(self, message: str) -> Event:
        found = _RECONNECTING.search(message)
        if found is None:
            return Notice(message)
        status = _status(message)
        if _BROKE_OFF in message or (status is None and _BUSY not in message):
            self._untold += 1
        return Retry(int(found[1]), delay_seconds=0.0, status=status, reason=message)

    def _completed(self, reported: dict[str, object]) -> End:
        usage, doubts = _checked(reported)
        if not (self._did_anything or self._text.strip() or usage.output):
            outcome = Outcome.of(OutcomeKind.EMPTY_SUCCESS, "the turn completed without any output")
        else:
            outcome = Outcome.of(OutcomeKind.COMPLETED)
        return End(
            outcome,
            subtype="turn.completed",
            usage=usage,
            text=self._text,
            responses_cut=self._untold,
            doubts=doubts,
        )

    def _failed(self, error: dict[str, object]) -> End:
        message = text(error.get("message"))
        status = count(error.get("status")) or _status(message)
        return End(
            _failure(status, message),
            subtype="turn.failed",
            is_error=True,
            api_error_status=status,
            text=message,
            responses_cut=self._untold,
        )


def recognised(line: Mapping[str, object]) -> bool:
    """Say whether an object is a line of such a stream, which no other kind of agent would print."""
    return str(line.get("type")).startswith(("thread.", "item.", "turn."))


def disjoint_usage(reported: dict[str, object]) -> Usage:
    """Return Codex's token counts as disjoint buckets; see the facts at the top of this file."""
    return _checked(reported)[0]


def _checked(reported: dict[str, object]) -> tuple[Usage, tuple[str, ...]]:
    sent = count(reported.get("input_tokens"))
    read = count(reported.get("cached_input_tokens"))
    written = count(reported.get("cache_write_input_tokens"))
    usage = Usage(
        fresh_input=None if sent is None else max(sent - (read or 0) - (written or 0), 0),
        cache_read=read,
        cache_write=written,
        output=count(reported.get("output_tokens")),
        reasoning=count(reported.get("reasoning_output_tokens")),
    )
    return checked(usage, sent)


def _states(item: dict[str, object]) -> Iterable[tuple[str, object]]:
    return mapping(item.get("agents_states")).items()


def _failure(status: int | None, message: str) -> Outcome:
    found = _INCOMPLETE.search(message)
    kind = _INCOMPLETE_KINDS.get(found[1]) if found else None
    return failure(status, message) if kind is None else Outcome.of(kind, message)


def _status(message: str) -> int | None:
    found = _STATUS.search(message)
    return int(found[1]) if found else None
