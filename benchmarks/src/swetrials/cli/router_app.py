"""The commands ``swetrials router``."""

from pathlib import Path
from typing import Annotated

import typer

router_app = typer.Typer(help="What the router knows of models.", no_args_is_help=True, rich_markup_mode=None)


@router_app.callback()
def _group() -> None:
    """Keep ``build`` a command of its own name while it is the only one."""


@router_app.command(
    epilog="Example: swetrials router build swe-benchmark-data --out ../.claude/skills/swe-router/models.json"
)
def build(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")],
    out: Annotated[Path | None, typer.Option(help="Write models.json here; default: print it.", metavar="FILE")] = None,
    scope: Annotated[str | None, typer.Option(help="Take trials of this scope alone.")] = None,
    skill: Annotated[str | None, typer.Option(help="Take trials of this skill alone.")] = None,
    agent: Annotated[str | None, typer.Option(help="Take trials of this agent alone.")] = None,
) -> None:
    """Work out models.json for the skill swe-router: each model's means, by tier, completion and frontier."""
    from swetrials.cli import router

    raise typer.Exit(router.build(tree, out, scope=scope, skill=skill, agent=agent))
