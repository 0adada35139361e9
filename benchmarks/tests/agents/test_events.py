"""The tally over a stream's events, whatever agent they come from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.agents.events import (
    End,
    Event,
    Notice,
    PermissionDenied,
    RequestUsage,
    Retry,
    Session,
    Tally,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.records.outcome import Blame, Outcome, OutcomeKind
from swetrials.records.usage import Usage

DONE = Outcome.of(OutcomeKind.COMPLETED)


def tally_of(*events: Event) -> Tally:
    tally = Tally()
    tally.add(events)
    return tally


def request(name: str, output: int, *, final: bool = False, subagent: str = "") -> RequestUsage:
    return RequestUsage(name, Usage(fresh_input=100, output=output), final, "m", subagent)


def test_a_request_counts_once_however_often_it_is_told() -> None:
    tally = tally_of(request("a", 1), request("a", 1), request("a", 57, final=True), request("b", 3))
    assert (tally.usage.usage.fresh_input, tally.usage.usage.output, tally.usage.requests) == (200, 60, 2)


def test_a_snapshot_never_takes_back_a_final_count() -> None:
    assert tally_of(request("a", 57, final=True), request("a", 1)).usage.usage.output == 57
    assert tally_of(request("a", 57, final=True), request("a", 58, final=True)).usage.usage.output == 58
    assert tally_of(request("a", 1), request("a", 2)).usage.usage.output == 2


@given(st.permutations([request("a", 1), request("a", 40, final=True), request("b", 2), request("c", 7, final=True)]))
def test_the_order_of_the_events_makes_no_difference_to_the_sum(events: list[Event]) -> None:
    assert tally_of(*events).usage.usage == Usage(fresh_input=300, output=49)


def test_without_a_last_word_the_sum_is_a_lower_bound() -> None:
    tally = tally_of(request("a", 5, final=True))
    assert tally.usage.completeness == "lower_bound"
    assert (tally.outcome.kind, tally.outcome.blame) == (OutcomeKind.UNFINISHED, Blame.AMBIGUOUS)
    assert Tally().usage.usage == Usage()
    assert Tally().usage.completeness == "unknown"


@pytest.mark.parametrize(("cut", "completeness"), [(0, "complete"), (1, "lower_bound")])
def test_the_agents_own_total_beats_the_sum(cut: int, completeness: str) -> None:
    total = Usage(fresh_input=900, cache_read=0, cache_write=0, output=80)
    tally = tally_of(request("a", 5), End(DONE, usage=total, responses_cut=cut))
    assert (tally.usage.usage, tally.usage.requests) == (total, 1)
    assert tally.usage.completeness == completeness


def test_a_last_word_without_a_total_leaves_the_sum() -> None:
    tally = tally_of(request("a", 5), End(DONE))
    assert (tally.usage.usage.output, tally.usage.completeness) == (5, "lower_bound")


def test_turns_are_the_main_agents_responses() -> None:
    events = (request("a", 1), request("b", 1, subagent="call-1"), request("c", 1))
    assert tally_of(*events, End(DONE, turns=9)).turns == 2
    assert tally_of(End(DONE, turns=9, usage=Usage(output=1))).turns == 9
    assert tally_of(End(DONE, turns=9, usage=Usage(fresh_input=0, output=0))).turns == 0
    assert tally_of(End(DONE)).turns == 0
    assert tally_of().turns == 0


@pytest.mark.parametrize(
    "after", [Text("going on"), request("a", 1), ToolResult("t", "", False), Notice("x"), End(DONE), Session("s")]
)
def test_a_retry_is_pending_until_anything_follows(after: Event) -> None:
    first, second = Retry(1, 0.5, 429, "rate_limit"), Retry(2, 1.25, 429, "rate_limit")
    waiting = tally_of(first, second)
    assert waiting.pending_retry == second
    over = tally_of(first, second, after)
    assert over.pending_retry is None
    assert (over.waiting_seconds, over.retries) == (1.75, [first, second])


def test_who_it_is_stays_known() -> None:
    tally = tally_of(Session("s1", "m1", "v1"), Session(None), Session("", None, None))
    assert (tally.session_id, tally.model, tally.agent_version) == ("s1", "m1", "v1")
    tally.add([Session("s2")])
    assert (tally.session_id, tally.model) == ("s2", "m1")


def test_tools_and_refusals_are_counted() -> None:
    arguments: dict[str, Any] = {}
    tally = tally_of(
        ToolCall("1", "Bash", arguments), ToolCall("2", "Bash", arguments),
        ToolCall("3", "Read", arguments, subagent="1"),
        PermissionDenied("Bash", "mode"), Text("first"), Text("last"),
    )  # fmt: skip
    assert tally.tools == {"Bash": 2, "Read": 1}
    assert (tally.permission_denials, tally.last_text) == (1, "last")


def test_the_last_of_two_last_words_counts() -> None:
    failed = Outcome.of(OutcomeKind.RATE_LIMITED, "429")
    assert tally_of(End(failed), End(DONE)).outcome == DONE
    assert tally_of(End(DONE), End(failed)).outcome == failed
