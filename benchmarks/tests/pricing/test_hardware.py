"""Rented machines: the published example, and what happens where something was not measured."""

import pytest

from swetrials.pricing.hardware import hardware_cost

TOKENS = 41_519_145
RATE = 27.72
WALL = 48.42 / RATE * 3600


def test_the_published_example_as_measured_at_concurrency_five() -> None:
    cost = hardware_cost(TOKENS, 15_679 + 189, RATE, 1, WALL, 5)
    assert cost.amount_usd == pytest.approx(20.15, abs=0.005)
    assert cost.low_usd == cost.amount_usd
    assert cost.high_usd == pytest.approx(48.42, abs=0.005)
    assert (cost.basis, cost.status) == ("hardware", "complete")


def test_the_published_example_at_concurrency_one() -> None:
    assert hardware_cost(TOKENS, 7_019, RATE, 1, WALL, 1).amount_usd == pytest.approx(45.55, abs=0.005)


def test_half_a_box_costs_half() -> None:
    assert hardware_cost(TOKENS, 15_868, RATE, 0.5, WALL, 5).amount_usd == pytest.approx(20.147304 / 2)


@pytest.mark.parametrize(("tokens", "speed"), [(None, 100.0), (1000, None), (1000, 0.0)])
def test_without_a_measurement_the_wall_time_is_split_evenly(tokens: int | None, speed: float | None) -> None:
    cost = hardware_cost(tokens, speed, 36, 1, 100, 4)
    assert (cost.amount_usd, cost.low_usd, cost.high_usd) == (0.25, 0.25, 1.0)
    assert "not measured" in cost.note


def test_tokens_that_are_a_lower_bound_make_the_cost_one() -> None:
    assert hardware_cost(1000, 10, 36, 1, 500, 1, completeness="lower_bound").status == "lower_bound"


def test_the_line_says_how_the_figure_came_about() -> None:
    cost = hardware_cost(1000, 10, 36, 0.5, 500, 2, source="config/pricing.yaml", date="2026-09")
    (line,) = cost.hardware
    assert line.tokens is not None
    assert line.tokens_per_second is not None
    assert line.amount_usd == pytest.approx(
        line.tokens / line.tokens_per_second * line.usd_per_hour / 3600 * line.share_of_box
    )
    assert (cost.source, cost.price_date) == ("config/pricing.yaml", "2026-09")


def test_without_throughput_and_wall_time_nothing_is_known() -> None:
    cost = hardware_cost(1_000, None, 8.0, 1.0, 0.0, 1)
    assert (cost.amount_usd, cost.status) == (None, "unknown")
