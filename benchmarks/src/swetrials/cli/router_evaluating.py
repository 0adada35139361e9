"""``router evaluate``: whether taking the router's advice pays."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from swetrials.cli.outputs import LeftOut, check_output
from swetrials.cli.recovering import recover_below
from swetrials.cli.rendering import console_for_output
from swetrials.errors import UsageError
from swetrials.records.judged_inputs import BASE_FLOORS
from swetrials.records.router_evaluation import RouterEvaluation
from swetrials.router.evaluation import headline as router_headline
from swetrials.router.evaluation import tables as router_tables
from swetrials.router.evaluation.evaluate import EvaluationRequest, evaluate
from swetrials.router.evaluation.page import write_page
from swetrials.store.files import write_record
from swetrials.store.project import find_project

SKILL = "swe-router"
_FIRST_WIDTH = 24
"""Columns of the terminal that the names of policies are given, however narrow it is."""


def run(request: EvaluationRequest, out_json: Path | None, out_md: Path | None) -> int:
    """Evaluate, write what was asked for, and print the answer; return 1 when trials could not be read.

    Raises:
        UsageError: two of the flags exclude each other, or an output cannot become a file.
        KnownError: a file, a name or a figure cannot be used; nothing was written.
    """
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
    runs = evaluation.runs
    if len(runs) == 1:
        _say(router_headline.sentences(evaluation, runs[0]))
        _show(router_tables.POLICY_COLUMNS, router_tables.policy_rows(runs[0]))
    else:
        _say([router_headline.sweep_sentence(runs)])
        _show(router_tables.FLOOR_COLUMNS, router_tables.floor_rows(runs))
    print("What to keep in mind:")
    _say(f"- {caveat}" for caveat in evaluation.caveats)


def _say(sentences: Iterable[str]) -> None:
    console = console_for_output()
    for sentence in sentences:
        console.print(Text(sentence))


def _show(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without its last column, the models, for which a terminal has no room."""
    table = Table(header_style="bold")
    for index, name in enumerate(columns[:-1]):
        table.add_column(name, justify="right" if index else "left", min_width=0 if index else _FIRST_WIDTH)
    for row in rows:
        table.add_row(*map(Text, row[:-1]))
    console_for_output().print(table)
