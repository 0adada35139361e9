"""What became of the trials that did not complete."""

from collections import Counter

from swetrials.records.leaderboard import Leaderboard, ModelStanding
from swetrials.results.report.charts.cells import ChartCell, Grid, grid_chart
from swetrials.results.report.charts.shades import COUNTS, ink_on, shade
from swetrials.results.report.charts.style import Layers

_CELL_WIDTH = 118.0


def failure_chart(board: Leaderboard) -> Layers:
    """Return the failures of each line by kind, most frequent kind first; lines without any are left out."""
    kinds = failure_kinds(board)
    most = max(count for standing in board.standings for count in counted(standing).values())
    cells = []
    for standing in board.standings:
        for kind, count in counted(standing).items():
            fill = shade((count - 1) / (most - 1) if most > 1 else 0.0, COUNTS)
            cells.append(ChartCell(standing.label, kind.replace("_", " "), str(count), fill, ink_on(fill)))
    labels = [s.label for s in board.standings if counted(s)]
    columns = [kind.replace("_", " ") for kind in kinds]
    return grid_chart(Grid(labels, columns, cells), cell_width=_CELL_WIDTH, upright=False)


def failure_kinds(board: Leaderboard) -> list[str]:
    """Return the kinds of outcome other than completed, most frequent first."""
    total = sum((counted(standing) for standing in board.standings), Counter())
    return sorted(total, key=lambda kind: (-total[kind], kind))


def counted(standing: ModelStanding) -> Counter[str]:
    """Return all failures of a line by kind, whoever's account they are on."""
    return Counter(standing.failures) + Counter(standing.other_failures)
