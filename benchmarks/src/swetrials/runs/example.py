"""The example that a newcomer looks at before a first run: the published figures as a results tree."""

from pathlib import Path

from swetrials.results.published.importing import ImportingError, write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from swetrials.store.project import Project

FOLDER = Path("example-report")
"""Where the example is made unless another page is named; git ignores it."""

_DEFAULTS = Defaults(
    agent="omp",
    skill="swe3",
    scope="mcp-gateway-registry-v2",
    source="aarora79/agentic-coding-harness-benchmarks (MIT-0), August and September 2026",
)
"""What the columns of the file do not say; ``docs/metrics/README.md`` tells where the figures are from."""


def example_tree(project: Project) -> Path:
    """Return the tree of the published figures; it is made in :data:`FOLDER` where it is not there yet.

    It has its own folder, wherever the page is to be: several hundred files are not strewn about beside it.

    Raises:
        ImportingError: there is something else in its place.
        OSError: the folder cannot be written.
    """
    tree = FOLDER / "results"
    trials = read_published_runs(project.metrics / "published-runs.csv", _DEFAULTS)
    try:
        write_tree(trials, tree)
    except ImportingError:
        raise ImportingError(
            f"{tree}: the published figures belong here, and something else is in its place; move it away"
        ) from None
    return tree
