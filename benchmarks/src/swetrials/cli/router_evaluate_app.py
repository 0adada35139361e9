"""The command ``swetrials router evaluate``."""

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.judge_option import JudgeChosen

EXAMPLE = (
    "Example: swetrials router evaluate --data swe-benchmark-data --holdout --floor-sweep 55,65,70,75 "
    "--out-md evaluation.md"
)


def evaluate(
    data: Annotated[Path, typer.Option(help="A results tree, or any folder in one.", metavar="TREE")] = Path(
        "swe-benchmark-data"
    ),
    harness: Annotated[str | None, typer.Option(help="Take trials of this agent alone.", metavar="AGENT")] = None,
    skill: Annotated[str | None, typer.Option(help="Take trials of this skill alone.")] = None,
    scope: Annotated[str | None, typer.Option(help="Take trials of this scope alone.")] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="Take tasks and tiers from this dataset; default: the trials' own.")
    ] = None,
    judged_inputs: Annotated[
        Path | None, typer.Option(help="Floor and tier of each task, as CSV or JSON.", metavar="FILE")
    ] = None,
    floor: Annotated[float | None, typer.Option(help="One floor for every task, 0 to 100.")] = None,
    floor_sweep: Annotated[
        str | None, typer.Option(help="Several floors, one run each; the default: 55,65,70,75.", metavar="A,B")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Route each task by means that its own trials are not in.")
    ] = False,
    no_allow_list: Annotated[bool, typer.Option("--no-allow-list", help="Allow every measured model.")] = False,
    allowed_file: Annotated[Path | None, typer.Option(help="Another allow list than the skill's.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this model; default: the highest mean score.", metavar="MODEL")
    ] = None,
    available: Annotated[str | None, typer.Option(help="Models that can be had; default: all.", metavar="A,B")] = None,
    tie_band: Annotated[float | None, typer.Option(min=0, max=100, help="Points; default: the rule's own.")] = None,
    judge: JudgeChosen = None,
    out_json: Annotated[Path | None, typer.Option(help="Write the record here.", metavar="FILE")] = None,
    out_md: Annotated[
        Path | None, typer.Option(help="Write the page here, and its chart beside it.", metavar="FILE")
    ] = None,
) -> None:
    """Tell what following the router would have cost and scored, on tasks that every model has done."""
    from swetrials.cli import router_evaluating
    from swetrials.router.evaluation.evaluate import EvaluationRequest

    request = EvaluationRequest(
        data=data,
        harness=harness,
        skill=skill,
        scope=scope,
        dataset=dataset,
        judged_inputs=judged_inputs,
        floors=router_evaluating.floors(floor, floor_sweep, judged_inputs),
        holdout=holdout,
        allowed_file=allowed_file,
        no_allow_list=no_allow_list,
        available=router_evaluating.names("--available", available),
        baseline=baseline,
        tie_band=tie_band,
        judge=judge,
    )
    raise typer.Exit(router_evaluating.run(request, out_json, out_md))
