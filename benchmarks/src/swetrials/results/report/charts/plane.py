"""The plane of cost and score: its axes, where a figure lies in it, and the lines from points to their names."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log10

import altair as alt

from swetrials.results.report.charts.axes import dollar_axis
from swetrials.results.report.charts.labels import Box, Point
from swetrials.results.report.charts.style import MUTED, chart_of

_LEADER_FROM_PIXELS = 13.0


@dataclass(frozen=True)
class Plane:
    """A size in pixels and the axes' ends, with which figures become pixels and back; costs are logarithmic."""

    width: float
    height: float
    cheapest: float
    dearest: float
    lowest: float
    highest: float

    def axes(self, cost_title: str, score_title: str) -> tuple[alt.X, alt.Y]:
        """Return the axes of ``cost`` and ``score``."""
        return (
            alt.X(
                "cost:Q",
                title=cost_title,
                scale=alt.Scale(type="log", domain=[self.cheapest, self.dearest], nice=False),
                axis=dollar_axis(self.cheapest, self.dearest),
            ),
            alt.Y(
                "score:Q",
                title=score_title,
                scale=alt.Scale(domain=[self.lowest, self.highest], zero=False, nice=False),
            ),
        )

    def x(self, cost: float) -> float:
        """Return where a cost lies, in pixels from the left."""
        return self.width * log10(cost / self.cheapest) / self._decades

    def y(self, score: float) -> float:
        """Return where a score lies, in pixels from the top."""
        return self.height * (self.highest - score) / (self.highest - self.lowest)

    def figures(self, x: float, y: float) -> dict[str, float]:
        """Return the cost and the score that lie at a place in pixels."""
        score = self.highest - y / self.height * (self.highest - self.lowest)
        return {"cost": self.cheapest * 10 ** (x / self.width * self._decades), "score": score}

    def leaders(self, pairs: Iterable[tuple[Point, Box]], x: alt.X, y: alt.Y) -> alt.Chart:
        """Return the lines from points to the boxes of their names, where these are far away."""
        lines = [self._leader(point, box) for point, box in pairs if box.distance(point) > _LEADER_FROM_PIXELS]
        rules = chart_of(lines).mark_rule(color=MUTED, strokeWidth=0.7)
        leaders: alt.Chart = rules.encode(x=x, y=y, x2="to_cost:Q", y2="to_score:Q")
        return leaders

    @property
    def _decades(self) -> float:
        return log10(self.dearest / self.cheapest)

    def _leader(self, point: Point, box: Box) -> dict[str, float]:
        x = min(max(point.x, box.x - box.width / 2), box.x + box.width / 2)
        y = min(max(point.y, box.y - box.height / 2), box.y + box.height / 2)
        end = self.figures(x, y)
        return {**self.figures(point.x, point.y), "to_cost": end["cost"], "to_score": end["score"]}
