"""What an agent does, event by event, one line each."""

from collections.abc import Callable

import orjson

from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    PermissionDenied,
    Retry,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.results.report import wording as figures

_WIDTH = 160


def _as_it_is(text: str) -> str:
    return text


def trace_line(event: Event, redacted: Callable[[str], str] = _as_it_is) -> str | None:
    """Return an event as one line, or ``None`` when a person watching has nothing from it.

    Args:
        event: what happened. What a subagent does is indented.
        redacted: masks secrets, where the stream has not passed through a log that does.
    """
    line = _line(event, lambda text: _short(redacted(text)))
    return line and f"{'    ' if getattr(event, 'subagent', '') else ''}{line}"


def _line(event: Event, short: Callable[[str], str]) -> str | None:
    match event:
        case Session():
            version = f"version {event.agent_version}" if event.agent_version else None
            return " · ".join(filter(None, (f"session {event.session_id}", event.model, version)))
        case Text():
            return f"  {short(event.text)}" if event.text.strip() else None
        case ToolCall():
            return f"> {event.name} {short(orjson.dumps(event.arguments).decode())}"
        case ToolResult():
            return f"{'!' if event.is_error else '<'} {short(event.text)}"
        case _:
            return _remark(event, short)


def _remark(event: Event, short: Callable[[str], str]) -> str | None:
    match event:
        case Retry():
            pause = figures.seconds(event.delay_seconds)
            return f"~ retry {event.attempt} in {pause}: {short(event.reason)} ({event.status})"
        case Compaction():
            before = f", {event.tokens_before:,} tokens before" if event.tokens_before is not None else ""
            return f"~ the conversation was compacted ({event.reason}{before})"
        case SubagentStart():
            return f"+ subagent {event.kind}: {short(event.task)}"
        case SubagentEnd():
            return f"- subagent {'failed' if event.is_error else 'done'}"
        case PermissionDenied():
            return f"x {event.tool} refused: {short(event.reason)}"
        case Notice():
            return f"* {short(event.text)}"
        case End():
            return f"end: {event.outcome.kind} {short(event.text)}".rstrip()
        case _:
            return None


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else f"{flat[:_WIDTH]} ... ({len(flat):,} characters)"
