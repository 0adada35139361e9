"""One battery for every reader. What is expected was worked out by hand from what the rehearsal server had sent.

Each agent has every case, or says why it cannot have it.
"""

import tracemalloc
from collections.abc import Iterator

import pytest

from conformance import claude_cases, codex_cases, omp_cases, opencode_cases, pi_cases
from conformance.cases import CASES, Case, Cases, Expected, KnownLimit, Tokens, recorded
from swetrials.agents import AGENTS
from swetrials.agents.events import Tally
from swetrials.records.usage import Usage

BATTERY: dict[str, Cases] = {
    "claude": claude_cases.CASES,
    "codex": codex_cases.CASES,
    "omp": omp_cases.CASES,
    "opencode": opencode_cases.CASES,
    "pi": pi_cases.CASES,
}
SMALL_CASES = [name for name in CASES if name != "endless"]
MOST_BYTES = 8_000_000


def tally_of(agent: str, pieces: Iterator[bytes] | list[bytes]) -> Tally:
    reader, tally = AGENTS[agent].reader(), Tally()
    for piece in pieces:
        tally.add(reader.feed(piece))
    tally.add(reader.finish())
    return tally


def small_case(agent: str, name: str) -> tuple[bytes, Expected]:
    case = BATTERY[agent][name]
    if isinstance(case, KnownLimit):
        pytest.skip(f"{agent}: {case.reason}")
    stream = case.stream()
    assert isinstance(stream, bytes)
    return stream, case.expected


def buckets(usage: Usage) -> Tokens:
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


def test_every_agent_has_every_case_or_says_why_not() -> None:
    assert set(BATTERY) == set(AGENTS)
    for agent, cases in BATTERY.items():
        assert tuple(cases) == CASES, agent


@pytest.mark.parametrize("name", SMALL_CASES)
@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_stream_comes_to(agent: str, name: str) -> None:
    stream, expected = small_case(agent, name)
    tally = tally_of(agent, [stream])
    told = Expected(
        outcome=tally.outcome.kind,
        turns=tally.turns,
        tokens=buckets(tally.usage.usage),
        completeness=tally.usage.completeness,
        tools=dict(tally.tools),
        retries=len(tally.retries),
        compactions=tally.compactions,
        subagents=tally.subagents,
        subagent_tokens=buckets(tally.subagent_usage) if tally.subagent_usage else None,
        denials=tally.permission_denials,
    )
    assert told == expected


@pytest.mark.parametrize("name", ["normal", "torn", "invalid UTF-8"])
@pytest.mark.parametrize("agent", AGENTS)
def test_where_the_bytes_are_cut_makes_no_difference(agent: str, name: str) -> None:
    stream, _ = small_case(agent, name)
    whole = tally_of(agent, [stream])
    for length in (1, 997):
        assert tally_of(agent, [stream[start : start + length] for start in range(0, len(stream), length)]) == whole


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hundred_megabytes_are_read_in_constant_memory(agent: str) -> None:
    case = BATTERY[agent]["endless"]
    assert isinstance(case, Case)
    stream = case.stream()
    assert not isinstance(stream, bytes)
    read_bytes = 0

    def counted() -> Iterator[bytes]:
        nonlocal read_bytes
        for piece in stream:
            read_bytes += len(piece)
            yield piece

    tracemalloc.start()
    try:
        tally = tally_of(agent, counted())
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read_bytes > 100_000_000
    assert peak_bytes < MOST_BYTES
    assert (tally.outcome.kind, tally.turns) == (case.expected.outcome, case.expected.turns)
    assert buckets(tally.usage.usage) == case.expected.tokens


@pytest.mark.parametrize("agent", AGENTS)
def test_a_normal_stream_is_what_the_real_program_printed(agent: str) -> None:
    stream, _ = small_case(agent, "normal")
    assert stream == recorded(agent, "ok")
