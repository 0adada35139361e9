"""``router build``: what the router knows of models, from trials."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import JudgeChosen, RankByChosen
from swetrials.cli.outputs import LeftOut, check_output

if TYPE_CHECKING:
    from swetrials.records.dataset import RankBy

app = single_command()


@app.command(epilog="Example: swetrials router build swe-benchmark-data --out ../.claude/skills/swe-router/models.json")
def router_build(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")],
    out: Annotated[Path | None, typer.Option(help="Write models.json here; default: print it.", metavar="FILE")] = None,
    scope: Annotated[str | None, typer.Option(help="Take trials of this scope alone.")] = None,
    skill: Annotated[str | None, typer.Option(help="Take trials of this skill alone.")] = None,
    agent: Annotated[str | None, typer.Option(help="Take trials of this agent alone.")] = None,
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
) -> None:
    """Work out models.json for the skill swe-router: each model's means, by tier, completion and frontier."""
    raise typer.Exit(build(tree, out, scope=scope, skill=skill, agent=agent, judge=judge, rank_by=rank_by))


def build(
    tree: Path,
    out: Path | None,
    *,
    scope: str | None,
    skill: str | None,
    agent: str | None,
    judge: str | None = None,
    rank_by: RankBy | None = None,
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
    from swetrials.cli.recovering import recover_below
    from swetrials.results.ranking import WORDS
    from swetrials.results.report.wording import counted
    from swetrials.results.results_tree import read_rows
    from swetrials.router.models import router_models
    from swetrials.store.files import to_json, write_record

    check_output("--out", out)
    recover_below(tree)
    left_out = LeftOut()
    built = router_models(read_rows(tree, left_out, judge, rank_by), scope=scope, skill=skill, agent=agent)
    if out is None:
        print(to_json(built).decode(), end="")
    else:
        write_record(out, built)
    of = built.provenance
    tasks = sum(of.tasks_by_tier.values())
    print(
        f"{out or 'models.json'}: {counted(len(built.models), 'model')}, {counted(of.trials, 'trial')}, "
        f"{counted(tasks, 'task')} of {of.scope} with {of.agent} and {of.skill}, by {WORDS[built.rank_by].figure}",
        file=sys.stderr,
    )
    if built.rehearsal:
        print("these are figures of a rehearsal: they say nothing about any model", file=sys.stderr)
    return 1 if left_out.count else 0
