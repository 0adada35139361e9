"""Adding the costs of attempts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from swetrials.records.cost import Cost, TokenLine

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


def test_lines_of_one_price_become_one_and_others_stay_apart() -> None:
    first, second, dearer = line(100, 5.0), line(50, 5.0), line(1, 10.0)
    total = Cost(lines=(first, dearer)) + Cost(lines=(second,))
    assert [(part.tokens, part.usd_per_million) for part in total.lines] == [(150, 5.0), (1, 10.0)]
    assert total.lines[0].amount_usd == pytest.approx(150 * 5 / 1e6)


def test_a_single_figure_counts_at_both_ends_of_a_range() -> None:
    total = METERED + Cost(amount_usd=2, basis="hardware", status="complete", low_usd=2, high_usd=5)
    assert (total.amount_usd, total.low_usd, total.high_usd, total.basis) == (3.5, 3.5, 6.5, "mixed")


def line(tokens: int, rate: float | None) -> TokenLine:
    amount = None if rate is None else tokens * rate / 1e6
    return TokenLine(model="m", bucket="output", tokens=tokens, usd_per_million=rate, amount_usd=amount)


AMOUNTS = st.none() | st.floats(0, 1000).map(lambda amount: round(amount, 4))
NOTES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3, unique=True).map(lambda parts: "; ".join(sorted(parts)))


@st.composite
def costs(draw: st.DrawFn) -> Cost:
    amount = draw(AMOUNTS)
    wide = amount is not None and draw(st.booleans())
    lines = draw(st.lists(st.tuples(st.integers(1, 10**9), st.sampled_from([None, 1.0, 2.5])), max_size=3))
    return Cost(
        amount_usd=amount,
        basis="none" if amount is None else draw(st.sampled_from(["metered", "hardware", "free"])),
        status="unknown" if amount is None else draw(st.sampled_from(["complete", "lower_bound"])),
        reported_usd=draw(AMOUNTS),
        note=draw(NOTES),
        source=draw(NOTES),
        price_date=draw(st.none() | st.sampled_from(["2026-09", "2026-11-10"])),
        low_usd=amount if wide else None,
        high_usd=amount * 2 if wide and amount is not None else None,
        lines=sum((Cost(lines=(line(tokens, rate),)) for tokens, rate in lines), Cost()).lines,
    )


def rounded(cost: Cost) -> dict[str, object]:
    """Return a cost as values, its floats to six digits: the order of additions shows in the sixteenth."""

    def settle(value: object) -> object:
        match value:
            case float():
                return round(value, 6)
            case dict():
                return {key: settle(inner) for key, inner in value.items()}
            case list() | tuple():
                return [settle(inner) for inner in value]
            case _:
                return value

    return {key: settle(value) for key, value in cost.model_dump().items()}


@given(costs(), costs())
def test_the_order_of_two_parts_does_not_matter(first: Cost, second: Cost) -> None:
    assert rounded(first + second) == rounded(second + first)


@given(costs(), costs(), costs())
def test_the_grouping_of_parts_does_not_matter(first: Cost, second: Cost, third: Cost) -> None:
    assert rounded((first + second) + third) == rounded(first + (second + third))


@given(st.lists(costs(), min_size=2, max_size=5))
def test_a_sum_is_known_only_as_far_as_its_parts_are(parts: list[Cost]) -> None:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    unknown = [part for part in parts if part.amount_usd is None]
    assert (total.amount_usd is None) == (len(unknown) == len(parts))
    if total.amount_usd is not None:
        assert total.amount_usd == pytest.approx(sum(part.amount_usd or 0 for part in parts))
        whole = not unknown and all(part.status == "complete" for part in parts)
        assert total.status == ("complete" if whole else "lower_bound")
