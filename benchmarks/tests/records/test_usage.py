"""The algebra of token usage: disjoint buckets in which unknown stays unknown."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from swetrials.records.usage import Completeness, Usage, UsageReport

_counts = st.none() | st.integers(0, 10**9)
_usages = st.builds(Usage, **dict.fromkeys(Usage.model_fields, _counts))
_reports = st.builds(UsageReport, usage=_usages, completeness=st.sampled_from(get_args(Completeness)), requests=_counts)


@given(_usages, _usages, _usages)
def test_the_order_of_adding_makes_no_difference(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@given(_reports, _reports, _reports)
def test_the_order_of_joining_reports_makes_no_difference(a: UsageReport, b: UsageReport, c: UsageReport) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@given(_usages)
def test_adding_unknown_changes_nothing(usage: Usage) -> None:
    assert usage + Usage() == usage


@given(st.lists(_usages))
def test_a_sum_is_known_where_any_part_is(usages: list[Usage]) -> None:
    total = Usage.sum(usages)
    for name in Usage.model_fields:
        known = [getattr(usage, name) for usage in usages if getattr(usage, name) is not None]
        assert getattr(total, name) == (sum(known) if known else None)


def test_the_total_counts_each_token_once() -> None:
    usage = Usage(
        fresh_input=1,
        cache_read=20,
        cache_write=300,
        cache_write_5m=200,
        cache_write_1h=100,
        output=4000,
        reasoning=3999,
    )
    assert usage.total == 4321


def test_the_total_of_nothing_known_is_unknown_and_not_zero() -> None:
    assert Usage().total is None
    assert Usage(reasoning=5, cache_write_5m=5).total is None
    assert Usage(output=0).total == 0


@pytest.mark.parametrize("name", sorted(Usage.model_fields))
def test_a_negative_count_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        Usage(**{name: -1})


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("complete", "complete", "complete"),
        ("complete", "lower_bound", "lower_bound"),
        ("complete", "unknown", "lower_bound"),
        ("unknown", "unknown", "unknown"),
    ],
)
def test_a_joined_report_is_no_more_complete_than_its_parts(
    first: Completeness, second: Completeness, joined: Completeness
) -> None:
    assert (UsageReport(completeness=first) + UsageReport(completeness=second)).completeness == joined
