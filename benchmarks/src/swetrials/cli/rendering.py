"""Tables on the terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swetrials.records.summary import RunSummary
from swetrials.reports import summary_table

_LEFT = {"task", "outcome", "tests"}
_MAY_FOLD = {"task", "outcome"}
_UNLIMITED = 1000


def show_summary(console: Console, summary: RunSummary) -> None:
    """Print a run's results table and its totals, with fewer columns where they would not fit."""
    console.print(Text(summary_table.title(summary), style="bold"))
    table = _table(summary, summary_table.COLUMNS)
    if console.measure(table, options=console.options.update(width=_UNLIMITED)).maximum > console.width:
        table = _table(summary, summary_table.NARROW_COLUMNS)
    console.print(table)
    for name, value in summary_table.totals(summary):
        line = Table.grid(padding=(0, 1))
        line.add_row(f"  {name + ':':<24}", Text(value))
        console.print(line)


def _table(summary: RunSummary, columns: Sequence[str]) -> Table:
    table = (
        Table(header_style="bold")
        if columns is summary_table.COLUMNS
        else Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    )
    for name in columns:
        table.add_column(
            name,
            justify="left" if name in _LEFT else "right",
            overflow="fold",
            no_wrap=name not in _MAY_FOLD,
        )
    for task in summary.tasks:
        table.add_row(*(Text(cell) for cell in summary_table.row(task, columns)))
    return table


def console_for_output() -> Console:
    """Return the console for results: as wide as the terminal, wide enough for the tables elsewhere."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_UNLIMITED)
