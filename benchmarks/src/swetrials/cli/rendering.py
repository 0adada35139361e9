"""Tables on the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from swetrials.records.summary import RunSummary
from swetrials.reports import summary_table

_LEFT = {"task", "outcome", "tests"}


def show_summary(console: Console, summary: RunSummary) -> None:
    """Print a run's results table and its totals."""
    table = Table(title=summary_table.title(summary), title_justify="left", title_style="bold", header_style="bold")
    for name in summary_table.COLUMNS:
        table.add_column(name, justify="left" if name in _LEFT else "right", overflow="fold")
    for task in summary.tasks:
        table.add_row(*(Text(cell) for cell in summary_table.row(task)))
    console.print(table)
    for name, value in summary_table.totals(summary):
        console.print(Text(f"  {name + ':':<24} {value}"), soft_wrap=True)


def console_for_output() -> Console:
    """Return the console for results: as wide as the terminal, wide enough for the tables elsewhere."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)
