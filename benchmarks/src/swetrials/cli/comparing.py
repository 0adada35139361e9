"""``compare``: two runs side by side."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from swetrials.analysis.comparison import compare
from swetrials.analysis.summary import read_trials
from swetrials.cli.rendering import console_for_output
from swetrials.reports import comparison_table
from swetrials.store.files import to_json


def show(first: Path, second: Path, *, as_json: bool) -> int:
    """Print what differs between two runs, with the number of trials behind each figure.

    Raises:
        SummaryError: one of the folders is no run's, or the two have nothing in common.
        RecordError: a record cannot be read.
    """
    comparison = compare(read_trials(first), read_trials(second), (str(first), str(second)))
    if as_json:
        print(to_json(comparison).decode(), end="")
        return 0
    console = console_for_output()
    for line in comparison_table.heads(comparison):
        console.print(Text(line), soft_wrap=True)
    table = Table(header_style="bold")
    for index, name in enumerate(comparison_table.COLUMNS):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in comparison_table.rows(comparison):
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(Text(comparison_table.closing(), style="dim"))
    return 0
