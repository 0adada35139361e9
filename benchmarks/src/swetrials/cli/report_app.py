"""The command ``swetrials report``."""

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.judge_option import JudgeChosen


def report(
    tree: Annotated[Path | None, typer.Argument(help="A results tree, or any folder in one.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page to write; default: report.html, the example's in example-report/.", metavar="FILE"),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(help="Also write each chart as PNG and SVG here.", metavar="DIR")
    ] = None,
    tie_band: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Points within which two scores are equal; default: from the noise."),
    ] = None,
    judge: JudgeChosen = None,
    example: Annotated[
        bool, typer.Option("--example", help="Report the published figures that come with the project.")
    ] = False,
) -> None:
    """Write one page that answers which model to use for what, with charts; it needs no network."""
    from swetrials.cli import reporting

    if (tree is None) != example:
        raise typer.BadParameter("name a results tree, or give --example; one of the two")
    if tree is None:
        raise typer.Exit(reporting.write_example(out, charts, tie_band))
    raise typer.Exit(reporting.write(tree, out or Path("report.html"), charts, tie_band, judge))
