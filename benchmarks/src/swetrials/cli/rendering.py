"""Tables on the terminal."""

import os
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swetrials.records.summary import RunSummary
from swetrials.results.report import summary_table

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


class _PatientConsole(Console):
    """A console that nobody has to read to the end: the run goes on when its viewer has left (``| head``)."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def console_for_output() -> Console:
    """Return the console for results: as wide as the terminal, wide enough for the tables elsewhere."""
    console = _PatientConsole(highlight=False)
    return console if console.is_terminal else _PatientConsole(highlight=False, width=_UNLIMITED)
