"""The command ``swetrials compare``."""

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.judge_option import JudgeChosen


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="The folder of a run, or a model of --tree.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another run over the same tasks.")],
    tree: Annotated[Path, typer.Option(help="The results tree that names of models are looked up in.")] = Path(
        "swe-benchmark-data"
    ),
    tie_band: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Points within which two scores count as equal.", metavar="POINTS"),
    ] = None,
    judge: JudgeChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what two runs allow to be claimed and what would settle the rest, and set them side by side."""
    from swetrials.cli import comparing

    raise typer.Exit(comparing.show(first, second, tree, tie_band=tie_band, judge=judge, as_json=as_json))
