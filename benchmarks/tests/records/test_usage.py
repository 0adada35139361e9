"""The algebra of token usage: disjoint buckets in which unknown stays unknown."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from swetrials.records.usage import Completeness, Usage, UsageReport
from swetrials.records.usage_sum import UsageSum

_counts = st.none() | st.integers(0, 10**9)
_BUCKETS = ("fresh_input", "cache_read", "cache_write", "output")


@st.composite
def _answers(draw: st.DrawFn) -> tuple[Usage, dict[str, int], bool]:
    """Return what an answer tells, what is true of it, and whether it came to its end."""
    truth = {name: draw(st.integers(0, 10**6)) for name in _BUCKETS}
    told = {name: truth[name] for name in _BUCKETS if draw(st.booleans())}
    inputs = [name for name in _BUCKETS[:3] if name in told]
    tells_whole = len(inputs) < 3 and draw(st.booleans())
    whole = draw(st.booleans())
    if not whole:
        told = {name: draw(st.integers(0, count)) for name, count in told.items()}
    total = sum(truth[name] for name in _BUCKETS[:3]) if tells_whole and whole else None
    parts = {"reasoning": draw(_counts)}
    return Usage(**told, **parts, input_total=total), truth, whole


_usages = _answers().map(lambda answer: answer[0])
_old = st.builds(
    UsageReport,
    usage=st.builds(Usage, **dict.fromkeys(_BUCKETS, _counts)),
    completeness=st.sampled_from(get_args(Completeness)),
    requests=_counts,
)
_reports = _old | _answers().map(lambda answer: UsageReport.of(answer[0], whole=answer[2], requests=1))


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
    for name in (*_BUCKETS, "reasoning"):
        known = [getattr(usage, name) for usage in usages if getattr(usage, name) is not None]
        assert getattr(total, name) == (sum(known) if known else None)


@given(st.lists(_answers(), min_size=1, max_size=6))
def test_the_bounds_of_a_sum_hold_what_is_true(answers: list[tuple[Usage, dict[str, int], bool]]) -> None:
    report = UsageReport.sum(UsageReport.of(usage, whole=whole) for usage, _, whole in answers)
    for name in (*_BUCKETS, "input_total"):
        truth = sum(
            sum(values[each] for each in _BUCKETS[:3]) if name == "input_total" else values[name]
            for _, values, _ in answers
        )
        least, most = getattr(report.usage.at_least(), name), getattr(report.most, name)
        assert least <= truth
        assert most is None or truth <= most
    told = all(whole and usage.is_whole for usage, _, whole in answers)
    assert (report.completeness == "complete") is told
    if report.at_least is not None:
        assert report.at_least == report.usage.at_least()
    assert (report.at_least is None) is (report.at_most is None)


@given(st.lists(_answers(), max_size=6))
def test_adding_up_fast_gives_the_same_as_adding_reports(answers: list[tuple[Usage, dict[str, int], bool]]) -> None:
    fast = UsageSum()
    for usage, _, whole in answers:
        fast.add(usage, whole=whole)
    slow = UsageReport.sum(UsageReport.of(usage, whole=whole) for usage, _, whole in answers)
    assert fast.report() == slow
    assert fast.usage == slow.usage == Usage.sum(usage for usage, _, _ in answers)
    other = fast.copy()
    other.add(Usage(output=1))
    assert fast.report() == slow


def test_an_unknown_part_of_a_known_prompt_is_a_range() -> None:
    report = UsageReport.of(Usage(cache_write=0, output=500, input_total=20_000), requests=1)
    assert (report.usage.input, report.usage.total, report.completeness) == (20_000, 20_500, "lower_bound")
    assert report.at_least == Usage(fresh_input=0, cache_read=0, cache_write=0, output=500, input_total=20_000)
    assert report.at_most == Usage(fresh_input=20_000, cache_read=20_000, cache_write=0, output=500, input_total=20_000)
    both = report + UsageReport.of(Usage(fresh_input=1000, cache_read=500, cache_write=0, output=5))
    assert both.usage == Usage(fresh_input=1000, cache_read=500, cache_write=0, output=505, input_total=21_500)
    assert both.at_most == Usage(fresh_input=21_000, cache_read=20_500, cache_write=0, output=505, input_total=21_500)


def test_one_answer_without_its_output_leaves_the_others_as_a_lower_bound() -> None:
    told = Usage(fresh_input=1, cache_read=2, cache_write=3, output=4)
    untold = told.model_copy(update={"output": None})
    report = UsageReport.of(told) + UsageReport.of(untold)
    assert (report.usage.output, report.completeness) == (4, "lower_bound")
    assert report.at_most is not None
    assert (report.at_most.fresh_input, report.at_most.output) == (2, None)


def test_what_broke_off_bounds_nothing() -> None:
    report = UsageReport.of(Usage(fresh_input=1, cache_read=2, cache_write=3, output=4), whole=False)
    assert (report.completeness, report.at_least, report.at_most) == ("lower_bound", None, None)


def test_a_report_of_nothing_is_unknown() -> None:
    assert UsageReport.of(Usage()) == UsageReport()
    assert UsageReport.sum([]) == UsageReport()
    assert Usage.sum([]) == Usage()


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
