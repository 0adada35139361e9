"""Adding the costs of attempts."""

import pytest
from pydantic import ValidationError

from swetrials.records.cost import Cost

METERED = Cost(amount_usd=1.5, basis="metered", status="complete", reported_usd=2.0)


def test_known_costs_add_up() -> None:
    total = METERED + Cost(amount_usd=0.25, basis="metered", status="complete", reported_usd=0.5)
    assert total == Cost(amount_usd=1.75, basis="metered", status="complete", reported_usd=2.5)


def test_a_lower_bound_makes_the_sum_one() -> None:
    assert (METERED + Cost(amount_usd=1, basis="metered", status="lower_bound")).status == "lower_bound"


@pytest.mark.parametrize("total", [METERED + Cost(), Cost() + METERED])
def test_an_unknown_cost_leaves_the_sum_a_lower_bound_with_its_basis(total: Cost) -> None:
    assert total == METERED.model_copy(update={"status": "lower_bound"})


def test_unknown_costs_stay_unknown_and_never_become_zero() -> None:
    total = Cost() + Cost(reported_usd=3.0)
    assert (total.amount_usd, total.status, total.reported_usd) == (None, "unknown", 3.0)


def test_a_reported_figure_never_becomes_the_cost() -> None:
    assert (METERED + Cost(reported_usd=100.0)).amount_usd == METERED.amount_usd


@pytest.mark.parametrize("amount", [-0.01, float("nan"), float("inf")])
def test_impossible_amounts_are_refused(amount: float) -> None:
    with pytest.raises(ValidationError):
        Cost(amount_usd=amount)
