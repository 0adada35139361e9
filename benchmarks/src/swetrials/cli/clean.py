"""``clean``: giving disk space back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.errors import KnownError

if TYPE_CHECKING:
    from swetrials.runs.clearing import Clearable, Sort

app = single_command()


@app.command(epilog="Example: swetrials clean --checkouts --trash --dry-run")
def clean(
    caches: Annotated[bool, typer.Option("--caches", help="Mirrors of repositories, downloads of installers.")] = False,
    checkouts: Annotated[bool, typer.Option("--checkouts", help="Kept checkouts and homes of attempts.")] = False,
    preparations: Annotated[
        bool, typer.Option("--preparations", help="What datasets' environments have prepared.")
    ] = False,
    trash: Annotated[bool, typer.Option("--trash", help="Earlier trials that were moved away.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="All four.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and remove nothing.")] = False,
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file.", metavar="FILE")] = None,
    output_dir: Annotated[str | None, typer.Option(help="Root of the results tree.")] = None,
    clone_dir: Annotated[str | None, typer.Option(help="Mirrors and checkouts; default: as for a run.")] = None,
) -> None:
    """Give disk space back; results, and whatever is in use, stay. Without a choice: show what there is."""
    from swetrials.runs.clearing import SORTS

    chosen = {"caches": caches, "checkouts": checkouts, "preparations": preparations, "trash": trash}
    sorts = [sort for sort in SORTS if chosen[sort] or everything]
    flags = {"output_dir": output_dir, "clone_dir": clone_dir}
    raise typer.Exit(clear(config, flags, sorts, dry_run=dry_run))


def clear(path: Path | None, flags: Mapping[str, object], sorts: Sequence[Sort], *, dry_run: bool) -> int:
    """Take away what was asked for, or show what there is.

    Returns:
        Exit code: 1 when something could not be removed; each is named.
    """
    from swetrials.runs.clearing import SORTS, clearables
    from swetrials.store.documents import load_config
    from swetrials.store.project import find_project

    found = clearables(load_config(path, os.environ, flags), find_project(), sorts or SORTS)
    for sort in sorts or SORTS:
        some = [clearable for clearable in found if clearable.sort == sort]
        print(f"{sort}: {_megabytes(sum(c.size_bytes for c in some))} in {len(some)} folders")
        for clearable in some:
            used = "  (in use, stays)" if clearable.in_use else ""
            print(f"  {_megabytes(clearable.size_bytes):>12}  {clearable.path}{used}")
    if not sorts:
        print("nothing was removed: say what to remove, --caches, --checkouts, --preparations, --trash or --all")
        return 0
    if dry_run:
        print("nothing was removed (--dry-run)")
        return 0
    return _remove([clearable for clearable in found if not clearable.in_use])


def _remove(found: Sequence[Clearable]) -> int:
    freed, failed = 0, 0
    for clearable in found:
        try:
            if clearable.clear():
                freed += clearable.size_bytes
            else:
                print(f"stays, somebody has begun to use it: {clearable.path}")
        except (KnownError, OSError) as error:
            failed += 1
            print(f"failed: {error}")
    print(f"freed: {_megabytes(freed)}")
    return 1 if failed else 0


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
