"""Pairs of candidates: differences, chance and many comparisons, each against a second calculation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.simulated import failed, row
from swetrials.results.candidates import CandidateTrials, by_candidate
from swetrials.results.paired import EXACT_TASKS, holm, mean_difference, paired, ratio_of_means, sign_flip_p
from swetrials.results.trial_row import TrialRow

PS = st.lists(st.floats(0, 1), min_size=1, max_size=12)
DIFFERENCES = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=9)


def two(*rows: TrialRow) -> tuple[CandidateTrials, CandidateTrials]:
    a, b = by_candidate(rows)
    return a, b


def test_only_tasks_that_both_completed_are_in_the_difference() -> None:
    pair = paired(
        *two(
            row(80, model="a", task="x"), row(70, model="a", task="x", repeat=2), row(60, model="a", task="y"),
            row(90, model="a", task="only-a"), failed(model="a", task="z"),
            row(70, model="b", task="x"), row(50, model="b", task="y"), row(99, model="b", task="z"),
        )
    )  # fmt: skip
    assert pair.difference.value == (75 - 70 + 60 - 50) / 2
    assert (pair.difference.tasks, pair.difference.trials) == (2, 5)
    assert pair.difference_failures_as_zero.value == (75 - 70 + 60 - 50 + 0 - 99) / 3


def test_a_trial_that_is_not_valid_is_in_neither_difference() -> None:
    rows = [row(10 * n, model=model, task=f"t{n}") for model in "ab" for n in range(3)]
    pair = paired(*two(*rows, failed(model="a", task="u", valid=False), row(90, model="b", task="u")))
    assert pair.difference.tasks == pair.difference_failures_as_zero.tasks == 3


@pytest.mark.parametrize("shared", [0, 1])
def test_too_few_shared_tasks_have_neither_interval_nor_p(shared: int) -> None:
    rows = [row(50, model=model, task=f"t{n}") for model in "ab" for n in range(shared)]
    pair = paired(*two(*rows, row(60, model="a", task="mine"), row(60, model="b", task="other")))
    assert (pair.difference.low, pair.p, pair.probability_a_better) == (None, None, None)
    assert pair.difference.value == (0 if shared else None)


@given(DIFFERENCES)
def test_the_exact_p_counts_every_pattern_of_signs(differences: list[float]) -> None:
    observed = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    extreme = sum(
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True))) >= observed for signs in patterns
    )
    assert sign_flip_p(np.array(differences)) == pytest.approx(extreme / len(patterns))


@pytest.mark.parametrize("tasks", [12, EXACT_TASKS, EXACT_TASKS + 1, 80])
def test_p_agrees_with_the_permutation_test_of_scipy(tasks: int) -> None:
    random = np.random.default_rng(tasks)
    differences = random.normal(2, 5, tasks)
    found = stats.permutation_test(
        (differences, np.zeros(tasks)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=19_999,
        rng=random,
    )
    assert sign_flip_p(differences) == pytest.approx(float(found.pvalue), abs=0.01)


def test_no_difference_at_all_is_chance() -> None:
    assert sign_flip_p(np.zeros(21)) == 1.0
    assert sign_flip_p(np.zeros(40)) == 1.0
    with pytest.raises(ValueError, match="no difference"):
        sign_flip_p(np.array([]))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(PS)
def test_holm_keeps_the_order_and_stays_between_the_p_and_that_of_bonferroni(ps: list[float]) -> None:
    adjusted = holm(ps)
    for p, q in zip(ps, adjusted, strict=True):
        assert p <= q <= min(1.0, p * len(ps))
    ordered = sorted(zip(ps, adjusted, strict=True))
    assert [q for _, q in ordered] == sorted(q for _, q in ordered)


@given(PS)
def test_holm_rejects_what_the_stepwise_rule_rejects(ps: list[float]) -> None:
    rejected = set()
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda one: ps[one])):
        if ps[index] * (len(ps) - rank) > 0.05:
            break
        rejected.add(index)
    assert {index for index, q in enumerate(holm(ps)) if q <= 0.05} == rejected


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=12))
def test_the_other_way_round_is_the_opposite(scores: list[tuple[float, float]]) -> None:
    rows = [
        row(score, model=model, task=f"t{n:02}")
        for n, both in enumerate(scores)
        for model, score in zip("ab", both, strict=True)
    ]
    a, b = two(*rows)
    there, back = paired(a, b), paired(b, a).reversed()
    assert (back.a, back.b) == (there.a, there.b)
    assert back.p == pytest.approx(there.p)
    assert back.probability_a_better == pytest.approx(there.probability_a_better)
    for name in ("value", "low", "high"):
        # The quantiles of an even number of resamples are not exactly symmetric.
        assert getattr(back.difference, name) == pytest.approx(getattr(there.difference, name), rel=0.05, abs=0.5)


def test_the_probability_of_being_better_follows_the_differences() -> None:
    chances = []
    for lead in (-30.0, 0.0, 30.0):
        rows = [row(50 + (lead if model == "a" else 0) + (n % 2) * (5 if model == "a" else 0), model=model, task=str(n))
                for model in "ab" for n in range(10)]  # fmt: skip
        chance = paired(*two(*rows)).probability_a_better
        assert chance is not None
        chances.append(chance)
    assert chances[0] == 0.0
    assert 0.9 < chances[1] <= 1.0  # never worse on any task, and better on half of them
    assert chances[2] == 1.0


def test_equal_scores_are_better_with_even_chance() -> None:
    pair = paired(*two(*(row(10.0 * n, model=model, task=str(n)) for model in "ab" for n in range(9))))
    assert (pair.probability_a_better, pair.p) == (0.5, 1.0)
    assert (pair.difference.low, pair.difference.high) == (0.0, 0.0)


def costs(*values: float) -> dict[str, list[float]]:
    return {f"t{n:02}": [value] for n, value in enumerate(values)}


@pytest.mark.parametrize("tasks", [5, 21])
def test_a_ratio_of_costs_is_that_of_the_means_and_its_inverse_the_other_way_round(tasks: int) -> None:
    random = np.random.default_rng(tasks)
    common = random.lognormal(0, 0.6, tasks)
    a, b = costs(*(2 * common * random.lognormal(0, 0.2, tasks))), costs(*common)
    there, back = ratio_of_means(a, b), ratio_of_means(b, a)
    assert there.value == pytest.approx(sum(v for [v] in a.values()) / sum(v for [v] in b.values()))
    assert there.value and there.low and there.high and back.value and back.low and back.high
    assert there.low < there.value < there.high
    assert 1 / back.value == pytest.approx(there.value)
    assert (1 / back.high, 1 / back.low) == pytest.approx((there.low, there.high), rel=0.02)


def test_one_price_for_all_has_the_same_ratio_everywhere() -> None:
    ratio = ratio_of_means(costs(*range(3, 24)), costs(*(2 * n for n in range(3, 24))))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.parametrize("free", [costs(0, 0, 0), {}])
def test_there_is_no_ratio_to_nothing(free: dict[str, list[float]]) -> None:
    assert ratio_of_means(costs(1, 2, 3), free).value is None
    assert ratio_of_means(free, costs(1, 2, 3)).value is None


def test_some_tasks_that_cost_nothing_do_not_break_a_ratio() -> None:
    ratio = ratio_of_means(costs(*range(1, 13)), costs(*([0.0] * 9), 1.0, 2.0, 3.0))
    assert ratio.value == 13.0
    assert ratio.low is None or math.isfinite(ratio.low)


def test_a_difference_stands_on_tasks_and_not_on_repeats() -> None:
    a, b = {"x": [1.0, 3.0], "y": [5.0]}, {"x": [1.0], "y": [2.0, 4.0]}
    assert mean_difference(a, b).value == ((2 - 1) + (5 - 3)) / 2
