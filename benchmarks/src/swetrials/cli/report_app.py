"""The command ``swetrials report``."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")],
    out: Annotated[Path, typer.Option(help="The page to write.", metavar="FILE")] = Path("report.html"),
    charts: Annotated[
        Path | None, typer.Option(help="Also write each chart as PNG and SVG here.", metavar="DIR")
    ] = None,
    tie_band: Annotated[
        float | None, typer.Option(min=0, help="Points within which two scores are equal; default: from the noise.")
    ] = None,
) -> None:
    """Write one page that answers which model to use for what, with charts; it needs no network."""
    from swetrials.cli import reporting

    raise typer.Exit(reporting.write(tree, out, charts, tie_band))
