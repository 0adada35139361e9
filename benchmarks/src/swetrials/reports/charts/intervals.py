"""Rows of figures with their intervals: scores, costs, the tiers side by side."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import altair as alt

from swetrials.records.leaderboard import Estimate, Leaderboard
from swetrials.reports.charts.axes import dollar_axis, rows_axis
from swetrials.reports.charts.hosting import HOSTINGS, SHAPES
from swetrials.reports.charts.style import BLUE, INK, ORANGE, PAPER, Layers, chart_of
from swetrials.reports.tiers import tiers_of

_ROW_PIXELS = 21
_WIDTH = 600
_TIER_WIDTH = 165
_MARGIN_POINTS = 2.0
_BELOW_PIXELS = 5
"""How far below the other one the second figure of a row is drawn."""

_COMPLETED, _AS_ZERO = "completed trials alone", "a trial that failed counts 0"


@dataclass(frozen=True)
class _Row:
    """A known figure on the row of its name; without an interval the ends are the figure itself."""

    name: str
    kind: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class _Look:
    """How figures of one colour are drawn."""

    colour: str = BLUE
    fill: str = BLUE
    shift: int = 0


def score_chart(board: Leaderboard) -> Layers:
    """Return each line's mean score, and below it the mean with failures as 0 where it is another one."""
    completed = list(_rows((s.label, _COMPLETED, s.score) for s in board.standings))
    as_zero = list(_rows((s.label, _AS_ZERO, s.score_failures_as_zero) for s in board.standings if s.failures))
    labels = [s.label for s in board.standings]
    x = _score_axis([*completed, *as_zero], "mean score (0 to 100)")
    shape = _shape({_COMPLETED: "circle", _AS_ZERO: "diamond"} if as_zero else {_COMPLETED: "circle"})
    layers = _dots(completed, x, rows_axis(labels), shape, _Look())
    if as_zero:
        layers += _dots(as_zero, x, rows_axis(labels), shape, _Look(ORANGE, PAPER, _BELOW_PIXELS))
    return alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(_ROW_PIXELS))


def cost_chart(board: Leaderboard) -> Layers:
    """Return each mean cost that is known and above nothing, cheapest first, on a logarithmic axis."""
    priced = sorted((s for s in board.standings if s.cost_usd.value), key=lambda s: s.cost_usd.value or 0.0)
    rows = list(_rows((s.label, HOSTINGS[s.hosting], s.cost_usd) for s in priced))
    low, high = min(row.low or row.value for row in rows) * 0.9, max(row.high for row in rows) * 1.1
    x = alt.X(
        "value:Q",
        title="mean cost of a completed trial (US dollars, logarithmic)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        axis=dollar_axis(low, high),
    )
    shape = _shape({HOSTINGS[basis]: SHAPES[basis] for basis in HOSTINGS if any(s.hosting == basis for s in priced)})
    layers = _dots(rows, x, rows_axis([row.name for row in rows]), shape, _Look())
    return alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(_ROW_PIXELS))


def tier_chart(board: Leaderboard) -> alt.HConcatChart:
    """Return each line's mean score in each tier, one panel a tier."""
    labels = [s.label for s in board.standings]
    panels = {
        tier: list(_rows((s.label, _COMPLETED, s.tiers[tier].score) for s in board.standings if tier in s.tiers))
        for tier in tiers_of(board)
    }
    x = _score_axis([row for rows in panels.values() for row in rows], "mean score")
    shape = _shape({_COMPLETED: "circle"})
    return alt.hconcat(
        *(
            alt.layer(*_dots(rows, x, rows_axis(labels, named=number == 0), shape, _Look())).properties(
                width=_TIER_WIDTH, height=alt.Step(_ROW_PIXELS), title=alt.TitleParams(tier, anchor="middle")
            )
            for number, (tier, rows) in enumerate(panels.items())
        ),
        spacing=12,
    )


def _rows(figures: Iterable[tuple[str, str, Estimate]]) -> Iterator[_Row]:
    for name, kind, figure in figures:
        if figure.value is not None:
            low = figure.value if figure.low is None else figure.low
            yield _Row(name, kind, figure.value, low, figure.value if figure.high is None else figure.high)


def _score_axis(rows: Sequence[_Row], title: str) -> alt.X:
    low = min((row.low for row in rows), default=0.0) - _MARGIN_POINTS
    high = max((row.high for row in rows), default=100.0) + _MARGIN_POINTS
    return alt.X("value:Q", title=title, scale=alt.Scale(domain=[max(low, 0.0), min(high, 100.0)], zero=False))


def _shape(shapes: dict[str, str]) -> alt.Shape:
    """Return what tells kinds of figures apart; a single kind needs no legend."""
    legend = alt.Legend(orient="top", symbolStrokeColor=INK, symbolFillColor=PAPER) if len(shapes) > 1 else None
    return alt.Shape(
        "kind:N", title=None, scale=alt.Scale(domain=list(shapes), range=list(shapes.values())), legend=legend
    )


def _dots(rows: Sequence[_Row], x: alt.X, y: alt.Y, shape: alt.Shape, look: _Look) -> list[alt.Chart]:
    """Return the intervals and the figures."""
    data = chart_of([asdict(row) for row in rows])
    start = x.copy()
    start.shorthand = "low:Q"
    intervals = data.mark_rule(color=look.colour, strokeWidth=2, opacity=0.5, yOffset=look.shift)
    points = data.mark_point(fill=look.fill, stroke=look.colour, opacity=1, size=48, yOffset=look.shift)
    return [intervals.encode(x=start, x2="high:Q", y=y), points.encode(x=x, y=y, shape=shape)]
