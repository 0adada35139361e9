"""Axes that more than one chart has."""

from collections.abc import Sequence
from math import ceil, floor, log10

import altair as alt

from swetrials.records.leaderboard import Leaderboard
from swetrials.results.ranking import WORDS

_STEPS = (1.0, 2.0, 5.0)
_DOLLARS = (
    "datum.value >= 1 ? format(datum.value, '$,~f') : datum.value >= 0.1 ? format(datum.value, '$.2f') "
    ": '$' + format(datum.value, '~g')"
)

_TWO_TICKS_DECADES = 0.7
"""Wherever it begins, so much of an axis has two ticks: from just above 2 it is 5 and 10."""


def cost_title(board: Leaderboard) -> str:
    """Return the title of an axis of mean costs."""
    return f"mean cost of a {WORDS[board.rank_by].trial} (US dollars, log)"


def dollar_ends(low: float, high: float, margin_decades: float) -> tuple[float, float]:
    """Return the ends of a logarithmic axis: a margin beyond its figures, and never too short for two ticks."""
    margin = max(margin_decades, (_TWO_TICKS_DECADES - log10(high / low)) / 2)
    return low / 10**margin, high * 10**margin


def dollar_axis(low: float, high: float) -> alt.Axis:
    """Return a logarithmic axis from ``low`` to ``high`` US dollars, with ticks at 1, 2 and 5 of each decade."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [tick for decade in decades for step in _STEPS if low <= (tick := step * 10.0**decade) <= high]
    return alt.Axis(values=ticks, labelExpr=_DOLLARS)


def rows_axis(names: Sequence[str], *, named: bool = True) -> alt.Y:
    """Return an axis with one row for each name, in their order."""
    axis = alt.Axis(labels=named, ticks=False, domain=False, grid=True, labelPadding=8)
    return alt.Y("name:N", title=None, sort=list(names), scale=alt.Scale(domain=list(names)), axis=axis)
