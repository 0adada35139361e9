"""What two runs allow to be claimed, in figures and in one sentence."""

import numpy as np
import pytest

from results.simulated import failed, row
from swetrials.results.claim import claim
from swetrials.results.mixtures import MixtureError
from swetrials.results.report.claim_sentence import sentence
from swetrials.results.trial_row import TrialRow


def run(
    model: str, lead: float, price: float, *, tasks: int = 21, noise: float = 5.0, repeats: int = 1
) -> list[TrialRow]:
    """Return a run the scores of which are those of any other run, further up, and shaken by noise of its own."""
    random = np.random.default_rng(sum(map(ord, model)))
    return [
        row(
            50 + (task % 7) * 3 + lead + random.normal(0, noise),
            model=model, task=f"t{task:02}", repeat=repeat, cost_usd=price * (1 + task % 5) * random.gamma(50, 1 / 50),
        )
        for task in range(tasks)
        for repeat in range(1, repeats + 1)
    ]  # fmt: skip


def said(first: list[TrialRow], second: list[TrialRow], tie_band: float | None = None) -> str:
    return sentence(claim(first, second, tie_band=tie_band), "A", "B")


def test_a_wide_lead_is_claimed_with_its_figures() -> None:
    first, second = run("a", 20, 1.0), run("b", 0, 2.0)
    found = claim(first, second)
    assert (found.score.verdict, found.settling) == ("better", None)
    assert found.score.difference.low is not None and found.score.difference.low > 10
    assert found.cost.ratio.value == pytest.approx(0.5, rel=0.1)
    text = said(first, second)
    assert text.startswith("A scores higher than B on tasks like these: +")
    assert "points (95 % interval +" in text
    assert "21 shared tasks" in text
    assert "A costs 0." in text
    assert "settle" not in text
    assert said(second, first).startswith("A scores lower than B on tasks like these: -")


def test_what_cannot_be_claimed_comes_with_what_would_settle_it() -> None:
    first, second = run("a", 1.5, 1.0, noise=9), run("b", 0, 1.0, noise=9)
    found = claim(first, second)
    assert found.score.verdict == "tied"
    assert found.settling is not None
    text = said(first, second)
    assert text.startswith("It cannot be claimed that A and B score differently: A less B is -")
    assert "A cannot be claimed to cost another amount: " in text
    assert f"about {found.settling.more_tasks} more tasks like these would settle it with 80 % probability" in text
    assert "whether more repeats would cannot be told" in text


def test_with_repeats_their_part_is_told() -> None:
    first, second = run("a", 1.5, 1.0, noise=9, repeats=2), run("b", 0, 1.0, noise=9, repeats=2)
    found = claim(first, second)
    assert found.settling is not None and found.settling.repeat_noise_known
    assert found.settling.more_repeats is not None
    assert f"or about {found.settling.more_repeats} more repeats of each task would settle it" in said(first, second)


DISAGREE = "where p decides: the interval, made in another way, does not agree"


def by_task(differences: list[float]) -> tuple[list[TrialRow], list[TrialRow]]:
    first = [row(50 + lead, model="a", task=f"t{task}", cost_usd=1.0) for task, lead in enumerate(differences)]
    return first, [row(50, model="b", task=f"t{task}", cost_usd=1.0) for task in range(len(differences))]


def test_an_interval_that_does_not_say_what_p_says_is_told_beside_it() -> None:
    first, second = by_task([-4.5, 0.6, 7.4, 7.4, 7.7, 8.4, 8.4, 14.1])
    difference, p = claim(first, second).score.difference, claim(first, second).score.p
    assert difference.low is not None and difference.low < 0
    assert p is not None and p < 0.05
    assert said(first, second).count(DISAGREE) == 1
    assert DISAGREE not in said(*by_task([5.0, 6.0, 7.0, 7.5, 8.0, 8.5, 9.0, 14.0]))
    assert DISAGREE not in said(*by_task([0.0] * 8))


def test_what_no_more_work_within_the_limits_would_settle_is_said() -> None:
    first = [row(50 + (-1) ** task * 20 + 0.01, model="a", task=f"t{task}") for task in range(20)]
    second = [row(50, model="b", task=f"t{task}") for task in range(20)]
    assert "1,000 more tasks would not settle it with 80 % probability" in said(first, second)
    twice = (
        [row(one.score, model=one.model, task=one.task, repeat=repeat) for one in first for repeat in (1, 2)],
        [row(one.score, model=one.model, task=one.task, repeat=repeat) for one in second for repeat in (1, 2)],
    )
    assert "1,000 more tasks and 20 more repeats would not settle it" in said(*twice)


def test_a_given_tie_band_counts_a_small_lead_as_none() -> None:
    first, second = run("a", 6, 1.0, noise=0.5), run("b", 0, 1.0, noise=0.5)
    assert claim(first, second).score.verdict == "better"
    found = claim(first, second, tie_band=8)
    assert (found.score.verdict, found.settling) == ("tied", None)
    assert said(first, second, 8).startswith("A and B count as equal, their scores being within the tie band")


@pytest.mark.parametrize("shared", [0, 1])
def test_too_few_shared_tasks_allow_no_claim(shared: int) -> None:
    first = [*run("a", 0, 1.0, tasks=shared), row(model="a", task="mine")]
    second = [*run("b", 0, 1.0, tasks=shared), row(model="b", task="other")]
    text = said(first, second)
    count = {0: "0 scored tasks", 1: "1 scored task"}[shared]
    assert text.startswith(f"Nothing can be claimed about the scores of A and B, which share {count} ")
    assert ("A cost " in text and "without an interval" in text) == bool(shared)


def test_unknown_costs_and_other_bases_are_said() -> None:
    unknown = [*run("b", 0, 1.0), row(model="b", task="more", cost_usd=None)]
    assert "A cannot be compared with B by cost" in said(run("a", 20, 1.0), unknown)
    rented = [row(40, model="b", task=f"t{task:02}", cost_usd=0.1, cost_basis="hardware") for task in range(21)]
    assert "though the two are not worked out in the same way" in said(run("a", 20, 1.0), rented)
    cut = [row(40, model="b", task=f"t{task:02}", cost_usd=0.1, cost_is_lower_bound=True) for task in range(21)]
    assert "where a cost is a lower bound" in said(run("a", 20, 1.0), cut)


def test_failed_trials_are_in_no_cost() -> None:
    first = [*run("a", 20, 1.0), failed(model="a", task="more", cost_usd=99.0)]
    second = [*run("b", 0, 1.0), row(model="b", task="more", cost_usd=1.0)]
    assert claim(first, second).cost == claim(run("a", 20, 1.0), run("b", 0, 1.0)).cost


def test_a_rehearsal_is_not_compared_with_a_model_and_says_what_it_is() -> None:
    scripted = [row(task=f"t{n}", rehearsal=True) for n in range(3)]
    with pytest.raises(MixtureError, match="rehearsals are not ranked beside real models"):
        claim(scripted, run("b", 0, 1.0))
    text = said(scripted, [row(60, model="b", task=f"t{n}", rehearsal=True) for n in range(3)])
    assert text.startswith("Of a rehearsal, and so of no model: ")


def test_a_side_is_one_candidate() -> None:
    with pytest.raises(MixtureError, match=r"one side of the comparison is several: m/codex/.*, m/omp/"):
        claim([row(), row(agent="codex")], run("b", 0, 1.0))


def resolving(model: str, resolved: int, tasks: int = 21, cost_usd: float = 1.0) -> list[TrialRow]:
    """Return a run that resolves the first few tasks; those that it does not ended as failures."""
    return [
        (row if n < resolved else failed)(
            model=model, task=f"t{n:02}", resolved=n < resolved, evidence="tests", rank_by="resolved", cost_usd=cost_usd
        )
        for n in range(tasks)
    ]


def test_resolve_rates_are_claimed_in_percentage_points_with_the_cost_of_all_trials() -> None:
    first, second = resolving("a", 18, cost_usd=2.0), resolving("b", 3, cost_usd=1.0)
    found = claim(first, second)
    assert (found.rank_by, found.score.verdict) == ("resolved", "better")
    assert found.cost.ratio.value == pytest.approx(2)
    assert found.cost.ratio.tasks == 21, "failures are paid as well"
    text = said(first, second)
    assert text.startswith("A resolves more than B on tasks like these: +71 percentage points (95 % interval +")
    assert said(second, first).startswith("A resolves less than B on tasks like these: -71 percentage points")
    assert "completes" not in text
    assert "score" not in text


def test_what_cannot_be_claimed_of_resolve_rates_comes_with_what_would_settle_it() -> None:
    text = said(resolving("a", 12), resolving("b", 10))
    assert text.startswith("It cannot be claimed that A and B resolve more or less: A less B is +10 percentage points")
    assert "more tasks like these would settle it" in text
    few = said(resolving("a", 3, 4), resolving("b", 1, 4))
    assert few.startswith("Fewer than 6 shared tasks never tell the resolve rates of A and B apart: ")
    assert said(resolving("a", 1, 1), resolving("b", 1, 1)).startswith(
        "Nothing can be claimed about the resolve rates of A and B, which share 1 checked task where two"
    )
