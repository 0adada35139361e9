"""The command ``swetrials clean``."""

from pathlib import Path
from typing import Annotated

import typer


def clean(
    caches: Annotated[bool, typer.Option("--caches", help="Mirrors of repositories, downloads of installers.")] = False,
    checkouts: Annotated[bool, typer.Option("--checkouts", help="Kept checkouts and homes of attempts.")] = False,
    trash: Annotated[bool, typer.Option("--trash", help="Earlier trials that were moved away.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All three.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and remove nothing.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file.", metavar="FILE")] = None,
    output_dir: Annotated[str | None, typer.Option(help="Root of the results tree.")] = None,
    clone_dir: Annotated[str | None, typer.Option(help="Mirrors and checkouts; default: as for a run.")] = None,
) -> None:
    """Give disk space back; results, and whatever is in use, stay. Without a choice: show what there is."""
    from swetrials.cli import cleaning
    from swetrials.runs.clearing import SORTS

    chosen = {"caches": caches, "checkouts": checkouts, "trash": trash}
    sorts = [sort for sort in SORTS if chosen[sort] or everything]
    flags = {"output_dir": output_dir, "clone_dir": clone_dir}
    raise typer.Exit(cleaning.clean(config, flags, sorts, dry_run=dry_run))
