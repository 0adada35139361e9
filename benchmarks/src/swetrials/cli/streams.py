"""``stream``: a recorded agent stream as a readable trace, or as figures."""

from pathlib import Path

import orjson

from swetrials.agents import AGENTS
from swetrials.agents.events import End, Event, PermissionDenied, Retry, Session, Tally, Text, ToolCall, ToolResult
from swetrials.pipeline.workbench import UsageError
from swetrials.reports import figures

_CHUNK_BYTES = 1 << 20
_WIDTH = 160


def show(file: Path, agent: str, *, as_json: bool) -> int:
    """Read a stream to its end and print its trace, or with ``as_json`` what it comes to."""
    if agent not in AGENTS:
        raise UsageError(f"--agent: {agent!r} is not one of {', '.join(AGENTS)}")
    reader, tally = AGENTS[agent].reader(), Tally()
    known = 0

    def take(events: list[Event]) -> None:
        nonlocal known
        known += len(events)
        tally.add(events)
        if not as_json:
            for line in filter(None, map(_line, events)):
                print(line)

    try:
        with file.open("rb") as stream:
            while data := stream.read(_CHUNK_BYTES):
                take(list(reader.feed(data)))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    take(list(reader.finish()))
    if not known and file.stat().st_size:
        raise UsageError(f"{file}: nothing in it is an event of {agent}; is it a recorded stream of that agent?")
    print(orjson.dumps(_figures(tally), option=orjson.OPT_INDENT_2).decode() if as_json else _closing(tally))
    return 0


def _line(event: Event) -> str:
    match event:
        case Session():
            return f"session {event.session_id} · {event.model} · agent {event.agent_version}"
        case Text():
            return f"  {_short(event.text)}"
        case ToolCall():
            return f"> {event.name} {_short(orjson.dumps(event.arguments).decode())}"
        case ToolResult():
            return f"{'! ' if event.is_error else '< '}{_short(event.text)}"
        case Retry():
            return f"~ retry {event.attempt} in {figures.seconds(event.delay_seconds)}: {event.reason} ({event.status})"
        case PermissionDenied():
            return f"x {event.tool} refused: {event.reason}"
        case End():
            return f"end: {event.outcome.kind} {_short(event.text)}"
        case _:
            return ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else f"{flat[:_WIDTH]} ... ({len(flat)} characters)"


def _closing(tally: Tally) -> str:
    usage = tally.usage
    outcome = tally.outcome
    blame = f", blame {outcome.blame}" if outcome.blame else ""
    return f"{outcome.kind}{blame}: {tally.turns} turns, {figures.total_tokens(usage)} tokens {outcome.detail}".rstrip()


def _figures(tally: Tally) -> dict[str, object]:
    report = tally.usage
    return {
        "usage": {**report.usage.model_dump(), "total": report.usage.total, "completeness": report.completeness},
        "outcome": tally.outcome.model_dump(mode="json"),
        "turns": tally.turns,
        "requests": report.requests,
        "tools": dict(tally.tools.most_common()),
        "retries": len(tally.retries),
        "waiting_seconds": round(tally.waiting_seconds, 3),
        "permission_denials": tally.permission_denials,
        "model": tally.model,
        "session_id": tally.session_id,
        "agent_version": tally.agent_version,
        "reported_cost_usd": tally.end.cost_usd if tally.end else None,
    }
