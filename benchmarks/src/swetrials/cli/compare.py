"""``compare``: what two runs allow to be claimed, and the two side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import JudgeChosen, RankByChosen

if TYPE_CHECKING:
    from swetrials.records.claim import Claim
    from swetrials.records.comparison import ComparedRun, Comparison
    from swetrials.records.dataset import RankBy
    from swetrials.records.leaderboard import Candidate
    from swetrials.results.trial_row import TrialRow

app = single_command()


@app.command(epilog="Example: swetrials compare claude-opus-5 kimi-k3 --tree swe-benchmark-data")
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="The folder of a run, or a model of --tree.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another run over the same tasks.")],
    tree: Annotated[Path, typer.Option(help="The results tree that names of models are looked up in.")] = Path(
        "swe-benchmark-data"
    ),
    tie_band: Annotated[
        float | None,
        typer.Option(min=0, max=100, help="Points within which two count as equal.", metavar="POINTS"),
    ] = None,
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what two runs allow to be claimed and what would settle the rest, and set them side by side."""
    raise typer.Exit(show(first, second, tree, tie_band=tie_band, judge=judge, rank_by=rank_by, as_json=as_json))


def show(
    first: str,
    second: str,
    tree: Path,
    *,
    tie_band: float | None,
    judge: str | None,
    rank_by: RankBy | None = None,
    as_json: bool,
) -> int:
    """Print what can be claimed of two runs, then what differs, with the number of trials behind each figure.

    Raises:
        RunNameError: a name stands for no run of the tree, or for several.
        SummaryError: one of the folders is no run's, or the two have nothing in common.
        MixtureError: one of the two is a rehearsal and the other is not, or several judges scored them, or they are
            ranked by different things.
        RecordError: a record cannot be read.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.results.claim import claim
    from swetrials.results.comparison import compare, early_look
    from swetrials.results.run_finding import find_runs
    from swetrials.results.summary import read_trials
    from swetrials.store.files import to_json

    folders = find_runs(first, second, tree)
    for folder in folders:
        recover_below(folder)
    rows = [_rows(folder, judge, rank_by) for folder in folders]
    first_trials, second_trials = (read_trials(folder, judge, rank_by) for folder in folders)
    comparison = compare(first_trials, second_trials, (str(folders[0]), str(folders[1])))
    found = claim(*rows, tie_band=tie_band)
    looks = [early_look(*run) for run in zip(folders, (first_trials, second_trials), strict=True)]
    unfinished = tuple(f"{name} has {look}" for name, look in zip("AB", looks, strict=True) if look)
    comparison = comparison.model_copy(update={"claim": found, "unfinished": unfinished})
    if as_json:
        print(to_json(comparison).decode(), end="")
    else:
        _print(comparison, found)
    return 0


def _print(comparison: Comparison, found: Claim) -> None:
    from rich.table import Table
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output
    from swetrials.results.report import claim_sentence, comparison_table

    console = console_for_output()
    console.print(Text(claim_sentence.sentence(found, *_names(comparison)), style="bold"), soft_wrap=True)
    if (closing := claim_sentence.closing(found)) is not None:
        console.print(Text(closing, style="dim"), soft_wrap=True)
    if (early := claim_sentence.early(comparison.unfinished)) is not None:
        console.print(Text(early, style="yellow"), soft_wrap=True)
    console.print()
    for line in comparison_table.heads(comparison):
        console.print(Text(line), soft_wrap=True)
    table = Table(header_style="bold")
    for index, name in enumerate(comparison_table.COLUMNS):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    for row in comparison_table.rows(comparison):
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(Text(comparison_table.closing(comparison), style="dim"), soft_wrap=True)


def _rows(run: Path, judge: str | None, rank_by: RankBy | None) -> list[TrialRow]:
    """Return a run's trials, each with a folder that tells it from the other run's.

    Raises:
        RecordError: one cannot be read: who compares two runs is not told about parts of them.
    """
    from swetrials.results.results_tree import read_rows

    return [replace(row, folder=str(run / row.folder)) for row in read_rows(run, _refuse, judge, rank_by)]


def _refuse(left_out: str) -> None:
    from swetrials.store.files import RecordError

    raise RecordError(f"{left_out.removeprefix('left out: ')}; mend it or move it away")


def _names(comparison: Comparison) -> tuple[str, str]:
    from swetrials.results.candidates import labels

    first, second = _candidate(comparison.first), _candidate(comparison.second)
    if first == second:
        return "A", "B"
    named = labels([first, second])
    return named[first.key], named[second.key]


def _candidate(run: ComparedRun) -> Candidate:
    from swetrials.records.leaderboard import Candidate

    return Candidate(model=run.model, agent=run.agent, skill=run.skill, provider=run.provider)
