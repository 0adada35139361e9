"""Token counts that cannot be."""

import pytest

from swetrials.records.usage import Completeness, Usage, UsageReport
from swetrials.trials.plausibility import output_doubts, usage_doubts


def report(output: int | None, total: int = 0, completeness: Completeness = "complete") -> UsageReport:
    fresh = total - (output or 0) if total else None
    return UsageReport(usage=Usage(fresh_input=fresh, output=output), completeness=completeness)


@pytest.mark.parametrize(
    ("output", "turns", "doubted"),
    [(33, 40, True), (399, 40, True), (400, 40, False), (20, 4, False), (33, None, False), (33, 0, False),
     (None, 40, False)],
)  # fmt: skip
def test_single_digit_output_per_turn_is_doubted(output: int | None, turns: int | None, doubted: bool) -> None:
    assert bool(output_doubts("the agent reports", report(output), turns)) is doubted


def test_the_doubt_says_what_is_wrong() -> None:
    [finding] = usage_doubts(report(33), None, 40)
    assert (finding.code, finding.severity) == ("implausible_usage", "warning")
    assert finding.message == "the agent reports 33 output tokens over 40 turns"


def test_a_meter_that_cannot_be_right_is_doubted_too() -> None:
    [finding] = usage_doubts(report(4000), report(33), 40)
    assert finding.message == "the meter saw 33 output tokens over 40 turns"


@pytest.mark.parametrize("completeness", ["complete", "lower_bound"])
def test_fewer_tokens_than_the_meter_saw_are_doubted(completeness: Completeness) -> None:
    [finding] = usage_doubts(report(500, 10_000), report(500, 11_000, completeness), 9)
    assert finding.message == "the agent reports 10,000 tokens in all, fewer than the 11,000 of the meter"


@pytest.mark.parametrize(
    ("told", "seen", "completeness"),
    [(10_000, 10_100, "complete"), (11_000, 10_000, "complete"), (10_000, 11_000, "lower_bound")],
)
def test_an_agent_that_was_stopped_or_counts_more_is_not_doubted(
    told: int, seen: int, completeness: Completeness
) -> None:
    assert usage_doubts(report(500, told, completeness), report(500, seen), 9) == []
