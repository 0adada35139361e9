"""``router evaluate``: whether taking the router's advice pays."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import JudgeChosen, RankByChosen
from swetrials.cli.outputs import LeftOut, check_output
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.records.router_evaluation import RouterEvaluation
    from swetrials.router.evaluation.evaluate import EvaluationRequest

app = single_command()

SKILL = "swe-router"
_FIRST_WIDTH = 24


EXAMPLE = (
    "Example: swetrials router evaluate --data swe-benchmark-data --holdout --floor-sweep 55,65,70,75 "
    "--out-md evaluation.md"
)


@app.command(epilog=EXAMPLE)
def router_evaluate(
    data: Annotated[Path, typer.Option(help="A results tree, or any folder in one.", metavar="TREE")] = Path(
        "swe-benchmark-data"
    ),
    harness: Annotated[str | None, typer.Option(help="Take trials of this agent alone.", metavar="AGENT")] = None,
    skill: Annotated[str | None, typer.Option(help="Take trials of this skill alone.")] = None,
    scope: Annotated[str | None, typer.Option(help="Take trials of this scope alone.")] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="Take tasks and tiers from this dataset; default: the trials' own.")
    ] = None,
    judged_inputs: Annotated[
        Path | None, typer.Option(help="Floor and tier of each task, as CSV or JSON.", metavar="FILE")
    ] = None,
    floor: Annotated[float | None, typer.Option(help="One floor for every task, 0 to 100.")] = None,
    floor_sweep: Annotated[
        str | None, typer.Option(help="Several floors, one run each; the default: 55,65,70,75.", metavar="A,B")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Route each task by means that its own trials are not in.")
    ] = False,
    no_allow_list: Annotated[bool, typer.Option("--no-allow-list", help="Allow every measured model.")] = False,
    allowed_file: Annotated[Path | None, typer.Option(help="Another allow list than the skill's.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this model; default: the best of all.", metavar="MODEL")
    ] = None,
    available: Annotated[str | None, typer.Option(help="Models that can be had; default: all.", metavar="A,B")] = None,
    tie_band: Annotated[float | None, typer.Option(min=0, max=100, help="Points; default: the rule's own.")] = None,
    judge: JudgeChosen = None,
    rank_by: RankByChosen = None,
    out_json: Annotated[Path | None, typer.Option(help="Write the record here.", metavar="FILE")] = None,
    out_md: Annotated[
        Path | None, typer.Option(help="Write the page here, and its chart beside it.", metavar="FILE")
    ] = None,
) -> None:
    """Tell what following the router would have cost and scored, on tasks that every model has done."""
    from swetrials.router.evaluation.evaluate import EvaluationRequest

    request = EvaluationRequest(
        data=data,
        harness=harness,
        skill=skill,
        scope=scope,
        dataset=dataset,
        judged_inputs=judged_inputs,
        floors=floors(floor, floor_sweep, judged_inputs),
        holdout=holdout,
        allowed_file=allowed_file,
        no_allow_list=no_allow_list,
        available=names("--available", available),
        baseline=baseline,
        tie_band=tie_band,
        judge=judge,
        rank_by=rank_by,
    )
    raise typer.Exit(evaluate_router(request, out_json, out_md))


"""Columns of the terminal that the names of policies are given, however narrow it is."""


def evaluate_router(request: EvaluationRequest, out_json: Path | None, out_md: Path | None) -> int:
    """Evaluate, write what was asked for, and print the answer; return 1 when trials could not be read.

    Raises:
        UsageError: two of the flags exclude each other, or an output cannot become a file.
        KnownError: a file, a name or a figure cannot be used; nothing was written.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.router.evaluation.evaluate import evaluate
    from swetrials.router.evaluation.page import write_page
    from swetrials.store.files import write_record
    from swetrials.store.project import find_project

    if request.no_allow_list and request.allowed_file is not None:
        raise UsageError("--no-allow-list and --allowed-file exclude each other")
    check_output("--out-json", out_json)
    check_output("--out-md", out_md)
    recover_below(request.data)
    left_out = LeftOut()
    evaluation = evaluate(request, find_project().skills / SKILL, left_out)
    if out_json is not None:
        write_record(out_json, evaluation)
    if out_md is not None:
        write_page(out_md, evaluation, out_json)
    _print(evaluation)
    for written in filter(None, (out_json, out_md)):
        print(f"written: {written}", file=sys.stderr)
    return 1 if left_out.count > len(evaluation.tasks_left_out) else 0


def names(flag: str, text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list that is separated by commas.

    Raises:
        UsageError: there is none in it.
    """
    if text is None:
        return None
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise UsageError(f"{flag}: names no model")
    return found


def floors(floor: float | None, sweep: str | None, judged_inputs: Path | None) -> tuple[float, ...]:
    """Return the floors that the flags ask for; none: with judged inputs, the judged ones.

    Raises:
        UsageError: more than one kind was asked for, or a floor is not a number from 0 to 100.
    """
    from swetrials.records.judged_inputs import BASE_FLOORS

    if floor is not None and sweep is not None:
        raise UsageError("--floor and --floor-sweep exclude each other")
    if floor is not None:
        return (_checked("--floor", str(floor)),)
    if sweep is None:
        return () if judged_inputs is not None else tuple(map(float, BASE_FLOORS))
    wanted = tuple(_checked("--floor-sweep", word.strip()) for word in sweep.split(","))
    return tuple(dict.fromkeys(wanted))


def _checked(flag: str, word: str) -> float:
    try:
        floor = float(word)
    except ValueError:
        raise UsageError(f"{flag}: {word!r} is not a number") from None
    if not 0 <= floor <= 100:
        raise UsageError(f"{flag}: {word} is not between 0 and 100")
    return floor


def _print(evaluation: RouterEvaluation) -> None:
    from swetrials.results.ranking import WORDS
    from swetrials.router.evaluation import headline as router_headline
    from swetrials.router.evaluation import tables as router_tables

    runs, rank_by = evaluation.runs, evaluation.config.rank_by
    if len(runs) == 1:
        _say(router_headline.sentences(evaluation, runs[0]))
        rows = router_tables.policy_rows(runs[0], rank_by)
        _show(*router_tables.in_words(router_tables.POLICY_COLUMNS, rows, rank_by))
    else:
        _say([router_headline.sweep_sentence(runs, WORDS[rank_by])])
        _show(*router_tables.in_words(router_tables.FLOOR_COLUMNS, router_tables.floor_rows(runs), rank_by))
    print("What to keep in mind:")
    _say(f"- {caveat}" for caveat in evaluation.caveats)


def _say(sentences: Iterable[str]) -> None:
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output

    console = console_for_output()
    for sentence in sentences:
        console.print(Text(sentence))


def _show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without its last column, the models, for which a terminal has no room."""
    from rich.table import Table
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output

    table = Table(header_style="bold")
    for index, name in enumerate(columns[:-1]):
        table.add_column(name, justify="right" if index else "left", min_width=0 if index else _FIRST_WIDTH)
    for row in rows:
        table.add_row(*map(Text, row[:-1]))
    console_for_output().print(table)
