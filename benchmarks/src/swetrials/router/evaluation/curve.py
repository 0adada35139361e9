"""What following the router comes to at each floor, beside one model on everything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import altair as alt

from swetrials.records.router_evaluation import CurvePoint, PolicyTotals, RouterEvaluation
from swetrials.results.ranking import WORDS
from swetrials.results.report.charts.labels import Box, Point, place
from swetrials.results.report.charts.plane import Plane
from swetrials.results.report.charts.style import (
    BLUE,
    FONT_SIZE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    SKY,
    Layers,
    chart_of,
)

WIDTH, HEIGHT = 820.0, 430.0
SMALL_WIDTH, SMALL_HEIGHT = 365.0, 170.0
LABELLED_FLOORS = (55, 65, 70, 75, 80, 85)

_MARGIN_DECADES, _MARGIN_POINTS = 0.08, 2.5
_BEAD_PIXELS = 8.0
_FIXED = "one model on everything"
_SHAPES = {
    _FIXED: ("circle", MUTED),
    "router, judged floors": ("diamond", ORANGE),
    "oracle, judged floors": ("triangle-up", GREEN),
}


@dataclass(frozen=True)
class _Spot:
    """A point of the plane."""

    name: str
    kind: str
    cost: float
    score: float


def has_a_curve(evaluation: RouterEvaluation) -> bool:
    """Whether there is anything to draw: a floor at which both cost and score are known."""
    return any(_drawn(evaluation.curve))


def curve_chart(evaluation: RouterEvaluation) -> alt.VConcatChart:
    """Return the chart of an evaluation that :func:`has_a_curve`: the plane of cost and score, and both by floor."""
    axis = WORDS[evaluation.config.rank_by].short_axis
    by_floor = alt.hconcat(
        _by_floor(evaluation, "saved", "saved, of the baseline's cost (%)"),
        _by_floor(evaluation, "score", axis),
        spacing=40,
    )
    both: alt.VConcatChart = alt.vconcat(_plane(evaluation), by_floor, spacing=26)
    # Colours mean models above and what was known below: without this they would be one legend.
    apart: alt.VConcatChart = both.resolve_scale(stroke="independent", strokeDash="independent", shape="independent")
    return apart


def _plane(evaluation: RouterEvaluation) -> Layers:
    held_out = evaluation.config.holdout
    curve = [point for point in _drawn(evaluation.curve) if point.holdout == held_out]
    spots = [*_spots(evaluation)]
    plane = _plane_around([*((s.cost, s.score) for s in spots), *(_place_of(point) for point in curve)])
    x, y = plane.axes("total cost of all tasks (US dollars, logarithmic)", WORDS[evaluation.config.rank_by].short_axis)
    values = [{"cost": cost, "score": score, "floor": p.floor} for p in curve for cost, score in [_place_of(p)]]
    line = chart_of(values)
    kinds = list(dict.fromkeys(spot.kind for spot in spots))
    marks = chart_of([{"name": s.name, "kind": s.kind, "cost": s.cost, "score": s.score} for s in spots])
    legend = alt.Legend(orient="top", direction="horizontal", symbolSize=80)
    title = f"the router at floors {curve[0].floor:g} to {curve[-1].floor:g}, {'held out' if held_out else 'in sample'}"
    return alt.layer(
        line.mark_line(color=BLUE, strokeWidth=1.6).encode(x=x, y=y, order="floor:Q"),
        line.mark_point(color=BLUE, filled=True, size=26, opacity=1).encode(x=x, y=y),
        marks.mark_point(size=80, strokeWidth=1.8, fill=PAPER, opacity=1).encode(
            x=x,
            y=y,
            shape=alt.Shape(
                "kind:N", title=None, legend=legend, scale=alt.Scale(domain=kinds, range=[_SHAPES[k][0] for k in kinds])
            ),
            stroke=alt.Stroke(
                "kind:N", title=None, legend=legend, scale=alt.Scale(domain=kinds, range=[_SHAPES[k][1] for k in kinds])
            ),
        ),
        *_names(spots, curve, plane, x, y),
    ).properties(width=WIDTH, height=HEIGHT, title=alt.Title(f"Blue line: {title}", anchor="start", color=BLUE))


def _spots(evaluation: RouterEvaluation) -> Iterator[_Spot]:
    for line in evaluation.runs[0].fixed_models:
        yield from _spot(line, line.model or "", _FIXED)
    judged = next((run for run in evaluation.runs if run.floor is None), None)
    for line in judged.policies if judged else ():
        if line.policy in ("router", "oracle"):
            yield from _spot(line, line.policy, f"{line.policy}, judged floors")


def _spot(line: PolicyTotals, name: str, kind: str) -> Iterator[_Spot]:
    if line.total_cost_usd and line.mean_score is not None:
        yield _Spot(name, kind, line.total_cost_usd, line.mean_score)


def _drawn(curve: Sequence[CurvePoint]) -> Iterator[CurvePoint]:
    return (point for point in curve if point.total_cost_usd and point.mean_score is not None)


def _place_of(point: CurvePoint) -> tuple[float, float]:
    assert point.total_cost_usd is not None and point.mean_score is not None, "only such points are drawn"
    return point.total_cost_usd, point.mean_score


def _plane_around(places: Sequence[tuple[float, float]]) -> Plane:
    wide = 10**_MARGIN_DECADES
    costs, scores = [cost for cost, _ in places], [score for _, score in places]
    lowest, highest = max(0.0, min(scores) - _MARGIN_POINTS), max(scores) + _MARGIN_POINTS
    return Plane(WIDTH, HEIGHT, min(costs) / wide, max(costs) * wide, lowest, highest)


def _names(
    spots: Sequence[_Spot], curve: Sequence[CurvePoint], plane: Plane, x: alt.X, y: alt.Y
) -> Iterator[alt.Chart]:
    """Yield the leaders of names that are far from their points, the floors on the curve, and the names."""
    labelled = {_place_of(point): f"{point.floor:g}" for point in reversed(curve) if point.floor in LABELLED_FLOORS}
    points = [Point(plane.x(s.cost), plane.y(s.score), s.name) for s in spots]
    floors = [Point(plane.x(cost), plane.y(score), name) for (cost, score), name in labelled.items()]
    boxes = place([*points, *floors], WIDTH, HEIGHT, FONT_SIZE, list(_beads(curve, plane)))
    pairs = list(zip([*points, *floors], boxes, strict=True))
    yield plane.leaders(pairs, x, y)
    for colour, some in ((INK, pairs[: len(points)]), (BLUE, pairs[len(points) :])):
        names = chart_of([{**plane.figures(box.x, box.y), "name": point.name} for point, box in some])
        yield names.mark_text(stroke=PAPER, strokeWidth=3, strokeJoin="round").encode(x=x, y=y, text="name:N")
        yield names.mark_text(color=colour).encode(x=x, y=y, text="name:N")


def _beads(curve: Sequence[CurvePoint], plane: Plane) -> Iterator[Box]:
    """Yield small boxes along the curve, which names had better not cross."""
    for (x, y), (to_x, to_y) in pairwise((plane.x(cost), plane.y(score)) for cost, score in map(_place_of, curve)):
        steps = max(1, round(hypot(to_x - x, to_y - y) / _BEAD_PIXELS))
        for step in range(steps + 1):
            yield Box(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps, _BEAD_PIXELS, _BEAD_PIXELS)


def _by_floor(evaluation: RouterEvaluation, name: str, title: str) -> alt.Chart:
    values = [
        {
            "floor": point.floor,
            "saved": point.cost_saving_pct,
            "score": point.mean_score,
            "known": "held out" if point.holdout else "in sample",
        }
        for point in _drawn(evaluation.curve)
    ]
    unit = "%" if evaluation.config.rank_by == "resolved" else "points"
    known = list(dict.fromkeys(str(value["known"]) for value in values))
    scale = alt.Scale(domain=known, range=[BLUE, SKY][-len(known) :])
    dashes = alt.Scale(domain=known, range=[[1, 0], [4, 3]][-len(known) :])
    legend = alt.Legend(orient="top", direction="horizontal")
    line: alt.Chart = chart_of(values).mark_line(strokeWidth=1.6)
    chart: alt.Chart = line.encode(
        x=alt.X("floor:Q", title=f"floor of every task ({unit})", scale=alt.Scale(zero=False, nice=False)),
        y=alt.Y(f"{name}:Q", title=title, scale=alt.Scale(zero=False)),
        stroke=alt.Stroke("known:N", title=None, scale=scale, legend=legend),
        strokeDash=alt.StrokeDash("known:N", title=None, scale=dashes, legend=legend),
    ).properties(width=SMALL_WIDTH, height=SMALL_HEIGHT)
    return chart
