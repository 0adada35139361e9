"""``answer``: what a results tree answers in a few sentences, and what of it is not earned yet."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import JudgeChosen, RankByChosen
from swetrials.cli.outputs import LeftOut

if TYPE_CHECKING:
    from rich.console import Console

    from swetrials.records.answer import Answer
    from swetrials.records.dataset import RankBy

app = single_command()

_WIDTH = 100


@app.command(epilog="Example: swetrials answer swe-benchmark-data")
def answer(
    tree: Annotated[Path, typer.Argument(help="A results tree, or any folder in one.")] = Path("swe-benchmark-data"),
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say in a few sentences what a results tree answers, and what of the answer is not earned yet."""
    raise typer.Exit(show(tree, judge, rank_by, as_json=as_json))


def show(tree: Path, judge: str | None, rank_by: RankBy | None = None, *, as_json: bool) -> int:
    """Print the answer; return 1 when trials could not be read.

    Raises:
        ResultsTreeError: there is no trial that can be read, or no judge or several of that name.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.cli.rendering import console_for_output
    from swetrials.results.report.answer import answer
    from swetrials.results.results_tree import read_rows
    from swetrials.store.files import to_json

    recover_below(tree)
    left_out = LeftOut()
    found = answer(read_rows(tree, left_out, judge, rank_by), tree)
    if as_json:
        print(to_json(found).decode(), end="")
    else:
        _print(console_for_output(), found)
    return 1 if left_out.count else 0


def show_scopes(console: Console, scopes: Sequence[Path]) -> None:
    """Print what the runs of some scope folders answer."""
    from swetrials.results.report.answer import answer
    from swetrials.results.results_tree import read_rows

    rows = [
        replace(row, folder=f"{scope}/{row.folder}") for scope in scopes for row in read_rows(scope, lambda line: None)
    ]
    _print(console, answer(rows, scopes[0].parents[3]))


def _print(console: Console, found: Answer) -> None:
    from rich.text import Text

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
