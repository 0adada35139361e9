"""``results``: what is in a results tree, as a table or as the answer to a query."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from swetrials.cli.lean import LeanCommand, single_command
from swetrials.cli.options import JudgeChosen, RankByChosen
from swetrials.cli.outputs import LeftOut

if TYPE_CHECKING:
    from swetrials.records.dataset import RankBy
    from swetrials.results.tables import QueryResult

app = single_command()

Form = Literal["table", "json", "csv"]


class ResultsCommand(LeanCommand):
    """A command whose help ends with the views and their columns, which cost an import that only this help pays."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  of the click that Typer brings along
        """Write the example, then what there is to ask."""
        from swetrials.results.table_columns import views

        super().format_epilog(ctx, formatter)
        with formatter.section("Views"):
            formatter.write_dl([(name, ", ".join(columns)) for name, columns in views().items()])


@app.command(cls=ResultsCommand, epilog="Example: swetrials results swe-benchmark-data --sql 'FROM trials LIMIT 3'")
def results(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")] = Path("swe-benchmark-data"),
    sql: Annotated[str | None, typer.Option(help="DuckDB's SQL over the views below; default: FROM runs.")] = None,
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show what the runs of a results tree come to, or ask it in SQL."""
    if as_json and as_csv:
        raise typer.BadParameter("give --json or --csv, not both")
    raise typer.Exit(show(tree, sql, "json" if as_json else "csv" if as_csv else "table", judge, rank_by))


def show(tree: Path, sql: str | None, form: Form, judge: str | None = None, rank_by: RankBy | None = None) -> int:
    """Print a line for each run, or what a query gives.

    Files that cannot be read are named on standard error; the others make the result.

    Returns:
        Exit code: 1 when something had to be left out.

    Raises:
        ResultsTreeError: there is no trial that can be read.
        QueryError: the SQL is at fault.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.results.tables import query

    recover_below(tree)
    left_out = LeftOut()
    answer = query(tree, "FROM runs" if sql is None else sql, left_out, judge, rank_by)
    match form:
        case "json":
            print(json.dumps([dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]))
        case "csv":
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerows([answer.columns, *(map(_csv_cell, row) for row in answer.rows)])
        case "table" if sql is None:
            _show_runs(answer)
        case "table":
            _show(answer.columns, [[_cell(value) for value in row] for row in answer.rows], _numeric(answer))
    return 1 if left_out.count else 0


def _show_runs(answer: QueryResult) -> None:
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output
    from swetrials.results.report import results_table

    runs = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    console = console_for_output()
    console.print(Text(results_table.heading(runs)), soft_wrap=True)
    columns = results_table.columns(runs)
    words = {"model", "agent", "skill", "scope", "provider", "hosted", "basis", "not in rate", "over several"}
    _show(columns, results_table.rows(runs), {name for name in columns if name not in words})
    for line in results_table.closing(runs):
        console.print(Text(line, style="dim"), soft_wrap=True)


def _show(columns: Sequence[str], rows: Sequence[Sequence[str]], numeric: set[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output

    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(Text(name), justify="right" if name in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console_for_output().print(table)


def _numeric(answer: QueryResult) -> set[str]:
    return {
        name
        for index, name in enumerate(answer.columns)
        if any(isinstance(row[index], int | float) and not isinstance(row[index], bool) for row in answer.rows)
    }


def _cell(value: object) -> str:
    from swetrials.results.report.wording import UNKNOWN

    if value is None:
        return UNKNOWN
    return f"{value:,.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _csv_cell(value: object) -> object:
    return json.dumps(_plain(value)) if isinstance(value, bool | dict | list) else value


def _plain(value: object) -> object:
    """Return a value as JSON has it: dates and the like as text, a number that is none as ``null``."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
