"""Intervals of a share of totals."""

import numpy as np
import pytest

from swetrials.router.evaluation.ratios import ratio_interval


def test_equal_shares_leave_no_doubt() -> None:
    wholes = np.array([1.0, 2.0, 4.0, 8.0, 1.0, 2.0, 4.0, 8.0, 3.0])
    assert ratio_interval(wholes / 4, wholes) == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize("size", [2, 7, 8, 21])
def test_the_ratio_is_inside(size: int) -> None:
    rng = np.random.default_rng(size)
    wholes = rng.lognormal(1, 0.5, size)
    parts = wholes * rng.uniform(0.1, 1.0, size)
    interval = ratio_interval(parts, wholes)
    assert interval is not None
    assert interval[0] < parts.sum() / wholes.sum() < interval[1]


def test_one_task_has_no_interval() -> None:
    assert ratio_interval(np.array([1.0]), np.array([2.0])) is None


def test_95_in_100_hold_the_truth_where_costs_are_skewed() -> None:
    rng = np.random.default_rng(7)

    def draw(size: int) -> tuple[np.ndarray, np.ndarray]:
        # Dear tasks are switched less often, and what is switched costs a seventh: as a router does it.
        wholes = rng.lognormal(1.5, 0.8, size)
        switched = rng.random(size) < 1 / (1 + (wholes / 12) ** 2)
        return np.where(switched, wholes * rng.lognormal(-2, 0.5, size), wholes), wholes

    parts, wholes = draw(2_000_000)
    truth, held, draws = parts.sum() / wholes.sum(), 0, 500
    for _ in range(draws):
        interval = ratio_interval(*draw(21))
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    # The studentised bootstrap of a skewed ratio is a little too long rather than too short.
    assert 0.93 <= held / draws <= 0.99
