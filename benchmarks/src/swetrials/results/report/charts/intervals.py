"""Rows of figures with their intervals: what is ranked, costs, the tiers side by side."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import altair as alt

from swetrials.records.leaderboard import Estimate, Leaderboard
from swetrials.results.ranking import WORDS
from swetrials.results.report.charts.axes import cost_title, dollar_axis, dollar_ends, rows_axis
from swetrials.results.report.charts.hosting import HOSTINGS, SHAPES
from swetrials.results.report.charts.sizes import Size
from swetrials.results.report.charts.style import BLUE, ORANGE, PAPER, Layers, chart_of
from swetrials.results.report.tiers import tiers_of

_ROW_PIXELS = 21
_TIER_WIDTH = 165
_MARGIN_POINTS, _MARGIN_DECADES = 2.0, 0.045
_BELOW_PIXELS = 5
"""How far below the other one the second figure of a row is drawn."""


@dataclass(frozen=True)
class _Kind:
    """How figures of one kind are drawn."""

    name: str
    shape: str = "circle"
    colour: str = BLUE
    fill: str = BLUE
    shift: int = 0


@dataclass(frozen=True)
class _Row:
    """A known figure on the row of its name; without an interval the ends are the figure itself."""

    name: str
    kind: _Kind
    value: float
    low: float
    high: float


_RANKED = _Kind("completed trials alone")
_AS_ZERO = _Kind("a trial that failed counts 0", "diamond", ORANGE, PAPER, _BELOW_PIXELS)


def score_chart(board: Leaderboard, size: Size) -> Layers:
    """Return what each line is ranked by; below a mean score, the one with failures as 0 where it is another one."""
    ranked = list(_rows((s.label, _RANKED, s.ranked) for s in board.standings))
    zeros = [] if board.rank_by == "resolved" else [s for s in board.standings if s.failures]
    as_zero = list(_rows((s.label, _AS_ZERO, s.score_failures_as_zero) for s in zeros))
    labels = [s.label for s in board.standings]
    x = _score_axis([*ranked, *as_zero], WORDS[board.rank_by].short_axis)
    return _chart([*ranked, *as_zero], x, rows_axis(labels), size)


def cost_chart(board: Leaderboard, size: Size) -> Layers:
    """Return each mean cost that is known and above nothing, cheapest first, on a logarithmic axis."""
    priced = sorted(
        (s for s in board.standings if s.ranked_cost_usd.value), key=lambda s: s.ranked_cost_usd.value or 0.0
    )
    rows = list(_rows((s.label, _Kind(HOSTINGS[s.hosting], SHAPES[s.hosting]), s.ranked_cost_usd) for s in priced))
    low, high = dollar_ends(min(row.low or row.value for row in rows), max(row.high for row in rows), _MARGIN_DECADES)
    x = alt.X(
        "value:Q",
        title=cost_title(board),
        scale=alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        axis=dollar_axis(low, high),
    )
    return _chart(rows, x, rows_axis([row.name for row in rows]), size)


def tier_chart(board: Leaderboard) -> alt.HConcatChart:
    """Return what each line is ranked by in each tier, one panel a tier; a tier without such figures has none."""
    labels = [s.label for s in board.standings]
    panels = {
        tier: rows
        for tier in tiers_of(board)
        if (rows := list(_rows((s.label, _RANKED, s.tiers[tier].ranked) for s in board.standings if tier in s.tiers)))
    }
    x = _score_axis([row for rows in panels.values() for row in rows], WORDS[board.rank_by].mean)
    size = Size(_TIER_WIDTH)
    return alt.hconcat(
        *(
            _chart(rows, x, rows_axis(labels, named=number == 0), size).properties(
                title=alt.TitleParams(tier, anchor="middle")
            )
            for number, (tier, rows) in enumerate(panels.items())
        ),
        spacing=12,
    )


def _rows(figures: Iterable[tuple[str, _Kind, Estimate]]) -> Iterator[_Row]:
    for name, kind, figure in figures:
        if figure.value is not None:
            low = figure.value if figure.low is None else figure.low
            yield _Row(name, kind, figure.value, low, figure.value if figure.high is None else figure.high)


def _score_axis(rows: Sequence[_Row], title: str) -> alt.X:
    low = min((row.low for row in rows), default=0.0) - _MARGIN_POINTS
    high = max((row.high for row in rows), default=100.0) + _MARGIN_POINTS
    return alt.X("value:Q", title=title, scale=alt.Scale(domain=[max(low, 0.0), min(high, 100.0)], zero=False))


def _chart(rows: Sequence[_Row], x: alt.X, y: alt.Y, size: Size) -> Layers:
    """Return the figures with their intervals; a single kind of figures needs no legend."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    layers = [
        layer for kind in kinds for layer in _layers([row for row in rows if row.kind == kind], x, y, kinds, size)
    ]
    return alt.layer(*layers).properties(width=size.width, height=alt.Step(_ROW_PIXELS))


def _layers(
    rows: Sequence[_Row], x: alt.X, y: alt.Y, kinds: Sequence[_Kind], size: Size
) -> tuple[alt.Chart, alt.Chart]:
    kind, names = rows[0].kind, [one.name for one in kinds]
    values = [{"name": r.name, "kind": r.kind.name, "value": r.value, "low": r.low, "high": r.high} for r in rows]
    legend = alt.Legend(orient="top", columns=size.legend_columns) if len(kinds) > 1 else None

    def scale(looks: Sequence[str]) -> alt.Scale:
        return alt.Scale(domain=names, range=list(looks))

    start = x.copy()
    start.shorthand = "low:Q"
    marks = chart_of(values)
    intervals = marks.mark_rule(color=kind.colour, strokeWidth=2, opacity=0.5, yOffset=kind.shift)
    points = marks.mark_point(opacity=1, size=48, yOffset=kind.shift)
    return (
        intervals.encode(x=start, x2="high:Q", y=y),
        points.encode(
            x=x,
            y=y,
            shape=alt.Shape("kind:N", title=None, legend=legend, scale=scale([k.shape for k in kinds])),
            stroke=alt.Stroke("kind:N", title=None, legend=legend, scale=scale([k.colour for k in kinds])),
            fill=alt.Fill("kind:N", title=None, legend=legend, scale=scale([k.fill for k in kinds])),
        ),
    )
