"""Rates and their differences: intervals that hold the truth as often as they say, worked out from the binomial."""

import itertools
from math import comb, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from swetrials.results.rates import effective_tasks, rate_difference, rate_over_tasks, wilson
from swetrials.results.resampling import share_over_tasks

RATES = [number / 100 for number in range(5, 96)]
FLOORS = {8: 0.89, 21: 0.92, 50: 0.93}
"""By tasks, what the interval holds of any rate."""


def by_task(trials: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Return the trials of each task (row)."""
    return {f"t{number:02}": [float(one) for one in row] for number, row in enumerate(trials)}


def run(resolved: int, tasks: int) -> dict[str, list[float]]:
    return {f"t{number:02}": [float(number < resolved)] for number in range(tasks)}


@pytest.mark.parametrize("tasks", FLOORS)
def test_the_interval_of_a_rate_holds_every_rate_by_the_binomial(tasks: int) -> None:
    found = [rate_over_tasks(run(resolved, tasks)) for resolved in range(tasks + 1)]
    held = []
    for rate in RATES:
        within = [one.low is not None and one.high is not None and one.low <= rate <= one.high for one in found]
        chances = [comb(tasks, k) * rate**k * (1 - rate) ** (tasks - k) for k in range(tasks + 1)]
        held.append(sum(chance for chance, inside in zip(chances, within, strict=True) if inside))
    assert 0.94 <= sum(held) / len(held) <= 0.97
    assert min(held) >= FLOORS[tasks]


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("alike", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("tasks", FLOORS)
def test_the_interval_of_a_rate_over_repeats_holds_it_however_tasks_vary(
    tasks: int, alike: float, repeats: int
) -> None:
    """``alike``: the sum of the beta distribution's parameters that tasks' rates are drawn from."""
    random = np.random.default_rng(17)
    held = []
    for rate in RATES[::9]:
        hits = 0
        for _ in range(400):
            of_tasks = random.beta(rate * alike, (1 - rate) * alike, tasks)
            found = rate_over_tasks(by_task(random.random((tasks, repeats)) < of_tasks[:, None]))
            assert found.low is not None and found.high is not None
            hits += found.low <= rate <= found.high
        held.append(hits / 400)
    assert 0.94 <= sum(held) / len(held) <= 0.99
    assert min(held) >= FLOORS[tasks] - 0.04


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("tasks", FLOORS)
def test_the_interval_of_a_difference_holds_it_whether_or_not_tasks_are_hard_for_both(tasks: int, repeats: int) -> None:
    random = np.random.default_rng(17)
    held = []
    for one, other in ((0.1, 0.1), (0.5, 0.5), (0.6, 0.4), (0.9, 0.7), (0.3, 0.1), (0.8, 0.2)):
        for shared in (0.0, 0.6):
            hits = 0
            for _ in range(400):
                hard = random.random(tasks) < shared  # on these tasks one draw decides for both
                luck = random.random((tasks, repeats))
                own = random.random((tasks, repeats))
                a, b = luck < one, np.where(hard[:, None], luck, own) < other
                found = rate_difference(by_task(a), by_task(b))
                assert found.low is not None and found.high is not None
                hits += found.low <= one - other <= found.high
            held.append(hits / 400)
    assert 0.94 <= sum(held) / len(held) <= 0.99
    assert min(held) >= FLOORS[tasks]


def pairs(both: int, first: int, second: int, neither: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return two runs over the same tasks, by how many of them resolved a task."""
    kinds = [(1, 1)] * both + [(1, 0)] * first + [(0, 1)] * second + [(0, 0)] * neither
    a, b = ({f"t{number:02}": [float(kind[side])] for number, kind in enumerate(kinds)} for side in (0, 1))
    return a, b


def by_counts(both: int, first: int, second: int, neither: int) -> tuple[float, float]:
    """Return Newcombe's interval as he writes it, from the four counts (Statistics in Medicine 17, 1998, method 10)."""
    size = both + first + second + neither
    one, other = (both + first) / size, (both + second) / size
    (low, high), (low_other, high_other) = wilson(one, size), wilson(other, size)
    product = (both + first) * (second + neither) * (both + second) * (first + neither)
    agreement = both * neither - first * second
    phi = (max(0.0, agreement - size / 2) if agreement > 0 else agreement) / sqrt(product) if product else 0.0
    below, above = one - low, high_other - other
    down = sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2))
    above, below = high - one, other - low_other
    up = sqrt(max(0.0, above**2 - 2 * phi * above * below + below**2))
    return one - other - down, one - other + up


def test_a_difference_without_repeats_has_the_interval_of_the_four_counts() -> None:
    for both, first, second in itertools.product(range(8), repeat=3):
        if (neither := 9 - both - first - second) >= 0:
            found = rate_difference(*pairs(both, first, second, neither))
            assert (found.low, found.high) == pytest.approx(by_counts(both, first, second, neither))
    published = rate_difference(*pairs(36, 12, 2, 0))
    assert (published.low, published.high) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_without_repeats_the_interval_is_wilsons_over_the_tasks() -> None:
    for resolved in range(10):
        assert rate_over_tasks(run(resolved, 9)) == share_over_tasks(run(resolved, 9))


def test_repeats_count_between_none_and_as_many_tasks() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        tasks, times = int(rng.integers(2, 12)), int(rng.integers(2, 6))
        values = by_task(rng.random((tasks, times)) < rng.random(tasks)[:, None])
        assert tasks <= effective_tasks(values) <= tasks * times
    alike = {f"t{number}": [1.0, 0.0, 1.0, 0.0] for number in range(30)}
    assert effective_tasks(alike) > 100  # each repeat is as good as a task
    apart = {f"t{number}": [float(number % 2)] * 4 for number in range(30)}
    assert effective_tasks(apart) == 30  # each repeat says what the first one said


@pytest.mark.parametrize("ending", [0.0, 1.0])
@pytest.mark.parametrize("tasks", [1, 2, 9])
def test_where_all_ended_alike_the_tasks_are_what_counts(tasks: int, ending: float) -> None:
    found = rate_over_tasks({f"t{number}": [ending] * 3 for number in range(tasks)})
    assert (found.low, found.high) == wilson(ending, tasks)
    assert found.low is not None and found.high is not None and found.high - found.low > 0.2


def test_nothing_at_all_is_unknown_and_one_task_has_no_difference_to_speak_of() -> None:
    assert rate_over_tasks({}).value is None
    assert rate_difference({"a": [1.0]}, {"b": [1.0]}).value is None
    alone = rate_difference({"a": [1.0]}, {"a": [0.0]})
    assert (alone.value, alone.low, alone.high) == (1.0, None, None)
