"""Reading what a router has to be told of each task: the record of our own judgments, or a table of other people's."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from swetrials.records.dataset import TIERS, Complexity
from swetrials.records.judged_inputs import HIGHEST_FLOOR, LOWEST_FLOOR, JudgedInputs
from swetrials.records.published_record import kind_of
from swetrials.router.inputs.published import judged_inputs_of
from swetrials.store.files import read_record
from swetrials.store.problems import DocumentError, Problem
from swetrials.store.reading import read_bytes
from swetrials.store.validation import did_you_mean

_COLUMNS = ("task", "floor", "tier")


@dataclass(frozen=True)
class Need:
    """What a router is told of a task: the score that a model has to reach, 0 to 100, and how hard the task is."""

    floor: float
    tier: Complexity


@dataclass(frozen=True)
class JudgedTable:
    """The needs of tasks, by their ids, in the order of the file.

    ``unjudged`` are the tasks of which no judgment counts. ``record`` is all that is known of the judgments (their
    cost, for one); a CSV tells nothing of that.
    """

    needs: Mapping[str, Need]
    unjudged: tuple[str, ...] = ()
    record: JudgedInputs | None = None


def read_judged_inputs(path: Path) -> JudgedTable:
    """Read judged inputs from a JSON record, ours or another harness's, or from a CSV with task, floor and tier.

    Which of the two it is, the file's first character says: no CSV of these columns begins with a brace.

    Raises:
        RecordError: the JSON is torn or of another shape.
        DocumentError: the file cannot be read, or is a CSV with faults: one problem each, with its line.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise DocumentError([Problem(str(path), None, "", error.strerror or str(error))]) from None
    if data.lstrip()[:1] == b"{":
        foreign = _published(data)
        record = judged_inputs_of(path, data, foreign) if foreign else read_record(path, JudgedInputs)
        return _from_record(record)
    return _from_csv(path, data)


def read_foreign_judged_inputs(path: Path, source: str | None = None) -> JudgedInputs | None:
    """Return the record that another harness's judged inputs come to; ``None``: the file is something else.

    Raises:
        DocumentError: it is such a file and has faults, or cannot be read.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise DocumentError([Problem(str(path), None, "", error.strerror or str(error))]) from None
    data = _published(content)
    return judged_inputs_of(path, content, data, source) if data else None


def _published(data: bytes) -> dict[str, object] | None:
    """Return the judged inputs of another harness of this kind; ``None``: this is something else."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return found if kind_of(found) == "judged inputs" else None


def _from_record(record: JudgedInputs) -> JudgedTable:
    needs = {row.task: Need(row.floor, row.tier) for row in record.tasks if row.floor is not None and row.tier}
    return JudgedTable(needs, tuple(row.task for row in record.tasks if row.task not in needs), record)


def _from_csv(path: Path, data: bytes) -> JudgedTable:
    try:
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        columns = rows.fieldnames or ()
        if faults := list(_header_faults(columns)):
            raise DocumentError([Problem(str(path), 1, "columns", "; ".join(faults))])
        lines = [(rows.line_num, row) for row in rows]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DocumentError([Problem(str(path), None, "", f"not a CSV file in UTF-8: {error}")]) from None
    if problems := list(_problems(str(path), lines)):
        raise DocumentError(problems)
    return JudgedTable({row["task"]: Need(float(row["floor"]), _tier(row["tier"])) for _, row in lines})


def _header_faults(columns: Sequence[str]) -> Iterator[str]:
    if missing := [name for name in _COLUMNS if name not in columns]:
        yield f"missing: {', '.join(missing)} (a heading of names, separated by commas)"
    if twice := [name for name in _COLUMNS if columns.count(name) > 1]:
        yield f"there twice: {', '.join(twice)}"


def _problems(file: str, lines: list[tuple[int, dict[str, str]]]) -> Iterator[Problem]:
    if not lines:
        yield Problem(file, 1, "", "no task below the heading")
    seen: set[str] = set()
    for line, row in lines:
        if None in row:
            yield Problem(file, line, "", "more cells than the heading has")
        task, floor, tier = (row[name] or "" for name in _COLUMNS)
        if not task:
            yield Problem(file, line, "task", "must not be empty")
        elif task in seen:
            yield Problem(file, line, "task", f"{task!r} is there twice")
        seen.add(task)
        if not _is_floor(floor):
            message = f"{floor!r} is not a number from {LOWEST_FLOOR} to {HIGHEST_FLOOR}"
            yield Problem(file, line, "floor", message)
        if tier not in TIERS:
            message = f"{tier!r} is not one of {', '.join(TIERS)}{did_you_mean(tier, TIERS)}"
            yield Problem(file, line, "tier", message)


def _is_floor(text: str) -> bool:
    try:
        return LOWEST_FLOOR <= float(text) <= HIGHEST_FLOOR
    except ValueError:
        return False


def _tier(text: str) -> Complexity:
    return next(tier for tier in TIERS if tier == text)
