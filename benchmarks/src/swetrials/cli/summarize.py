"""``summarize``: what a run comes to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import AsJson, JudgeChosen, RankByChosen

if TYPE_CHECKING:
    from rich.console import Console

    from swetrials.records.dataset import RankBy

app = single_command()


@app.command(epilog="Example: swetrials summarize --folder swe-benchmark-data/rehearsal/claude-code/swe3/quickstart")
def summarize(
    folder: Annotated[Path, typer.Option(help="The folder of a run: <model>/<agent>/<skill>/<scope>.")],
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    as_json: AsJson = False,
) -> None:
    """Write run-summary.json and run-summary.md, and print the results table."""
    leave(write_summary(folder, judge=judge, rank_by=rank_by, as_json=as_json))


def write_summary(folder: Path, *, judge: str | None = None, rank_by: RankBy | None = None, as_json: bool) -> int:
    """Summarise one run's folder; what a killed run had spent there is put into its records first."""
    from swetrials.cli.recovering import recover_below
    from swetrials.cli.rendering import console_for_output
    from swetrials.results.report.run_summary import summarize_scope
    from swetrials.store.files import to_json

    recover_below(folder)
    if as_json:
        print(to_json(summarize_scope(folder, judge, rank_by)).decode(), end="")
    else:
        show_scopes(console_for_output(), [folder], judge, rank_by)
    return 0


def show_scopes(
    console: Console, scopes: Sequence[Path], judge: str | None = None, rank_by: RankBy | None = None
) -> None:
    """Summarise the runs of some scope folders, print their tables, and say where everything is."""
    from rich.text import Text

    from swetrials.cli.rendering import show_summary
    from swetrials.results.report.run_summary import summarize_scope

    for scope in scopes:
        show_summary(console, summarize_scope(scope, judge, rank_by))
        console.print(Text(f"\nwritten to {scope}/"), soft_wrap=True)
        console.print("  run-summary.md and run-summary.json; in each trial's folder: metrics.json,")
        console.print("  eval.json once it is judged, the artifacts, attempts/*/stream.jsonl")
