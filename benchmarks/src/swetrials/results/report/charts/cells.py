"""Grids of coloured cells with their figures: task by model, artifact by model, pair by pair, failures by kind."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from swetrials.results.report.charts.style import FONT_SIZE, PAPER, Layers, chart_of

CELL_WIDTH, CELL_HEIGHT = 31.0, 21.0


@dataclass(frozen=True)
class ChartCell:
    """One cell: a text, and the colours that it is drawn with."""

    row: str
    column: str
    text: str
    fill: str
    ink: str


@dataclass(frozen=True)
class Grid:
    """Rows and columns in their order. A place without a cell stays empty."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[ChartCell]
    title: str | None = None


def grid_chart(grid: Grid, *, heads: bool = True, upright: bool = True, cell_width: float = CELL_WIDTH) -> Layers:
    """Return the cells with the names of the rows on the left.

    Args:
        grid: what is drawn.
        heads: names of the columns on top.
        upright: these turned, where columns are narrower than their names.
        cell_width: in pixels.
    """
    x = alt.X(
        "column:N",
        title=None,
        sort=list(grid.columns),
        scale=alt.Scale(domain=list(grid.columns)),
        axis=alt.Axis(
            orient="top", labelAngle=-90 if upright else 0, labelPadding=6, ticks=False, domain=False, grid=False
        )
        if heads
        else None,
    )
    y = alt.Y(
        "row:N",
        title=None,
        sort=list(grid.rows),
        scale=alt.Scale(domain=list(grid.rows)),
        axis=alt.Axis(ticks=False, domain=False, grid=False, labelPadding=8),
    )
    values = [{"row": c.row, "column": c.column, "text": c.text, "fill": c.fill, "ink": c.ink} for c in grid.cells]
    base = chart_of(values).encode(x=x, y=y)
    chart = alt.layer(
        base.mark_rect(stroke=PAPER, strokeWidth=1.5).encode(fill=alt.Fill("fill:N", scale=None)),
        base.mark_text(fontSize=FONT_SIZE - 1).encode(text="text:N", color=alt.Color("ink:N", scale=None)),
    ).properties(width=alt.Step(cell_width), height=alt.Step(CELL_HEIGHT))
    if grid.title is None:
        return chart
    return chart.properties(title=alt.TitleParams(grid.title, orient="right", frame="group", offset=8))
