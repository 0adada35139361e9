"""What the report of the published figures costs: 18 models on 21 tasks, ten charts, one page.

Start-up is no part of it; the drawing of the first chart, which starts the engine that draws them all, is.
"""

import multiprocessing
import tempfile
import time
from pathlib import Path

from figures import Figure

from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from swetrials.store.project import find_project

PUBLISHED_RUNS = find_project().root.parent / "docs" / "metrics" / "published-runs.csv"
ROUNDS = 3
MOST_SECONDS = 5.0
MOST_MEGABYTES = 3.0

Run = tuple[float, float, float, float]
"""Wall and processor seconds of the page, wall seconds of the PNGs, megabytes of the page."""


def measure() -> list[Figure]:
    """Make the report several times, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        write_tree(read_published_runs(PUBLISHED_RUNS, Defaults("omp", "swe3", "published")), tree)
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            runs = [pool.apply(_report, (tree,)) for _ in range(ROUNDS)]
    wall, processor, pictures, megabytes = (min(figures) for figures in zip(*runs, strict=True))
    return [
        Figure("the page, charts drawn", "s", None, wall, wall, "s", MOST_SECONDS),
        Figure("... processor", "s", None, processor, processor, "s"),
        Figure("ten PNGs beside it", "s", None, pictures, pictures, "s"),
        Figure("size of the page", "MB", None, megabytes, megabytes, "MB", MOST_MEGABYTES),
    ]


def _report(tree: Path) -> Run:
    from swetrials.results.report.page import report

    began, processor_began = time.perf_counter(), time.process_time()
    made = report(tree, tree.parent)
    html = made.html()
    wall, processor = time.perf_counter() - began, time.process_time() - processor_began
    began = time.perf_counter()
    for drawing in made.drawings:
        drawing.png()
    return wall, processor, time.perf_counter() - began, len(html.encode()) / 1e6
