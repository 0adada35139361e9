"""A results tree as tables that anybody may ask in SQL.

The files are read when they are asked for: there is no database to make or to keep up. What is asked runs in memory,
with every way out of it shut.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import duckdb

from swetrials.analysis.request_reading import RequestPart, read_requests
from swetrials.analysis.results_tree import Tell, read_readings, row_of
from swetrials.analysis.table_columns import RUNS, TABLES, TrialLine, views
from swetrials.analysis.trial_reading import TrialReading
from swetrials.records.errors import KnownError
from swetrials.store.results import TrialFolder

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
class Answer:
    """What a query gave."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]


def query(tree: Path, sql: str, tell: Tell) -> Answer:
    """Ask a results tree.

    Args:
        tree: a results tree, or any folder in one.
        sql: DuckDB's, over the views of :func:`~swetrials.analysis.table_columns.views`.
        tell: takes one line for each file, or line of one, that cannot be read and is left out.

    Raises:
        ResultsTreeError: there is no trial that can be read.
        QueryError: the SQL is at fault.
    """
    with duckdb.connect() as connection:
        _fill(connection, tree, _asked(sql), tell)
        for name, value in SHUT.items():
            connection.execute(f"SET {name} = {value}")
        try:
            if not connection.extract_statements(sql):
                raise QueryError("--sql: there is nothing to run")
            result = connection.execute(sql)
            return Answer(_apart([column[0] for column in result.description]), result.fetchall())
        except duckdb.Error as error:
            raise QueryError(f"--sql: {_first_line(error)}\n{_offer(sql)}") from None


def _named(sql: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    return words & views().keys()


def _asked(sql: str) -> set[str]:
    """Return the tables that the SQL may need: reading every request takes longer than all else together."""
    named = _named(sql)
    return named | {"trials"} if "runs" in named else named


def _fill(connection: duckdb.DuckDBPyConnection, tree: Path, asked: set[str], tell: Tell) -> None:
    """Make the tables and fill those that are asked for.

    Lines of JSON, with the types given, are the quickest way into them that needs no further library.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {table.name: Path(folder, table.name) for table in TABLES}
        with ExitStack() as stack:
            streams = [(t, stack.enter_context(files[t.name].open("wb"))) for t in TABLES if t.name in asked]
            for reading in read_readings(tree, tell):
                trial = TrialLine(row_of(reading), reading, _requests(tree, reading, tell))
                for table, stream in streams:
                    stream.writelines(table.json_lines(trial))
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table.name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})")
            file = files[table.name]
            if file.exists() and file.stat().st_size:
                types = ", ".join(f"{column.name}: '{column.type}'" for column in table.columns)
                read = f"read_json($1, format = 'newline_delimited', columns = {{{types}}})"
                connection.execute(f"INSERT INTO {table.name} SELECT * FROM {read}", [os.fspath(file)])
    connection.execute(f"CREATE VIEW runs AS {RUNS}")


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
