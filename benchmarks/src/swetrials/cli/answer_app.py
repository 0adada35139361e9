"""The command ``swetrials answer``."""

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.judge_option import JudgeChosen


def answer(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")] = Path("swe-benchmark-data"),
    judge: JudgeChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say in a few sentences what a results tree answers, and what of the answer is not earned yet."""
    from swetrials.cli import answering

    raise typer.Exit(answering.show(tree, judge, as_json=as_json))
