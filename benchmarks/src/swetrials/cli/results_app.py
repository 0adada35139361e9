"""The commands ``swetrials import`` and ``swetrials results``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from swetrials.cli.judge_option import JudgeChosen


def import_(
    source_path: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A tree, a run-summary.json or judged inputs of another harness, or a CSV with a row a trial "
            "(docs/importing.md).",
        ),
    ],
    into: Annotated[
        Path, typer.Option(help="Folder for the results tree; a new or an empty one.", metavar="DIR")
    ] = Path("imported-results"),
    agent: Annotated[str, typer.Option(help="Agent of trials that name none.")] = "omp",
    skill: Annotated[str, typer.Option(help="Skill of trials that name none.")] = "swe3",
    scope: Annotated[str, typer.Option(help="Scope of trials that name none.")] = "mcp-gateway-registry-v2",
    source: Annotated[str | None, typer.Option(help="Who published the figures, kept in each record.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a results tree of what another harness measured, or somebody published."""
    from swetrials.cli import importing
    from swetrials.results.published.source_trial import Defaults

    raise typer.Exit(importing.run(source_path, into, Defaults(agent, skill, scope, source), as_json=as_json))


class ResultsCommand(TyperCommand):
    """A command whose help ends with the views and their columns, which cost an import that only this help pays."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        """Write the example, then what there is to ask."""
        from swetrials.results.table_columns import views

        super().format_epilog(ctx, formatter)
        with formatter.section("Views"):
            formatter.write_dl([(name, ", ".join(columns)) for name, columns in views().items()])


def results(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")] = Path("swe-benchmark-data"),
    sql: Annotated[str | None, typer.Option(help="DuckDB's SQL over the views below; default: FROM runs.")] = None,
    judge: JudgeChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show what the runs of a results tree come to, or ask it in SQL."""
    from swetrials.cli import results

    if as_json and as_csv:
        raise typer.BadParameter("give --json or --csv, not both")
    raise typer.Exit(results.show(tree, sql, "json" if as_json else "csv" if as_csv else "table", judge))
