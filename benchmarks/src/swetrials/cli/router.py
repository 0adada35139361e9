"""``router build``: what the router knows of models, from trials."""

import sys
from pathlib import Path

from swetrials.cli.outputs import LeftOut, check_output
from swetrials.cli.recovering import recover_below
from swetrials.results.report.wording import counted
from swetrials.results.results_tree import read_rows
from swetrials.router.models import router_models
from swetrials.store.files import to_json, write_record


def build(
    tree: Path, out: Path | None, *, scope: str | None, skill: str | None, agent: str | None, judge: str | None = None
) -> int:
    """Write models.json, or print it.

    Trials that cannot be read are named on standard error; the others make the figures.

    Returns:
        Exit code: 1 when something had to be left out.

    Raises:
        ResultsTreeError: there is no trial to read.
        RouterModelsError: the trials make no one set of figures.
        UsageError: ``out`` cannot become a file.
    """
    check_output("--out", out)
    recover_below(tree)
    left_out = LeftOut()
    built = router_models(read_rows(tree, left_out, judge), scope=scope, skill=skill, agent=agent)
    if out is None:
        print(to_json(built).decode(), end="")
    else:
        write_record(out, built)
    of = built.provenance
    tasks = sum(of.tasks_by_tier.values())
    print(
        f"{out or 'models.json'}: {counted(len(built.models), 'model')}, {counted(of.trials, 'trial')}, "
        f"{counted(tasks, 'task')} of {of.scope} with {of.agent} and {of.skill}",
        file=sys.stderr,
    )
    if built.rehearsal:
        print("these are figures of a rehearsal: they say nothing about any model", file=sys.stderr)
    return 1 if left_out.count else 0
