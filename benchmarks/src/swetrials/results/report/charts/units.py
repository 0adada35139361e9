"""What each model's artifacts are worth."""

from swetrials.records.evaluation import UNITS
from swetrials.records.leaderboard import Leaderboard
from swetrials.results.report.charts.cells import ChartCell, Grid, grid_chart
from swetrials.results.report.charts.shades import ink_on, score_shade
from swetrials.results.report.charts.style import Layers

UNIT_NAMES = {
    "github_issue": "issue",
    "lld": "design",
    "review": "review",
    "testing": "test plan",
    "implementation": "patch",
}
_CELL_WIDTH = 74.0


def unit_chart(board: Leaderboard) -> Layers:
    """Return each line's mean score of each artifact."""
    means = {
        (standing.label, UNIT_NAMES.get(unit, unit)): estimate.value
        for standing in board.standings
        for unit, estimate in standing.units.items()
        if estimate.value is not None
    }
    cells = []
    for (label, unit), mean in means.items():
        fill = score_shade(mean, list(means.values()))
        cells.append(ChartCell(label, unit, f"{mean:.0f}", fill, ink_on(fill)))
    units = [UNIT_NAMES[unit] for unit in UNITS if any(unit in standing.units for standing in board.standings)]
    labels = [s.label for s in board.standings if s.units]
    return grid_chart(Grid(labels, units, cells), cell_width=_CELL_WIDTH, upright=False)
