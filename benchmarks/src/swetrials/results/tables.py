"""A results tree as tables that anybody may ask in SQL.

The files are read when they are asked for: there is no database to make or to keep up. What is asked runs in memory,
with every way out of it shut.
"""

import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import duckdb

from swetrials.errors import KnownError
from swetrials.records.dataset import RankBy
from swetrials.results.candidates import by_candidate
from swetrials.results.figures import Figures
from swetrials.results.mixtures import mixed
from swetrials.results.ranking import settled
from swetrials.results.rates import rate_over_tasks
from swetrials.results.request_reading import RequestPart, read_requests
from swetrials.results.results_tree import Tell, read_readings, row_of
from swetrials.results.sealing_words import UNTOLD, ran_in
from swetrials.results.table_columns import RUN_KEYS, RUNS, TABLES, RunLine, TrialLine, json_line, views
from swetrials.results.trial_reading import TrialReading
from swetrials.results.trial_row import TrialRow
from swetrials.store.results import TrialFolder

_RUNS = "runs"

SHUT = {
    "memory_limit": "'4GB'",
    "temp_directory": "''",  # what does not fit into memory is an error, not a file in the working folder
    "python_enable_replacements": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""No file is read or written, nothing is loaded, and nothing of this is undone; set once the tables are filled."""


class QueryError(KnownError):
    """The SQL cannot be run; the message says why, and what there is to ask."""


@dataclass(frozen=True)
class QueryResult:
    """What a query gave."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def query(tree: Path, sql: str, tell: Tell, judge: str | None = None, rank_by: RankBy | None = None) -> QueryResult:
    """Ask a results tree.

    Args:
        tree: a results tree, or any folder in one.
        sql: DuckDB's, over the views of :func:`~swetrials.results.table_columns.views`.
        tell: takes one line for each file, or line of one, that cannot be read and is left out.
        judge: take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's.
        rank_by: rank by this, whatever the trials' datasets rank by.

    Raises:
        ResultsTreeError: there is no trial that can be read, or no judge or several of that name.
        QueryError: the SQL is at fault.
    """
    with duckdb.connect() as connection:
        _fill(connection, read_readings(tree, tell, judge, rank_by), tree, _named(sql), tell)
        for name, value in SHUT.items():
            connection.execute(f"SET {name} = {value}")
        try:
            if not connection.extract_statements(sql):
                raise QueryError("--sql: there is nothing to run")
            result = connection.execute(sql)
            return QueryResult(_apart([column[0] for column in result.description]), result.fetchall())
        except duckdb.Error as error:
            raise QueryError(f"--sql: {_first_line(error)}\n{_offer(sql)}") from None


def _named(sql: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return words & views().keys()


def _fill(
    connection: duckdb.DuckDBPyConnection, readings: Iterable[TrialReading], tree: Path, asked: set[str], tell: Tell
) -> None:
    """Make the tables and fill those that are asked for: reading every request takes longer than all else together.

    Lines of JSON, with the types given, are the quickest way into them that needs no further library.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in views()}
        with ExitStack() as stack:
            streams = [(t, stack.enter_context(files[t.name].open("wb"))) for t in TABLES if t.name in asked]
            for reading in readings:
                trial = TrialLine(row_of(reading), reading, _requests(tree, reading, tell))
                for table, stream in streams:
                    stream.writelines(table.json_lines(trial))
                if _RUNS in asked:
                    rows.append(trial.row)
        if rows:
            files[_RUNS].write_bytes(b"".join(json_line(RUNS, run) for run in runs_of(rows)))
        for name, columns in ((_RUNS, RUNS), *((table.name, table.columns) for table in TABLES)):
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{c.name} {c.type}' for c in columns)})")
            file = files[name]
            if file.exists() and file.stat().st_size:
                types = ", ".join(f"{column.name}: '{column.type}'" for column in columns)
                read = f"read_json($1, format = 'newline_delimited', columns = {{{types}}})"
                connection.execute(f"INSERT INTO {name} SELECT * FROM {read}", [os.fspath(file)])


def runs_of(rows: Iterable[TrialRow]) -> list[RunLine]:
    """Return the runs that trials are of: real ones first, then the best. What is of one scope is ranked together."""
    scopes: defaultdict[tuple[str, bool], list[TrialRow]] = defaultdict(list)
    for row in rows:
        scopes[row.scope, row.rehearsal].append(row)
    runs = [_run_line(of_run.rows) for of_scope in scopes.values() for of_run in by_candidate(settled(of_scope))]
    return sorted(runs, key=_order)


def _run_line(rows: Sequence[TrialRow]) -> RunLine:
    figures = Figures(rows)
    return RunLine(rows[0], figures, mixed(rows), _ran_in(rows), rate_over_tasks(figures.resolve.values))


def _ran_in(rows: Sequence[TrialRow]) -> str | None:
    return None if (words := ran_in(rows)) == UNTOLD else words


def _order(run: RunLine) -> tuple[bool, bool, float, tuple[str, ...]]:
    ranked = run.figures.mean_ranked
    keys = tuple(str(column.value(run)) for column in RUN_KEYS)
    return run.first.rehearsal, ranked is None, -(ranked or 0.0), keys


def _requests(tree: Path, reading: TrialReading, tell: Tell) -> Callable[[], Iterator[tuple[int, RequestPart]]]:
    return lambda: read_requests(TrialFolder(tree / reading.folder), tell)


def _apart(columns: Sequence[str]) -> tuple[str, ...]:
    """Give columns of one name a number each, so that none hides another."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return tuple(names)


def _first_line(error: duckdb.Error) -> str:
    return " ".join(str(error).split("\n\n")[0].split())


def _offer(sql: str) -> str:
    """Return in one line what there is to ask: the columns of the views that the SQL names, or of all of them."""
    named = _named(sql) or views().keys()
    known = [f"{name} has {', '.join(columns)}" for name, columns in views().items() if name in named]
    others = [name for name in views() if name not in named]
    return "; ".join([*known, *([f"other views: {', '.join(others)}"] if others else [])])
