"""The published figures as a results tree, and the report of it."""

from collections.abc import Callable
from pathlib import Path

from results.published_figures import published_rows, write_rows
from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs

Row = dict[str, str]
DEFAULTS = Defaults("omp", "swe3", "gateway", "somebody")


def as_it_is(row: Row) -> Row | None:
    return row


def published_tree(folder: Path, change: Callable[[Row], Row | None] = as_it_is) -> Path:
    """Import the published figures; ``change`` returns another row, or ``None`` to leave it out."""
    rows = [changed for row in published_rows() if (changed := change(row))]
    folder.mkdir(parents=True, exist_ok=True)
    write_tree(read_published_runs(write_rows(folder / "runs.csv", rows), DEFAULTS), folder / "tree")
    return folder / "tree"
