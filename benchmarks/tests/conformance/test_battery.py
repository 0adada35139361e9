"""One battery for every reader. What is expected was worked out by hand from what the rehearsal server had sent.

Each agent has every case, or says why it cannot have it.
"""

import tracemalloc
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.blames import BLAMES
from agents.streams import RECORDED, Streams
from conformance import claude_cases, codex_cases, omp_cases, opencode_cases, pi_cases
from conformance.cases import CASES, ENDINGS, Battery, Case, Expected, KnownLimit, Tokens
from swetrials.agents import AGENTS
from swetrials.agents.events import Tally
from swetrials.records.usage import Usage

BATTERIES: dict[str, Battery] = {
    "claude": claude_cases.BATTERY,
    "codex": codex_cases.BATTERY,
    "omp": omp_cases.BATTERY,
    "opencode": opencode_cases.BATTERY,
    "pi": pi_cases.BATTERY,
}
SMALL_CASES = [name for name in CASES if name != "endless"]
RECORDED_ENDINGS = [(agent, recording) for agent, battery in BATTERIES.items() for recording in battery.endings]
STRANGE_LINES = [(agent, line) for agent, battery in BATTERIES.items() for line in battery.strange_lines]
MOST_BYTES = 8_000_000


def small_case(agent: str, name: str) -> tuple[bytes, Expected]:
    case = BATTERIES[agent].cases[name]
    if isinstance(case, KnownLimit):
        pytest.skip(f"{agent}: {case.reason}")
    stream = case.stream()
    assert isinstance(stream, bytes)
    return stream, case.expected


def buckets(usage: Usage) -> Tokens:
    return usage.fresh_input, usage.cache_read, usage.cache_write, usage.output


def told(tally: Tally) -> Expected:
    return Expected(
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


def test_every_agent_has_every_case_or_says_why_not() -> None:
    assert set(BATTERIES) == set(AGENTS)
    for agent, battery in BATTERIES.items():
        assert set(battery.cases) == set(CASES), agent


@pytest.mark.parametrize("name", SMALL_CASES)
@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_stream_comes_to(agent: str, name: str) -> None:
    stream, expected = small_case(agent, name)
    assert told(Streams(agent).tally_of(stream)) == expected


@pytest.mark.parametrize(("agent", "recording"), RECORDED_ENDINGS)
def test_how_a_recorded_stream_ends(agent: str, recording: str) -> None:
    streams, kind = Streams(agent), ENDINGS[recording]
    outcome = streams.tally_of(streams.recorded(recording)).outcome
    assert (outcome.kind, outcome.blame) == (kind, BLAMES[kind])
    assert outcome.detail


@pytest.mark.parametrize("name", ["normal", "torn", "invalid UTF-8"])
@pytest.mark.parametrize("agent", AGENTS)
def test_where_the_bytes_are_cut_makes_no_difference(agent: str, name: str) -> None:
    stream, _ = small_case(agent, name)
    whole = Streams(agent).tally_of(stream)
    for length in (1, 997):
        pieces = (stream[start : start + length] for start in range(0, len(stream), length))
        assert Streams(agent).tally_of_pieces(pieces) == whole


@pytest.mark.parametrize("name", ["normal", "several blocks in a message"])
@pytest.mark.parametrize("agent", AGENTS)
@given(fractions=st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=20, deadline=None)
def test_the_events_are_the_same_wherever_the_bytes_are_cut(agent: str, name: str, fractions: list[float]) -> None:
    stream, _ = small_case(agent, name)
    cuts = [int(fraction * len(stream)) for fraction in fractions]
    assert Streams(agent).events_of(stream, cuts) == Streams(agent).events_of(stream)


@pytest.mark.parametrize(("agent", "line"), STRANGE_LINES)
def test_a_torn_or_strange_line_costs_only_itself(agent: str, line: bytes) -> None:
    stream, expected = small_case(agent, "normal")
    assert told(Streams(agent).tally_of(stream + line)) == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_invalid_utf8_inside_a_line_costs_only_the_characters(agent: str) -> None:
    (stream, _), (spoilt, _) = small_case(agent, "normal"), small_case(agent, "invalid UTF-8")
    said = Streams(agent).tally_of(stream).last_text
    assert said
    assert Streams(agent).tally_of(spoilt).last_text == f"{said}\ufffd\ufffd"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_recording_is_known_for_its_agents_and_for_nobody_elses(agent: str) -> None:
    recordings = sorted((RECORDED / agent).glob("*.jsonl"))
    assert recordings
    for recording in recordings:
        lines = [orjson.loads(line) for line in recording.read_bytes().splitlines()]
        assert {name for name in AGENTS if any(map(AGENTS[name].recognises, lines))} == {agent}, recording.name


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hundred_megabytes_are_read_in_constant_memory(agent: str) -> None:
    case = BATTERIES[agent].cases["endless"]
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
        tally = Streams(agent).tally_of_pieces(counted())
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
    assert stream == Streams(agent).recorded("ok")
