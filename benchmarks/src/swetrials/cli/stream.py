"""``stream``: an agent's stream, as it is or while it grows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import AsJson
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.agents.base import Agent, StreamReader
    from swetrials.agents.events import Event, Tally
    from swetrials.records.metrics import Finding

app = single_command()

_CHUNK_BYTES = 1 << 20
_PAUSE_SECONDS = 0.2


@app.command(epilog="Example: swetrials stream attempts/1/stream.jsonl --follow")
def stream(
    file: Annotated[Path, typer.Argument(help="A recorded or growing agent stream.")],
    agent: Annotated[str | None, typer.Option(help="The agent that printed it; default: told from the file.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the agent's end, or Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read an agent's stream: what it did, and what it comes to."""
    leave(show(file, agent, follow=follow, as_json=as_json))


def show(file: Path, agent: str | None, *, follow: bool, as_json: bool) -> int:
    """Read a stream and print its trace, or with ``as_json`` what it comes to.

    Args:
        file: the stream.
        agent: who printed it; by default it is told from the stream.
        follow: go on when the file grows, until the agent's own end or Ctrl-C.
        as_json: print figures in place of the trace.

    Raises:
        UsageError: the file cannot be read, the agent is unknown, or nothing in the file is of it.
    """
    import orjson

    from swetrials.agents import AGENTS
    from swetrials.store.reading import open_file

    watcher = _Watcher(file, AGENTS.named(agent) if agent is not None else None, quiet=as_json)
    try:
        with open_file(file) as stream:
            for data in _growing(stream, watcher.tally) if follow else _whole(stream):
                watcher.take(data)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    except KeyboardInterrupt:
        if not follow:
            raise
    name = watcher.finish()
    if as_json:
        print(orjson.dumps(_figures(name, watcher.tally), option=orjson.OPT_INDENT_2).decode())
    else:
        _close(watcher.tally)
    return 0


def _whole(stream: BinaryIO) -> Iterator[bytes]:
    while data := stream.read(_CHUNK_BYTES):
        yield data


def _growing(stream: BinaryIO, tally: Tally) -> Iterator[bytes]:
    """Yield what is in a file and what is added to it, until the agent has had its last word."""
    while True:
        if data := stream.read(_CHUNK_BYTES):
            yield data
        elif tally.end is not None:
            return
        else:
            time.sleep(_PAUSE_SECONDS)


class _Watcher:
    """Finds out whose stream it is, keeps the tally, and prints the trace unless it is to be quiet."""

    def __init__(self, file: Path, agent: Agent | None, *, quiet: bool) -> None:
        from swetrials.agents import AGENTS
        from swetrials.agents.events import Tally
        from swetrials.agents.recognising import Recogniser

        self.tally = Tally()
        self._file = file
        self._agent = agent
        self._reader: StreamReader | None = agent.reader() if agent else None
        self._recogniser = Recogniser(AGENTS)
        self._preface: list[bytes] = []
        self._quiet = quiet
        self._events = 0

    def take(self, data: bytes) -> None:
        if self._reader is not None:
            self._show(self._reader.feed(data))
            return
        self._preface.append(data)
        self._begin(self._recogniser.feed(data))
        if self._reader is None and self._recogniser.hopeless:
            raise self._unknown()

    def finish(self) -> str:
        """Show what the last line still holds, and return the agent's name."""
        if self._reader is None and self._preface:
            self._begin(self._recogniser.finish())
        if self._agent is None or self._reader is None:
            raise self._unknown()
        self._show(self._reader.finish())
        if not self._events and self._file.stat().st_size:
            raise UsageError(
                f"{self._file}: nothing in it is an event of {self._agent.name}; is it a recorded stream of that agent?"
            )
        return self._agent.name

    def _begin(self, agent: Agent | None) -> None:
        if agent is not None:
            self._agent, self._reader = agent, agent.reader()
            self._show(self._reader.feed(b"".join(self._preface)))
            self._preface.clear()

    def _show(self, events: Iterable[Event]) -> None:
        from swetrials.results.report.trace import trace_line

        taken = list(events)
        self._events += len(taken)
        self.tally.add(taken)
        if not self._quiet:
            for line in filter(None, map(trace_line, taken)):
                print(line, flush=True)

    def _unknown(self) -> UsageError:
        from swetrials.agents import AGENTS

        return UsageError(
            f"{self._file}: nothing in it is an event of {', '.join(AGENTS)}; is it the recorded stream of an agent?"
        )


def _doubts(tally: Tally) -> list[Finding]:
    from swetrials.trials.usage_reconciliation import output_doubts

    return output_doubts("the agent reports", tally.usage, tally.turns)


def _close(tally: Tally) -> None:
    from swetrials.results.report import wording as figures

    outcome = tally.outcome
    blame = f", blame {outcome.blame}" if outcome.blame else ""
    spent = f"{figures.counted(tally.turns, 'turn')}, {figures.total_tokens(tally.usage)} tokens"
    print(f"{outcome.kind}{blame}: {spent} {outcome.detail}".rstrip())
    for finding in _doubts(tally):
        print(f"{finding.severity}: {finding.message} ({finding.code})")


def _figures(agent: str, tally: Tally) -> dict[str, object]:
    report, apart = tally.usage, tally.subagent_usage
    return {
        "agent": agent,
        "usage": {**report.usage.model_dump(), "total": report.usage.total, "completeness": report.completeness},
        "outcome": tally.outcome.model_dump(mode="json"),
        "turns": tally.turns,
        "requests": report.requests,
        "tools": dict(tally.tools.most_common()),
        "retries": len(tally.retries),
        "waiting_seconds": round(tally.waiting_seconds, 3),
        "compactions": tally.compactions,
        "subagents": tally.subagents,
        "subagent_usage": apart.model_dump() if apart is not None else None,
        "permission_denials": tally.permission_denials,
        "model": tally.model,
        "session_id": tally.session_id,
        "agent_version": tally.agent_version,
        "reported_cost_usd": tally.end.cost_usd if tally.end else None,
        "findings": [finding.model_dump(mode="json") for finding in _doubts(tally)],
    }
