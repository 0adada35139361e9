"""The agents that the quickstart is run with, and how each ends when the model misbehaves. A new one is one entry."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from e2e.harness import needs_agent
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage
from swetrials.wire.rehearsal import FaultKind


@dataclass(frozen=True)
class AgentUnderTest:
    """One agent by its name, what its stream tells, and the endings that faults of the model come to.

    ``tells_requests``: how many responses there were. ``tells_cache_writes``: how much of the input was written to a
    cache, where the dialect does; otherwise it says 0. ``tells_as_it_goes``: what a response has used up by the time
    it is cut. ``idle_seconds``: how long it may be silent before its first request is under way on a busy machine.
    """

    name: str
    endings: Mapping[FaultKind, OutcomeKind]
    tells_requests: bool = True
    tells_cache_writes: bool = True
    tells_as_it_goes: bool = False
    idle_seconds: int = 8

    def buckets(self, usage: Usage) -> tuple[int | None, ...]:
        """Return what the agent, the meter and the server all tell."""
        written = usage.cache_write if self.tells_cache_writes else usage.cache_write or 0
        return usage.fresh_input, usage.cache_read, written, usage.output


CLAUDE = AgentUnderTest(
    "claude",
    endings={
        FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
        FaultKind.STATUS_500: OutcomeKind.PROVIDER_ERROR,
        FaultKind.STATUS_529: OutcomeKind.PROVIDER_ERROR,
        FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
        FaultKind.HTML: OutcomeKind.PROVIDER_ERROR,
        FaultKind.BROKEN_SSE: OutcomeKind.PROVIDER_ERROR,
        FaultKind.CUT: OutcomeKind.PROVIDER_ERROR,
        FaultKind.HANG_BEFORE_HEADERS: OutcomeKind.IDLE,
        FaultKind.HANG_MID_STREAM: OutcomeKind.IDLE,
        FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
        FaultKind.REFUSAL: OutcomeKind.REFUSED,
        FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
        FaultKind.SLOW: OutcomeKind.TIMED_OUT,
    },
    tells_as_it_goes=True,
)
CODEX = AgentUnderTest(
    "codex",
    endings={
        FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
        FaultKind.STATUS_500: OutcomeKind.PROVIDER_ERROR,
        FaultKind.STATUS_529: OutcomeKind.PROVIDER_ERROR,
        FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
        FaultKind.HTML: OutcomeKind.PROVIDER_ERROR,
        FaultKind.BROKEN_SSE: OutcomeKind.PROVIDER_ERROR,
        FaultKind.CUT: OutcomeKind.PROVIDER_ERROR,
        FaultKind.HANG_MID_STREAM: OutcomeKind.IDLE,
        FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
        FaultKind.REFUSAL: OutcomeKind.REFUSED,
        FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
    },
    tells_requests=False,
    tells_cache_writes=False,
)
# It repeats a failed request five times within a minute, and cannot be told otherwise, unless the server says when it
# may come back, as it does with a status 429. How it ends after a status 500 or a cut response, recordings show.
OPENCODE = AgentUnderTest(
    "opencode",
    endings={
        FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
        FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
        FaultKind.HTML: OutcomeKind.PROVIDER_ERROR,
        FaultKind.HANG_MID_STREAM: OutcomeKind.IDLE,
        FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
        FaultKind.REFUSAL: OutcomeKind.REFUSED,
        FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
    },
    idle_seconds=20,
)
PI = AgentUnderTest(
    "pi",
    endings={
        FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
        FaultKind.STATUS_500: OutcomeKind.PROVIDER_ERROR,
        FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
        FaultKind.HTML: OutcomeKind.PROVIDER_ERROR,
        FaultKind.BROKEN_SSE: OutcomeKind.PROVIDER_ERROR,
        FaultKind.CUT: OutcomeKind.PROVIDER_ERROR,
        FaultKind.HANG_MID_STREAM: OutcomeKind.IDLE,
        FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
        FaultKind.REFUSAL: OutcomeKind.REFUSED,
        FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
    },
)
# It sends a failing request eleven times in silence: a status 429 takes it a minute. A status 500 is recorded.
OMP = AgentUnderTest(
    "omp",
    endings={
        FaultKind.STATUS_429: OutcomeKind.RATE_LIMITED,
        FaultKind.STATUS_401: OutcomeKind.AUTH_FAILED,
        FaultKind.BROKEN_SSE: OutcomeKind.PROVIDER_ERROR,
        FaultKind.CUT: OutcomeKind.PROVIDER_ERROR,
        FaultKind.HANG_MID_STREAM: OutcomeKind.IDLE,
        FaultKind.EMPTY: OutcomeKind.EMPTY_SUCCESS,
        FaultKind.REFUSAL: OutcomeKind.REFUSED,
        FaultKind.MAX_TOKENS: OutcomeKind.OUTPUT_LIMIT,
    },
)

AGENTS_UNDER_TEST = (CLAUDE, CODEX, OPENCODE, PI, OMP)


def each(*agents: AgentUnderTest) -> pytest.MarkDecorator:
    """Parametrise ``agent`` with these; skip, saying why, where one is not installed."""
    return pytest.mark.parametrize(
        "agent", [pytest.param(agent, marks=needs_agent(agent.name), id=agent.name) for agent in agents]
    )
