"""What judgments come to: medians, modes, ties, failures, sums."""

from itertools import permutations

import pytest

from swetrials.records.cost import Cost
from swetrials.records.dataset import Complexity
from swetrials.records.judged_inputs import InputJudgment, JudgedInputs, RouterInputs, TaskInputs
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage, UsageReport
from swetrials.router.inputs.totals import consolidated, with_judgments


def judgment(
    base_floor: int = 70, adjustment: int = 0, tier: Complexity = "low", *, task: str = "a", failure: str = ""
) -> InputJudgment:
    inputs = RouterInputs.model_validate(
        {
            "base_floor": base_floor, "adjustment": adjustment, "floor": base_floor + adjustment, "tier": tier,
            "consequence": "Users are held up.", "reason": "It runs in production.",
        }
    )  # fmt: skip
    return InputJudgment(
        task=task,
        repeat=1,
        inputs=None if failure else inputs,
        failure=failure,
        outcome=Outcome.of(OutcomeKind.COMPLETED),
        prompt_sha256="0",
        started_at="2026-11-29T00:00:00+00:00",
        seconds=2.5,
        usage=UsageReport(usage=Usage(fresh_input=100, output=10), completeness="complete", requests=2),
        cost=Cost(amount_usd=0.5, basis="metered", status="complete"),
    )


def test_the_floor_is_the_median_and_the_tier_the_most_frequent() -> None:
    made = [judgment(75, 5, "medium"), judgment(70, 0, "low"), judgment(75, 0, "medium")]
    for order in permutations(made):
        assert consolidated("a", order) == TaskInputs(
            task="a",
            floor=75,
            tier="medium",
            base_floor=75,
            adjustment=0,
            floors_seen=(70, 75, 80),
            tiers_seen={"low": 1, "medium": 2},
            spread=10,
        )


def test_of_an_even_number_the_floor_lies_between_and_no_judgment_has_its_parts() -> None:
    row = consolidated("a", [judgment(75, 5), judgment(70, 5)])
    assert (row.floor, row.base_floor, row.adjustment, row.floors_seen) == (77.5, None, None, (75, 80))


@pytest.mark.parametrize(
    ("tiers", "hardest"),
    [(("low", "high"), "high"), (("trivial", "low", "low", "trivial"), "low"), (("high", "low", "low"), "low")],
)
def test_of_several_tiers_that_are_as_frequent_the_hardest_is_taken(
    tiers: tuple[Complexity, ...], hardest: str
) -> None:
    assert consolidated("a", [judgment(tier=tier) for tier in tiers]).tier == hardest


def test_of_several_ways_to_the_median_the_most_frequent_is_told_and_then_the_highest_base() -> None:
    often = [judgment(70, 5), judgment(75, 0), judgment(70, 5)]
    assert consolidated("a", often).base_floor == 70
    assert consolidated("a", often[:2]).base_floor == 75


def test_a_failed_judgment_counts_for_nothing_and_is_counted() -> None:
    row = consolidated("a", [judgment(55), judgment(failure="no JSON"), judgment(55, 5)])
    assert (row.floor, row.floors_seen, row.failed) == (57.5, (55, 60), 1)
    assert consolidated("a", [judgment(failure="no JSON")]) == TaskInputs(task="a", failed=1)


def test_the_header_sums_over_all_judgments_the_failed_ones_as_well() -> None:
    empty = JudgedInputs(
        dataset="d", rehearsal=False, agent="claude", model="m", provider="bedrock", skill="swe-router",
        skill_sha256="0", allowed_tools=(), permission_mode="dontAsk", sandbox="none", harness_version="1", repeats=2,
        started_at="2026-11-29T00:00:00+00:00",
    )  # fmt: skip
    made = [judgment(task="b"), judgment(task="a", failure="no JSON"), judgment(task="x")]
    record = with_judgments(empty, made, ["a", "b", "c"])
    assert [row.task for row in record.tasks] == ["a", "b", "x"]
    assert (record.judged, record.failed, record.seconds) == (3, 1, 7.5)
    assert record.cost.amount_usd == 1.5
    assert record.usage.usage.total == 330
    assert record.judgments == tuple(made)
    assert with_judgments(record, [], ["a"]) == empty
