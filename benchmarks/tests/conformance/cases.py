"""What a case of the battery is: a stream, recorded or made from a recorded one, and what it comes to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Completeness

CASES = (
    "normal",
    "several blocks in a message",
    "parallel tool calls",
    "subagents",
    "compaction",
    "restart",
    "retries then success",
    "retries then failure",
    "limit",
    "permission denied",
    "no end",
    "torn",
    "two results",
    "error inside a success",
    "unknown events and fields",
    "invalid UTF-8",
    "endless",
)


Tokens = tuple[int | None, int | None, int | None, int | None]
"""Fresh input, cache read, cache write, output."""


@dataclass(frozen=True)
class Expected:
    """What a stream comes to."""

    outcome: OutcomeKind
    turns: int
    tokens: Tokens
    completeness: Completeness = "complete"
    tools: dict[str, int] = field(default_factory=dict)
    retries: int = 0
    compactions: int = 0
    subagents: int = 0
    subagent_tokens: Tokens | None = None
    denials: int = 0


@dataclass(frozen=True)
class Case:
    """A stream, made when it is needed, and what it comes to."""

    stream: Callable[[], bytes | Iterator[bytes]]
    expected: Expected


@dataclass(frozen=True)
class KnownLimit:
    """Why an agent cannot have a case."""

    reason: str


Cases = dict[str, "Case | KnownLimit"]
"""An agent's cases by their names."""

NOTHING: Tokens = (None, None, None, None)
DONE = OutcomeKind.COMPLETED
CUT = OutcomeKind.UNFINISHED


RECORDED = Path(__file__).parent
Edit = Callable[[list[bytes]], list[bytes]]

FUTURE = b'{"type":"from_the_future","session_id":"s","sessionID":"s","timestamp":1,"part":[{"tokens":{"input":9}}]}\n'


def recorded(agent: str, name: str) -> bytes:
    """Return a stream as the agent's real program printed it."""
    return (RECORDED / agent / f"{name}.jsonl").read_bytes()


def of(agent: str, name: str) -> Callable[[], bytes]:
    return lambda: recorded(agent, name)


def made(agent: str, name: str, *edits: Edit) -> Callable[[], bytes]:
    def stream() -> bytes:
        lines = recorded(agent, name).splitlines(keepends=True)
        for edit in edits:
            lines = edit(lines)
        return b"".join(lines)

    return stream


def endless(agent: str, name: str, output: bytes, times: int = 2_000) -> Callable[[], Iterator[bytes]]:
    """Return 100 MB and more: the line that holds a tool's output, inflated and told again and again."""

    def stream() -> Iterator[bytes]:
        inflated = b"x" * 55_000
        once = True
        for line in recorded(agent, name).splitlines(keepends=True):
            if once and output in line:
                once = False
                long = line.replace(output, inflated)
                for _ in range(times):
                    yield long
            yield line

    return stream


def without_last_line(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def torn(lines: list[bytes]) -> list[bytes]:
    """Cut the last line in its middle, as when the disk was full or the program was killed."""
    return [*lines[:-1], lines[-1][: len(lines[-1]) // 2]]


def inserted(*new: bytes, after: bytes) -> Edit:
    """Put lines after the first one that holds a text."""

    def edit(lines: list[bytes]) -> list[bytes]:
        place = next(index for index, line in enumerate(lines) if after in line) + 1
        return [*lines[:place], *(line.rstrip(b"\n") + b"\n" for line in new), *lines[place:]]

    return edit


def repeated(since: bytes) -> Edit:
    """Append once more what follows the last line that holds a text, that line included."""

    def edit(lines: list[bytes]) -> list[bytes]:
        place = max(index for index, line in enumerate(lines) if since in line)
        return [*lines, *lines[place:]]

    return edit


def from_the_future(lines: list[bytes]) -> list[bytes]:
    """Add events that nobody knows between all others, and fields that nobody knows to each."""
    return [
        part
        for line in lines
        for part in (FUTURE, orjson.dumps(orjson.loads(line) | {"zz": {"deep": [None, 1.5]}}) + b"\n")
    ]


def swapped(old: bytes, new: bytes) -> Edit:
    """Replace a text wherever it stands; it has to be there."""

    def edit(lines: list[bytes]) -> list[bytes]:
        data = b"".join(lines)
        assert old in data
        return data.replace(old, new).splitlines(keepends=True)

    return edit
