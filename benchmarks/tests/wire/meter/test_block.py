"""What requests come to: sums, times and what they leave unknown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.records.requests import PriceTerms, RequestRecord, RequestsBlock
from swetrials.records.usage import Usage, UsageReport
from swetrials.wire.meter import requests_block

TOLD = Usage(fresh_input=1, cache_read=0, cache_write=0, output=2)
counts = st.none() | st.integers(0, 10_000)
usages = st.none() | st.builds(Usage, fresh_input=counts, cache_read=counts, cache_write=counts, output=counts)
times = st.floats(0, 100)


@st.composite
def requests(draw: st.DrawFn) -> RequestRecord:
    start, first, end = sorted(draw(st.tuples(times, times, times)))
    return call(
        start,
        end,
        dialect=draw(st.sampled_from([None, "anthropic"])),
        first_byte_seconds=draw(st.sampled_from([None, first])),
        status=draw(st.sampled_from([None, 200, 429, 500])),
        usage=draw(usages),
        complete=draw(st.booleans()),
        probe=draw(st.booleans()),
        refused=draw(st.booleans()),
        request_bytes=draw(st.sampled_from([0, 5])),
    )


def call(start: float, end: float, **changes: Any) -> RequestRecord:  # noqa: ANN401
    """Return a whole answered call, but for the changes."""
    whole: dict[str, Any] = {
        "number": 1,
        "method": "POST",
        "path": "/v1/messages",
        "dialect": "anthropic",
        "started_seconds": start,
        "ended_seconds": end,
        "status": 200,
        "complete": True,
        "usage": TOLD,
        "request_bytes": 5,
    }
    return RequestRecord.model_validate(whole | changes)


@given(st.lists(requests(), max_size=12), st.randoms())
def test_the_order_of_requests_does_not_matter(records: list[RequestRecord], random: Any) -> None:  # noqa: ANN401
    shuffled = list(records)
    random.shuffle(shuffled)
    ours, theirs = requests_block(records), requests_block(shuffled)
    assert ours.model_copy(update={"statuses": theirs.statuses}) == theirs
    assert dict(ours.statuses) == dict(theirs.statuses)


@given(st.lists(requests(), max_size=12))
def test_the_figures_hold_together(records: list[RequestRecord]) -> None:
    block = requests_block(records)
    passed = [record for record in records if not record.refused]
    assert block.count + block.refused == len(records)
    assert sum(block.statuses.values()) == block.count == len(passed)
    assert block.turns <= block.count
    if passed:
        span = max(record.ended_seconds for record in passed) - min(record.started_seconds for record in passed)
        longest = max(record.ended_seconds - record.started_seconds for record in passed)
        assert block.api_seconds is not None
        assert longest <= block.api_seconds + 1e-9
        assert block.api_seconds + (block.waiting_seconds or 0) <= span + 1e-6
        assert (block.waiting_seconds or 0) >= 0


def test_waiting_is_not_counted_while_another_request_is_under_way() -> None:
    block = requests_block([call(0, 1, status=429, usage=None), call(1, 2, dialect=None, usage=None), call(3, 4)])
    assert (block.api_seconds, block.waiting_seconds) == (3, 1)


@given(st.lists(requests(), max_size=12))
def test_no_figure_is_complete_while_a_call_is_not(records: list[RequestRecord]) -> None:
    block = requests_block(records)
    calls = [record for record in records if record.dialect is not None and not record.refused]
    paid = [call for call in calls if (call.request_bytes if call.status is None else call.status < 400)]
    if block.usage.completeness == "complete":
        assert all(call.complete and call.usage is not None and call.usage.is_whole for call in paid)
    if paid:
        assert block.usage.usage == Usage.sum(call.usage for call in paid if call.usage is not None)
    assert UsageReport.sum(part.usage for part in block.parts) == block.usage.model_copy(
        update={} if paid else {"usage": Usage(), "completeness": "unknown"}
    ).model_copy(update={"requests": len(paid) or None})
    assert block.usage.requests == (len(calls) or None)


def test_without_a_call_nothing_is_known() -> None:
    assert requests_block([]) == RequestsBlock()
    only_a_look = requests_block([call(0, 1, dialect=None, usage=None)])
    assert (only_a_look.count, only_a_look.turns, only_a_look.usage) == (1, 0, UsageReport())


@pytest.mark.parametrize(
    "changes",
    [
        {"complete": False},
        {"usage": None},
        {"usage": TOLD.model_copy(update={"output": None})},
        {"usage_doubts": ("no sum",)},
        {"status": None, "usage": None, "complete": False},
    ],
    ids=["cut", "not told", "output not told", "doubtful", "sent and never answered"],
)
def test_a_call_that_may_have_cost_more_makes_a_lower_bound(changes: dict[str, Any]) -> None:
    report = requests_block([call(0, 1), call(1, 2, **changes)]).usage
    assert report.completeness == "lower_bound"
    assert (report.usage.output or 0) >= 2
    alone = requests_block([call(1, 2, **changes)]).usage
    assert alone.completeness in ("lower_bound", "unknown")
    assert alone.usage.total is None or alone.usage.total > 0


@pytest.mark.parametrize(
    "changes",
    [{"status": 429}, {"status": 500, "complete": False}, {"status": None, "complete": False, "request_bytes": 0}],
    ids=["turned down", "turned down and cut", "never sent"],
)
def test_a_call_that_failed_costs_nothing(changes: dict[str, Any]) -> None:
    failure = call(1, 2, usage=None, **changes)
    assert requests_block([call(0, 1), failure]).usage == UsageReport(usage=TOLD, completeness="complete", requests=2)
    alone = requests_block([failure]).usage
    assert (alone.usage.total, alone.completeness) == (0, "complete")


def test_probes_are_billed_and_are_no_turns() -> None:
    block = requests_block([call(0, 1, probe=True), call(1, 2)])
    assert (block.turns, block.probes, block.usage.usage.output) == (1, 1, 4)


def test_a_wait_that_lasts_until_the_end_of_the_attempt_counts() -> None:
    calls = [call(0, 1), call(1, 2, status=429, usage=None)]
    assert requests_block(calls).waiting_seconds == 0
    assert requests_block(calls, ended_seconds=42).waiting_seconds == 40
    assert requests_block([call(0, 1)], ended_seconds=42).waiting_seconds == 0


def test_the_usage_is_told_by_what_has_one_price() -> None:
    searched = PriceTerms(service_tier="standard", server_tools={"web_search_requests": 2})
    again = PriceTerms(service_tier="standard", server_tools={"web_search_requests": 3, "web_fetch_requests": 1})
    fast = PriceTerms(service_tier="standard", speed="fast")
    stated = PriceTerms(reported_usd=0.25)
    calls = [
        call(0, 1, model_served="a", price_terms=searched),
        call(1, 2, model_served="a", price_terms=again),
        call(2, 3, model_served="a", price_terms=fast),
        call(3, 4, model_served=None, model_asked="b", price_terms=stated),
        call(4, 5, model_served=None, model_asked="b", price_terms=stated),
        call(5, 6, model_served=None, model_asked="b"),
        call(6, 7, status=500, usage=None, model_asked="b"),
    ]
    parts = requests_block(calls).parts
    assert [(part.model, part.calls, part.usage.usage.output) for part in parts] == [
        ("a", 2, 4),
        ("a", 1, 2),
        ("b", 2, 4),
        ("b", 1, 2),
    ]
    assert parts[0].terms.server_tools == {"web_search_requests": 5, "web_fetch_requests": 1}
    assert (parts[1].terms.speed, parts[2].terms.reported_usd, parts[3].terms) == ("fast", 0.5, PriceTerms())


def test_doubts_are_counted_by_what_does_not_hold() -> None:
    block = requests_block([call(0, 1, usage_doubts=("x",)), call(1, 2, usage_doubts=("x", "y")), call(2, 3)])
    assert block.usage_doubts == {"x": 2, "y": 1}


def test_time_is_split_into_requests_and_waiting_for_the_next_one() -> None:
    failed = {"status": 529, "usage": None}
    block = requests_block([call(0, 1, **failed), call(4, 5, **failed), call(4.5, 6), call(10, 11)])
    # The gap after the second failure is covered by the call that ran meanwhile, up to its end.
    assert block.api_seconds == pytest.approx(1 + 2 + 1)
    assert block.waiting_seconds == pytest.approx(3 + 4)
    assert block.statuses == {"529": 2, "200": 2}


def test_the_first_byte_is_timed_where_there_was_an_answer() -> None:
    block = requests_block(
        [
            call(0, 9, first_byte_seconds=1),
            call(10, 19, first_byte_seconds=13),
            call(20, 29, first_byte_seconds=28, status=500),
            call(30, 39, first_byte_seconds=38, probe=True),
        ]
    )
    assert block.first_token_seconds_median == 2


def test_refused_requests_are_in_no_other_figure() -> None:
    refused = call(5, 9, status=401, usage=None, refused=True)
    assert requests_block([call(0, 1), refused]) == requests_block([call(0, 1)]).model_copy(update={"refused": 1})
