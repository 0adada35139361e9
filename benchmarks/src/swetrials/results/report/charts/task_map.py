"""Every task by every model."""

from collections.abc import Sequence

import altair as alt

from swetrials.records.leaderboard import Leaderboard
from swetrials.results.report.charts.cells import ChartCell, Grid, grid_chart
from swetrials.results.report.charts.shades import ink_on, score_shade
from swetrials.results.report.charts.style import INK, PANEL
from swetrials.results.report.tiers import tiers_of
from swetrials.results.task_grid import TaskCell, tasks_by_tier

FAILED, PARTLY, UNSCORED, NOT_VALID, VOID = "F", "*", "?", "-", "v"


def task_map(board: Leaderboard, cells: Sequence[TaskCell]) -> alt.VConcatChart:
    """Return what each task is ranked by, tier by tier, tasks that came out best on top, models by their place."""
    labels = {standing.key: standing.label for standing in board.standings}
    # Of shares the whole ramp tells more; a few points of score never span it.
    known = [cell.ranked for cell in cells if cell.ranked is not None]
    scores = [0.0, 100.0] if board.rank_by == "resolved" else known
    partly = "" if board.rank_by == "resolved" else PARTLY
    by_task: dict[str, list[ChartCell]] = {}
    for cell in cells:
        by_task.setdefault(cell.task, []).append(_cell(cell, labels[cell.candidate], scores, partly))
    grids = [
        Grid(tasks, list(labels.values()), [cell for task in tasks for cell in by_task[task]], tier)
        for tier, tasks in tasks_by_tier(cells, tiers_of(board)).items()
    ]
    return alt.vconcat(*(grid_chart(grid, heads=not number) for number, grid in enumerate(grids)), spacing=10)


def _cell(cell: TaskCell, label: str, scores: Sequence[float], partly: str) -> ChartCell:
    if cell.ranked is None:
        text = FAILED if cell.failed else NOT_VALID if cell.not_valid else VOID if cell.void else UNSCORED
        return ChartCell(cell.task, label, text, PANEL, INK)
    fill = score_shade(cell.ranked, scores)
    return ChartCell(cell.task, label, f"{cell.ranked:.0f}{partly if cell.failed else ''}", fill, ink_on(fill))
