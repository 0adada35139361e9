"""Axes of dollars: no figure stands beside an axis without numbers."""

from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.results.report.charts.axes import dollar_axis, dollar_ends

dollars = st.floats(0.0001, 10_000)


@given(dollars, dollars)
def test_there_are_always_two_ticks(one: float, other: float) -> None:
    low, high = sorted((one, other))
    begins, ends = dollar_ends(low, high, 0.05)
    assert begins < low <= high < ends
    assert len(dollar_axis(begins, ends).to_dict()["values"]) >= 2


def test_a_long_axis_gets_its_margin_and_no_more() -> None:
    begins, ends = dollar_ends(0.2, 20, 0.05)
    assert (log10(0.2 / begins), log10(ends / 20)) == pytest.approx((0.05, 0.05))
