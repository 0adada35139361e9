"""Every pair: how likely the one scores above the other, and where that cannot be told."""

from swetrials.records.leaderboard import Leaderboard, PairedDifference
from swetrials.reports.charts.cells import Cell, Grid, grid_chart
from swetrials.reports.charts.shades import BETTER, WORSE, ink_on, shade
from swetrials.reports.charts.style import INK, PANEL, Layers

TIED = "="


def pair_chart(board: Leaderboard) -> Layers:
    """Return the matrix: in each row, the chance in per cent that its model scores above the column's.

    The more points lie between the two, the darker; tied pairs are grey.
    """
    most = max((abs(pair.difference.value or 0.0) for pair in board.pairs), default=0.0) or 1.0
    cells = [
        _cell(board.standing(pair.a).label, board.standing(pair.b).label, pair, most)
        for once in board.pairs
        for pair in (once, once.reversed())
    ]
    labels = [standing.label for standing in board.standings]
    return grid_chart(Grid(labels, labels, cells))


def chance(pair: PairedDifference) -> str:
    """Return the chance that the first is better in per cent, marked where the two are tied; ``?``: not known.

    Resampling never proves a certainty, so that no chance is 0 or 100.
    """
    if pair.probability_a_better is None:
        return "?"
    per_cent = min(max(round(pair.probability_a_better * 100), 1), 99)
    return f"{TIED} {per_cent}" if pair.verdict == "tied" else str(per_cent)


def _cell(row: str, column: str, pair: PairedDifference, most: float) -> Cell:
    ramp = {"better": BETTER, "worse": WORSE}.get(pair.verdict)
    if ramp is None:
        return Cell(row, column, chance(pair), PANEL, INK)
    fill = shade(abs(pair.difference.value or 0.0) / most, ramp)
    return Cell(row, column, chance(pair), fill, ink_on(fill))
