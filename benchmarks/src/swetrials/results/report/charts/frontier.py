"""What is ranked against cost, with the noise of both, and the line of what nothing else beats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from swetrials.records.leaderboard import Leaderboard, ModelStanding
from swetrials.results.ranking import WORDS
from swetrials.results.report.charts.axes import cost_title, dollar_ends
from swetrials.results.report.charts.hosting import HOSTINGS, SHAPES
from swetrials.results.report.charts.labels import Box, Point, place
from swetrials.results.report.charts.plane import Plane
from swetrials.results.report.charts.sizes import Size
from swetrials.results.report.charts.style import BLUE, FONT_SIZE, INK, MUTED, PAPER, Layers, chart_of

_BAR_PIXELS = 1.5
_MOST_NAMES = 30
"""Points that can all be named without a name lying over another."""

_MARGIN_POINTS, _MARGIN_DECADES = 2.0, 0.06
_LEAST_POINTS = 10.0
"""From end to end of the axis of what is ranked: a point alone is not drawn as if tenths of a point mattered."""


_FIRST, _SECOND, _BEATEN = "on the frontier", "on that of its own cost basis only", "beaten by another"


@dataclass(frozen=True)
class _Spot:
    """A line of the leaderboard on the chart."""

    standing: ModelStanding
    cost: float
    score: float
    costs: tuple[float, float]
    scores: tuple[float, float]

    @property
    def name(self) -> str:
        return f"{self.standing.label} (at least)" if self.standing.ranked_cost_is_lower_bound else self.standing.label

    @property
    def on_a_frontier(self) -> bool:
        return bool(self.standing.frontier_of_hosting.on_frontier or self.standing.frontier_combined.on_frontier)

    @property
    def values(self) -> dict[str, object]:
        on_own, on_combined = self.standing.frontier_of_hosting.on_frontier, self.standing.frontier_combined.on_frontier
        return {
            "cost": self.cost,
            "low_cost": self.costs[0],
            "high_cost": self.costs[1],
            "score": self.score,
            "low_score": self.scores[0],
            "high_score": self.scores[1],
            "hosting": HOSTINGS[self.standing.hosting],
            "place": _FIRST if on_combined else _SECOND if on_own else _BEATEN,
        }


def _spot(standing: ModelStanding) -> _Spot | None:
    cost, score = standing.ranked_cost_usd, standing.ranked
    if not cost.value or score.value is None:
        return None
    lowest_cost = cost.low or cost.value  # a logarithmic axis has no zero
    return _Spot(
        standing,
        cost.value,
        score.value,
        (lowest_cost, cost.value if cost.high is None else cost.high),
        (score.value if score.low is None else score.low, score.value if score.high is None else score.high),
    )


def has_a_place(standing: ModelStanding) -> bool:
    """Whether a line can be drawn: it has a figure to rank by, and a cost that is known and above nothing."""
    return _spot(standing) is not None


def names_all(board: Leaderboard) -> bool:
    """Whether the chart names each of its points; of too many it names those on a frontier alone."""
    return sum(map(has_a_place, board.standings)) <= _MOST_NAMES


def frontier_chart(board: Leaderboard, size: Size) -> Layers:
    """Return the chart of a board of which at least one line :func:`has_a_place`."""
    spots = [spot for standing in board.standings if (spot := _spot(standing))]
    plane = _plane(spots, size)
    x, y = plane.axes(cost_title(board), WORDS[board.rank_by].axis)
    models = chart_of([spot.values for spot in spots])
    noise = models.mark_rule(color=MUTED, opacity=0.45, strokeWidth=1.2)
    return alt.layer(
        _line(spots).encode(x=x, y=y),
        noise.encode(x=x, y="low_score:Q", y2="high_score:Q"),
        noise.encode(x="low_cost:Q", x2="high_cost:Q", y=y),
        *_names([spot for spot in spots if names_all(board) or spot.on_a_frontier], spots, plane, x, y),
        _points(models, spots, size).encode(x=x, y=y),
    ).properties(width=size.width, height=size.height)


def _plane(spots: Sequence[_Spot], size: Size) -> Plane:
    cheapest, dearest = dollar_ends(
        min(spot.costs[0] for spot in spots), max(spot.costs[1] for spot in spots), _MARGIN_DECADES
    )
    lowest, highest = min(spot.scores[0] for spot in spots), max(spot.scores[1] for spot in spots)
    margin = max(_MARGIN_POINTS, (_LEAST_POINTS - (highest - lowest)) / 2)
    highest = min(highest + margin, 100 + _MARGIN_POINTS)
    return Plane(size.width, size.height, cheapest, dearest, lowest - margin, highest)


def _line(spots: Sequence[_Spot]) -> alt.Chart:
    members = [spot.values for spot in spots if spot.standing.frontier_combined.on_frontier]
    line: alt.Chart = chart_of(members).mark_line(
        interpolate="step-after", color=BLUE, strokeWidth=1.2, strokeDash=[4, 3], opacity=0.8
    )
    return line


def _points(models: alt.Chart, spots: Sequence[_Spot], size: Size) -> alt.Chart:
    bases = [basis for basis in HOSTINGS if any(spot.standing.hosting == basis for spot in spots)]
    legend = alt.Legend(orient="top", columns=size.legend_columns, symbolSize=80, titleOrient="left")
    shapes = alt.Scale(domain=[HOSTINGS[basis] for basis in bases], range=[SHAPES[basis] for basis in bases])
    strokes = alt.Scale(domain=[_FIRST, _SECOND, _BEATEN], range=[BLUE, BLUE, MUTED])
    fills = alt.Scale(domain=[_FIRST, _SECOND, _BEATEN], range=[BLUE, PAPER, PAPER])
    points: alt.Chart = models.mark_point(size=80, opacity=1, strokeWidth=1.8).encode(
        shape=alt.Shape("hosting:N", title="cost from", scale=shapes, legend=_hollow(legend)),
        stroke=alt.Stroke("place:N", title=None, scale=strokes, legend=legend),
        fill=alt.Fill("place:N", title=None, scale=fills, legend=legend),
    )
    return points


def _hollow(legend: alt.Legend) -> alt.Legend:
    plain = legend.copy()
    plain.symbolFillColor, plain.symbolStrokeColor = PAPER, INK
    return plain


def _names(
    named: Sequence[_Spot], spots: Sequence[_Spot], plane: Plane, x: alt.X, y: alt.Y
) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """Return the leaders of the names that are far from their points, a halo for the names, and the names."""
    points = [Point(plane.x(spot.cost), plane.y(spot.score), spot.name) for spot in named]
    lines = [*_steps(spots, plane), *(bar for spot in spots for bar in _bars(spot, plane))]
    boxes = place(points, plane.width, plane.height, FONT_SIZE, lines)
    pairs = list(zip(points, boxes, strict=True))
    names = chart_of([{**plane.figures(box.x, box.y), "name": point.name} for point, box in pairs])
    return (
        plane.leaders(pairs, x, y),
        names.mark_text(stroke=PAPER, strokeWidth=3, strokeJoin="round").encode(x=x, y=y, text="name:N"),
        names.mark_text(color=INK).encode(x=x, y=y, text="name:N"),
    )


def _bars(spot: _Spot, plane: Plane) -> tuple[Box, Box]:
    """Return the bars of a point's noise."""
    left, right = (plane.x(cost) for cost in spot.costs)
    bottom, top = (plane.y(score) for score in spot.scores)
    return (
        Box((left + right) / 2, plane.y(spot.score), right - left, _BAR_PIXELS),
        Box(plane.x(spot.cost), (top + bottom) / 2, _BAR_PIXELS, bottom - top),
    )


def _steps(spots: Sequence[_Spot], plane: Plane) -> Iterator[Box]:
    """Yield the pieces of the frontier's line."""
    members = sorted((s for s in spots if s.standing.frontier_combined.on_frontier), key=lambda spot: spot.cost)
    for cheap, dear in pairwise(members):
        (left, low), (right, high) = ((plane.x(spot.cost), plane.y(spot.score)) for spot in (cheap, dear))
        yield Box((left + right) / 2, low, right - left, _BAR_PIXELS)
        yield Box(right, (low + high) / 2, _BAR_PIXELS, abs(low - high))
