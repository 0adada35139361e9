"""The agents that the quickstart is run with, and the faults that each is tried with. A new one is one entry."""

from collections.abc import Set
from dataclasses import dataclass

import pytest

from e2e.harness import needs_agent
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage
from swetrials.rehearsal import FaultKind

ENDINGS = {
    FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
    FaultKind.STATUS_500: OutcomeKind.PROVIDER_ERROR,
    FaultKind.STATUS_529: OutcomeKind.PROVIDER_ERROR,
    FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
    FaultKind.HTML: OutcomeKind.PROVIDER_ERROR,
    FaultKind.GARBAGE: OutcomeKind.PROVIDER_ERROR,
    FaultKind.BROKEN_SSE: OutcomeKind.PROVIDER_ERROR,
    FaultKind.CUT: OutcomeKind.PROVIDER_ERROR,
    FaultKind.HANG_BEFORE_HEADERS: OutcomeKind.PROVIDER_ERROR,
    FaultKind.HANG_MID_STREAM: OutcomeKind.PROVIDER_ERROR,
    FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
    FaultKind.REFUSAL: OutcomeKind.REFUSED,
    FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
    FaultKind.SLOW: OutcomeKind.TIMED_OUT,
    FaultKind.STATUS_400: OutcomeKind.PROVIDER_ERROR,
    FaultKind.STATUS_402: OutcomeKind.AUTH_FAILED,
    FaultKind.CUT_MID_EVENT: OutcomeKind.PROVIDER_ERROR,
    FaultKind.CUT_AFTER_USAGE: OutcomeKind.COMPLETED,
    FaultKind.RESET_BEFORE_ANSWER: OutcomeKind.PROVIDER_ERROR,
}
"""What each fault comes to, whatever the agent."""

HANGS = frozenset({FaultKind.HANG_BEFORE_HEADERS, FaultKind.HANG_MID_STREAM})
"""Faults that end at the limit of silence."""

SILENT = frozenset(
    {FaultKind.HANG_BEFORE_HEADERS, FaultKind.SLOW, FaultKind.CUT_MID_EVENT, FaultKind.CUT_AFTER_USAGE,
     FaultKind.RESET_BEFORE_ANSWER, FaultKind.GARBAGE}
)  # fmt: skip
"""Faults that one agent is tried with for all: they end at a limit of the harness, or are much like another."""


@dataclass(frozen=True)
class AgentUnderTest:
    """One agent by its name, what its stream tells, and the faults that it is not tried with.

    ``tells_requests``: how many responses there were. ``tells_cache_writes``: how much of the input was written to a
    cache, where the dialect does; otherwise it says 0. ``tells_as_it_goes``: what a response has used up by the time
    it is cut. ``idle_seconds``: how long it may be silent before its first request is under way on a busy machine.
    """

    name: str
    left_out: Set[FaultKind] = SILENT
    tells_requests: bool = True
    tells_cache_writes: bool = True
    tells_as_it_goes: bool = False
    idle_seconds: int = 20

    @property
    def faults(self) -> list[FaultKind]:
        """The faults that it is tried with."""
        return [fault for fault in FaultKind if fault not in self.left_out]

    def buckets(self, usage: Usage) -> tuple[int | None, ...]:
        """Return what the agent, the meter and the server all tell."""
        written = usage.cache_write if self.tells_cache_writes else usage.cache_write or 0
        return usage.fresh_input, usage.cache_read, written, usage.output


CLAUDE = AgentUnderTest("claude", left_out=frozenset(), tells_as_it_goes=True)
CODEX = AgentUnderTest("codex", tells_requests=False, tells_cache_writes=False)
# A failed request it repeats five times within a minute, unless the server says when it may come back, as with a status
# 429. How it ends after the other faults that it repeats, its recordings show.
OPENCODE = AgentUnderTest(
    "opencode",
    left_out=SILENT | {FaultKind.STATUS_500, FaultKind.STATUS_529, FaultKind.BROKEN_SSE, FaultKind.CUT},
    idle_seconds=60,
)
PI = AgentUnderTest("pi", left_out=SILENT | {FaultKind.STATUS_529})
# A failing request it sends eleven times in silence, within a minute: a status 429 shows it, recordings the others.
OMP = AgentUnderTest("omp", left_out=SILENT | {FaultKind.STATUS_500, FaultKind.STATUS_529, FaultKind.HTML})

AGENTS_UNDER_TEST = (CLAUDE, CODEX, OPENCODE, PI, OMP)


def each(*agents: AgentUnderTest) -> pytest.MarkDecorator:
    """Parametrise ``agent`` with these; skip, saying why, where one is not installed."""
    return pytest.mark.parametrize(
        "agent", [pytest.param(agent, marks=needs_agent(agent.name), id=agent.name) for agent in agents]
    )
