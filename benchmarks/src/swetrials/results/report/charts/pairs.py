"""Every pair: by how much the one is ranked above the other, and where that cannot be told."""

from swetrials.records.leaderboard import Leaderboard, PairedDifference
from swetrials.results.report.charts.cells import ChartCell, Grid, grid_chart
from swetrials.results.report.charts.shades import BETTER, WORSE, ink_on, shade
from swetrials.results.report.charts.style import INK, PANEL, Layers

TIED = "="
UNTOLD = "?"


def pair_chart(board: Leaderboard) -> Layers:
    """Return the matrix: in each row, by how many points its model is ranked above the column's.

    The more points lie between the two, the darker; tied pairs are grey and tell none.
    """
    most = max((abs(pair.difference.value or 0.0) for pair in board.pairs), default=0.0) or 1.0
    cells = [
        _cell(board.standing(pair.a).label, board.standing(pair.b).label, pair, most)
        for once in board.pairs
        for pair in (once, once.reversed())
    ]
    labels = [standing.label for standing in board.standings]
    return grid_chart(Grid(labels, labels, cells))


def told(pair: PairedDifference) -> str:
    """Return the points between the two with their sign, or the mark of what is tied or not known."""
    if pair.verdict == "tied":
        return TIED
    return UNTOLD if pair.verdict == "unknown" else f"{pair.difference.value:+.0f}"


def _cell(row: str, column: str, pair: PairedDifference, most: float) -> ChartCell:
    ramp = {"better": BETTER, "worse": WORSE}.get(pair.verdict)
    if ramp is None:
        return ChartCell(row, column, told(pair), PANEL, INK)
    fill = shade(abs(pair.difference.value or 0.0) / most, ramp)
    return ChartCell(row, column, told(pair), fill, ink_on(fill))
