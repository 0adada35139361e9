"""The commands ``swetrials router``."""

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.judge_option import JudgeChosen
from swetrials.cli.lean import LeanGroup
from swetrials.cli.options import with_config_keys
from swetrials.cli.router_evaluate_app import EXAMPLE, evaluate

router_app = typer.Typer(
    cls=LeanGroup, help="What the router knows of models.", no_args_is_help=True, rich_markup_mode=None
)


@router_app.command(
    epilog="Example: swetrials router build swe-benchmark-data --out ../.claude/skills/swe-router/models.json"
)
def build(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")],
    out: Annotated[Path | None, typer.Option(help="Write models.json here; default: print it.", metavar="FILE")] = None,
    scope: Annotated[str | None, typer.Option(help="Take trials of this scope alone.")] = None,
    skill: Annotated[str | None, typer.Option(help="Take trials of this skill alone.")] = None,
    agent: Annotated[str | None, typer.Option(help="Take trials of this agent alone.")] = None,
    judge: JudgeChosen = None,
) -> None:
    """Work out models.json for the skill swe-router: each model's means, by tier, completion and frontier."""
    from swetrials.cli import router

    raise typer.Exit(router.build(tree, out, scope=scope, skill=skill, agent=agent, judge=judge))


@router_app.command(
    epilog="Example: swetrials router inputs --agent claude --provider bedrock --model us.anthropic.claude-opus-5"
    " --aws-region us-east-1 --dataset dataset/mcp-gateway-registry.yaml --repeats 3"
)
@with_config_keys
def inputs(
    flags: dict[str, object],
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file.", metavar="FILE")] = None,
    out_json: Annotated[
        Path | None,
        typer.Option(
            help="Default: swe-router-judged-inputs-<agent>.json in docs/metrics; a rehearsal's in the results tree.",
            metavar="FILE",
        ),
    ] = None,
    out_md: Annotated[
        Path | None,
        typer.Option(help="The page; default: beside the JSON, or above it, where that is metrics/.", metavar="FILE"),
    ] = None,
    render: Annotated[
        Path | None, typer.Option(help="Make the page on this JSON again, and run nothing.", metavar="JSON")
    ] = None,
    skip_probe: Annotated[bool, typer.Option("--skip-probe", help="Make no test call before the first one.")] = False,
    keep_checkouts: Annotated[bool, typer.Option("--keep-checkouts", help="Keep checkouts and homes.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Show what the agents do while they do it.")] = False,
) -> None:
    """Have an agent judge what the router needs to know of each task: floor and tier, --repeats times.

    It reads in a checkout and changes nothing. Each judgment is kept as it ends; the same command goes on with those
    that are missing. For a fresh start, move the JSON away.
    """
    from swetrials.cli import judged_inputs
    from swetrials.runs.benchmark import RunOptions

    if render is not None:
        raise typer.Exit(judged_inputs.render(render, out_md))
    options = RunOptions(yes=True, skip_probe=skip_probe, keep_checkouts=keep_checkouts)
    raise typer.Exit(judged_inputs.judge(config, flags, options, out_json, out_md, stream=stream))


router_app.command(epilog=EXAMPLE)(evaluate)
