"""What a case of the battery is: a stream, recorded or made from a recorded one, and what it comes to."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from agents.streams import Streams
from conformance import edits
from conformance.edits import Edit
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

ENDINGS = {
    "broken_sse": OutcomeKind.PROVIDER_ERROR,
    "cut": OutcomeKind.PROVIDER_ERROR,
    "cut_chat": OutcomeKind.PROVIDER_ERROR,
    "empty": OutcomeKind.EMPTY_SUCCESS,
    "err401": OutcomeKind.AUTH_FAILED,
    "err401_chat": OutcomeKind.AUTH_FAILED,
    "err429": OutcomeKind.RATE_LIMITED,
    "err500": OutcomeKind.PROVIDER_ERROR,
    "hang_mid_stream": OutcomeKind.UNFINISHED,
    "hangterm": OutcomeKind.UNFINISHED,
    "html": OutcomeKind.PROVIDER_ERROR,
    "html_chat": OutcomeKind.PROVIDER_ERROR,
    "killed": OutcomeKind.UNFINISHED,
    "killed_while_waiting": OutcomeKind.UNFINISHED,
    "max_tokens": OutcomeKind.OUTPUT_LIMIT,
    "maxturns": OutcomeKind.TURN_LIMIT,
    "output_limit_vllm": OutcomeKind.OUTPUT_LIMIT,
    "refusal": OutcomeKind.REFUSED,
    "refusal_chat": OutcomeKind.REFUSED,
}
"""How a recorded stream ends, by its name, whatever the agent."""

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


@dataclass(frozen=True)
class Battery:
    """All that one agent's reader is tried with.

    ``endings`` are recorded streams that do not end well, but each as :data:`ENDINGS` says. ``strange_lines`` are lines
    that a whole stream may be followed by: torn ones, ones that are no events, and events of another shape.
    """

    cases: Mapping[str, Case | KnownLimit]
    endings: tuple[str, ...]
    strange_lines: tuple[bytes, ...]


NOTHING: Tokens = (None, None, None, None)
DONE = OutcomeKind.COMPLETED
CUT = OutcomeKind.UNFINISHED


class Recordings(Streams):
    """An agent's recorded streams, and what is made of them: each when it is needed."""

    def of(self, name: str) -> Callable[[], bytes]:
        """Return a stream as it was recorded."""
        return lambda: self.recorded(name)

    def made(self, name: str, *edits: Edit) -> Callable[[], bytes]:
        """Return a recorded stream after some edits."""

        def stream() -> bytes:
            lines = self.recorded(name).splitlines(keepends=True)
            for edit in edits:
                lines = edit(lines)
            return b"".join(lines)

        return stream

    def usual(self, expected: Expected, *, said: bytes, output: bytes) -> dict[str, Case]:
        """Return the cases that are the same for every agent: what is made of ``ok``, and comes to the same as it.

        Args:
            expected: what ``ok`` comes to.
            said: the end of the last text in it.
            output: a tool's output in it.
        """
        return {
            "normal": Case(self.of("ok"), expected),
            "unknown events and fields": Case(self.made("ok", edits.from_the_future), expected),
            "invalid UTF-8": Case(self.made("ok", edits.swapped(said, said + b"\xff\xfe")), expected),
            "endless": Case(self.endless("ok", output), expected),
        }

    def endless(self, name: str, output: bytes, times: int = 2_000) -> Callable[[], Iterator[bytes]]:
        """Return 100 MB and more: the line that holds a tool's output, inflated and told again and again."""

        def stream() -> Iterator[bytes]:
            inflated = b"x" * 55_000
            once = True
            for line in self.recorded(name).splitlines(keepends=True):
                if once and output in line:
                    once = False
                    long = line.replace(output, inflated)
                    for _ in range(times):
                        yield long
                yield line

        return stream
