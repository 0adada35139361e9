"""The commands ``swetrials import`` and ``swetrials results``."""

from pathlib import Path
from typing import Annotated

import typer


def import_(
    file: Annotated[Path, typer.Argument(help="CSV with a row a trial; columns: docs/metrics/README.md.")],
    into: Annotated[Path, typer.Option(help="Folder for the results tree; a new or an empty one.", metavar="DIR")],
    agent: Annotated[str, typer.Option(help="Agent of rows without a column agent.")] = "omp",
    skill: Annotated[str, typer.Option(help="Skill of rows without a column skill.")] = "swe3",
    scope: Annotated[str, typer.Option(help="Scope of rows without a column scope.")] = "mcp-gateway-registry-v2",
    source: Annotated[str | None, typer.Option(help="Who published the figures, kept in each record.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a results tree of figures that somebody else published."""
    from swetrials.analysis.published_runs import Defaults
    from swetrials.cli import importing

    raise typer.Exit(importing.run(file, into, Defaults(agent, skill, scope, source), as_json=as_json))
