"""Means over tasks and their intervals, against scipy where it does the same, and what must not change them."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from swetrials.results.resampling import BOOTSTRAP_TASKS, mean_interval, mean_over_tasks, share_over_tasks

SCORES = st.floats(0, 100).map(lambda value: round(value, 3))
TREES = st.dictionaries(st.text(max_size=3), st.lists(SCORES, min_size=1, max_size=4), min_size=1, max_size=12)


def test_each_task_has_the_same_weight_however_often_it_was_run() -> None:
    estimate = mean_over_tasks({"once": [10.0], "often": [40.0, 50.0, 60.0]})
    assert estimate.value == 30.0
    assert (estimate.tasks, estimate.trials) == (2, 4)


def test_nothing_is_unknown_and_one_task_has_no_interval() -> None:
    nothing, one = mean_over_tasks({}), mean_over_tasks({"t": [4.0, 6.0]})
    assert (nothing.value, nothing.low, nothing.tasks) == (None, None, 0)
    assert (one.value, one.low, one.high) == (5.0, None, None)
    assert share_over_tasks({}).value is None


@pytest.mark.parametrize("size", range(2, BOOTSTRAP_TASKS))
def test_few_tasks_have_the_interval_of_students_t(size: int) -> None:
    sample = np.random.default_rng(size).normal(60, 12, size)
    expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert mean_interval(sample) == pytest.approx((expected.low, expected.high))


def test_the_bootstrap_of_a_bell_curve_is_close_to_students_t() -> None:
    sample = stats.norm.ppf((np.arange(40) + 0.5) / 40, 60, 12)
    expected = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    assert mean_interval(sample) == pytest.approx((expected.low, expected.high), abs=0.3)


def test_the_bootstrap_reaches_further_to_the_side_of_the_long_tail() -> None:
    sample = np.random.default_rng(1).lognormal(0, 1, 30)
    interval = mean_interval(sample)
    assert interval is not None
    assert interval[1] - sample.mean() > 1.3 * (sample.mean() - interval[0])


@pytest.mark.parametrize("odd", [0.0, 3.0])
def test_almost_equal_values_still_have_a_finite_interval(odd: float) -> None:
    interval = mean_interval(np.array([1.0] * 20 + [1.0 + odd]))
    assert interval is not None
    assert all(map(math.isfinite, interval))
    assert interval[1] - interval[0] == pytest.approx(0 if not odd else 0.5959, abs=1e-3)


@pytest.mark.parametrize(("passed", "of"), [(0, 21), (1, 3), (16, 21), (21, 21)])
def test_a_share_has_wilsons_interval(passed: int, of: int) -> None:
    estimate = share_over_tasks({str(task): [float(task < passed)] for task in range(of)})
    expected = stats.binomtest(passed, of).proportion_ci(0.95, method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))


def test_repeats_of_a_task_do_not_make_a_share_surer() -> None:
    once = share_over_tasks({str(task): [float(task < 5)] for task in range(8)})
    thrice = share_over_tasks({str(task): [float(task < 5)] * 3 for task in range(8)})
    assert (thrice.low, thrice.high) == (once.low, once.high)
    assert (once.trials, thrice.trials) == (8, 24)


@given(TREES, st.randoms())
def test_neither_the_order_of_tasks_nor_of_repeats_changes_anything(
    values: dict[str, list[float]], random: Random
) -> None:
    tasks = random.sample(sorted(values), len(values))
    shuffled = {task: random.sample(values[task], len(values[task])) for task in tasks}
    assert mean_over_tasks(shuffled) == mean_over_tasks(values)


@given(TREES)
def test_an_interval_holds_the_mean_and_stays_within_the_bounds(values: dict[str, list[float]]) -> None:
    estimate = mean_over_tasks(values, low=0, high=100)
    assert estimate.value is not None
    if estimate.low is not None and estimate.high is not None:
        assert -1e-9 <= estimate.low <= estimate.value + 1e-9
        assert estimate.value - 1e-9 <= estimate.high <= 100 + 1e-9


@given(TREES, st.floats(-50, 50), st.floats(0.1, 10))
def test_another_scale_of_the_figures_is_another_scale_of_the_interval(
    values: dict[str, list[float]], shift: float, factor: float
) -> None:
    before = mean_over_tasks(values)
    after = mean_over_tasks({task: [shift + factor * value for value in several] for task, several in values.items()})
    for name in ("value", "low", "high"):
        old, new = getattr(before, name), getattr(after, name)
        assert (old is None) == (new is None)
        if old is not None:
            assert new == pytest.approx(shift + factor * old, abs=1e-6)
