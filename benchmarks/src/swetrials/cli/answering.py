"""``answer``: what a results tree answers in a few sentences, and what of it is not earned yet."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from swetrials.cli.outputs import LeftOut
from swetrials.cli.recovering import recover_below
from swetrials.cli.rendering import console_for_output
from swetrials.records.answer import Answer
from swetrials.results.results_tree import read_rows
from swetrials.store.files import to_json

_WIDTH = 100


def show(tree: Path, judge: str | None, *, as_json: bool) -> int:
    """Print the answer; return 1 when trials could not be read.

    Raises:
        ResultsTreeError: there is no trial that can be read, or no judge or several of that name.
    """
    from swetrials.results.report.answer import answer

    recover_below(tree)
    left_out = LeftOut()
    found = answer(read_rows(tree, left_out, judge), tree)
    if as_json:
        print(to_json(found).decode(), end="")
    else:
        _print(console_for_output(), found)
    return 1 if left_out.count else 0


def show_scopes(console: Console, scopes: Sequence[Path]) -> None:
    """Print what the runs of some scope folders answer."""
    from swetrials.results.report.answer import answer

    rows = [
        replace(row, folder=f"{scope}/{row.folder}") for scope in scopes for row in read_rows(scope, lambda line: None)
    ]
    _print(console, answer(rows, scopes[0].parents[3]))


def _print(console: Console, found: Answer) -> None:
    width = min(console.width, _WIDTH)
    for part in found.parts:
        console.print(Text("\nThe answer" + (" (rehearsal)" if part.rehearsal else ""), style="bold"))
        for sentence in part.sentences:
            console.print(Text(textwrap.fill(sentence, width, initial_indent="  ", subsequent_indent="  ")))
        console.print(Text("Not earned yet", style="bold"))
        for missing in part.not_earned:
            console.print(Text(textwrap.fill(missing.text, width, initial_indent="  - ", subsequent_indent="    ")))
    console.print(Text("\nNext, for example:", style="bold"))
    console.print(Text(f"  {found.next_command}"), soft_wrap=True)
