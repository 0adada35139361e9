"""Metrics over time in DuckDB, written by one process while others read.

DuckDB lets either one process write a file or many read it. So the file that is for readers, ``collector.duckdb``, is
never written in place: it is made anew beside it and renamed over it. It holds the newest rows itself and shows
the older ones out of sealed Parquet files, which are never changed, so that publishing costs the same after a day as
after a minute. Who has opened it keeps a consistent state for as long as he likes; to see newer rows he connects again.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import duckdb

from swetrials.hosting.collector.views import VIEWS
from swetrials.hosting.process import ServiceError

DATABASE = "collector.duckdb"
SEALED = "sealed"

SEAL_AT_ROWS = 200_000
"""About seven minutes of a vLLM server at one scrape a second."""

_TABLES = {
    "sessions": "session INTEGER, started_at TIMESTAMPTZ, ended_at TIMESTAMPTZ, url VARCHAR, interval_seconds DOUBLE, "
    "model VARCHAR, scope VARCHAR",
    "scrapes": "scrape BIGINT, session INTEGER, source VARCHAR, taken_at TIMESTAMPTZ, duration_seconds DOUBLE, "
    "ok BOOLEAN, error VARCHAR, samples INTEGER",
    "samples": "scrape BIGINT, metric VARCHAR, labels VARCHAR, value DOUBLE",
}
_GROWING = ("scrapes", "samples")


class TimeSeriesError(ServiceError):
    """A collector's folder cannot be used; the message names it and says what mends it."""


@dataclass(frozen=True)
class ServerSession:
    """One run of a collector: what it watches, how often, and what for."""

    url: str
    interval_seconds: float
    model: str = ""
    scope: str = ""


@dataclass(frozen=True)
class Sample:
    """One reading. ``labels`` is a JSON object with sorted keys."""

    metric: str
    labels: str
    value: float


@dataclass(frozen=True)
class Scrape:
    """One look at a source: what it showed, or the error that it ended in."""

    source: Literal["server", "gpu"]
    at: datetime
    duration_seconds: float
    samples: tuple[Sample, ...] = ()
    error: str = ""


class TimeSeries:
    """The writing end: takes in scrapes, and publishes them when told to. One process at a time has it.

    What an earlier run did not seal, ended in good order or killed, is taken over first.
    """

    def __init__(self, folder: Path, session: ServerSession, *, seal_at_rows: int = SEAL_AT_ROWS) -> None:
        """Begin a session.

        Raises:
            TimeSeriesError: the folder holds a database that cannot be read.
        """
        self._folder = folder
        self._seal_at_rows = seal_at_rows
        (folder / SEALED).mkdir(parents=True, exist_ok=True)
        self._memory = duckdb.connect(config={"threads": 1})  # the machine belongs to what is measured
        for table, columns in _TABLES.items():
            self._memory.execute(f"CREATE TABLE {table} ({columns})")
        self._segments = 0
        if (folder / DATABASE).exists():
            self._take_over()
        self._session = self._next("sessions", "session")
        self._scrape = self._next("scrapes", "scrape")
        if self._rows():
            self._seal()
        row = (self._session, datetime.now(UTC), session.url, session.interval_seconds, session.model, session.scope)
        self._memory.execute("INSERT INTO sessions VALUES ($1, $2, NULL, $3, $4, $5, $6)", row)
        self.publish()

    def add(self, scrape: Scrape) -> None:
        """Take in a scrape. Readers see it once it is published."""
        samples, number = scrape.samples, self._scrape
        self._scrape += 1
        self._memory.execute(
            "INSERT INTO samples SELECT $1, unnest($2::VARCHAR[]), unnest($3::VARCHAR[]), unnest($4::DOUBLE[])",
            (number, [s.metric for s in samples], [s.labels for s in samples], [s.value for s in samples]),
        )
        row = (number, self._session, scrape.source, scrape.at, scrape.duration_seconds, not scrape.error)
        self._memory.execute(
            "INSERT INTO scrapes VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", (*row, scrape.error, len(samples))
        )

    def publish(self) -> None:
        """Let readers see all that was taken in.

        Raises:
            OSError: the disk is full, or the folder cannot be written.
        """
        if self._rows() >= self._seal_at_rows:
            self._seal()
        with _made_beside(self._folder / DATABASE) as path:
            self._memory.execute(f"ATTACH {_quoted(path)} AS made")
            try:
                self._fill()
            finally:
                self._memory.execute("USE memory")
                self._memory.execute("DETACH made")

    def close(self) -> None:
        """End the session, publish what is left, and let go of everything."""
        self._memory.execute("UPDATE sessions SET ended_at = $1 WHERE session = $2", (datetime.now(UTC), self._session))
        self.publish()
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._memory.close()

    def _take_over(self) -> None:
        path = self._folder / DATABASE
        try:
            self._memory.execute(f"ATTACH {_quoted(path)} AS earlier (READ_ONLY)")
            for table in _TABLES:
                self._memory.execute(f"INSERT INTO {table} FROM earlier.newest.{table}")
            self._segments = self._number("FROM earlier.newest.segments")
            self._memory.execute("DETACH earlier")
            # A session that was killed ended, as far as anybody knows, with its last scrape.
            known = self._all_rows("scrapes", "scrapes")
            last = f"SELECT max(taken_at) FROM ({known}) AS known WHERE known.session = sessions.session"
            self._memory.execute(f"UPDATE sessions SET ended_at = ({last}) WHERE ended_at IS NULL")
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            raise TimeSeriesError(f"{path}: {first}; move the folder away and start again") from None

    def _fill(self) -> None:
        """Make the readers' tables and views in the attached database ``made``."""
        self._memory.execute("CREATE SCHEMA made.newest")
        self._memory.execute(f"CREATE TABLE made.newest.segments AS SELECT {self._segments} AS count")
        for table in _TABLES:
            self._memory.execute(f"CREATE TABLE made.newest.{table} AS FROM {table}")
        self._memory.execute("USE made")
        for table in _TABLES:
            self._memory.execute(f"CREATE VIEW {table} AS {self._all_rows(table, f'newest.{table}')}")
        _create_views(self._memory)

    def _next(self, table: str, column: str) -> int:
        return 1 + self._number(f"SELECT coalesce(max({column}), 0) FROM ({self._all_rows(table, table)})")

    def _rows(self) -> int:
        return self._number("SELECT (SELECT count(*) FROM samples) + (SELECT count(*) FROM scrapes)")

    def _number(self, query: str) -> int:
        ((number,),) = self._memory.execute(query).fetchall()
        return int(number)

    def _segment(self, table: str, number: int) -> Path:
        return self._folder.resolve() / SEALED / f"{table}-{number:06d}.parquet"

    def _all_rows(self, table: str, newest: str) -> str:
        """Return the query for a table's rows: those of the sealed files, and the newest."""
        if table not in _GROWING or not self._segments:
            return f"FROM {newest}"
        files = ", ".join(_quoted(self._segment(table, number + 1)) for number in range(self._segments))
        return f"FROM read_parquet([{files}]) UNION ALL FROM {newest}"

    def _seal(self) -> None:
        """Move the newest rows into files of their own.

        Nobody knows of these files before they are published. After a crash in between the rows are still in the
        database, and the next sealing writes over them.
        """
        for table in _GROWING:
            with _made_beside(self._segment(table, self._segments + 1)) as path:
                self._memory.execute(f"COPY {table} TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)")
        self._segments += 1
        for table in _GROWING:
            self._memory.execute(f"DELETE FROM {table}")


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """Open what was collected so far, for reading, whether or not a collector is at work.

    Raises:
        TimeSeriesError: nothing was collected there.
    """
    path = folder / DATABASE
    if not path.exists():
        raise TimeSeriesError(f"{folder}: nothing was collected here; swetrials collect start")
    return duckdb.connect(str(path), read_only=True)


@dataclass(frozen=True)
class Overview:
    """A session in figures; ``None`` where nothing was counted. Throughput is prompt and generated tokens together."""

    session: int
    started_at: datetime
    ended_at: datetime | None
    last_at: datetime | None
    url: str
    model: str
    scope: str
    scrapes: int
    failed: int
    restarts: int
    tokens_per_second: float | None
    prefix_cache_hit_rate: float | None


def last_session(folder: Path) -> Overview | None:
    """Return what the last session has come to; ``None`` when nothing was collected."""
    if not (folder / DATABASE).exists():
        return None
    columns = ", ".join(f"coalesce({field.name}, 0)" if field.type is int else field.name for field in fields(Overview))
    with connect(folder) as connection:
        row = connection.execute(f"SELECT {columns} FROM overview ORDER BY session DESC LIMIT 1").fetchone()
    return Overview(*row) if row else None


def size_bytes(folder: Path) -> int:
    """Return how much disk a collector's files take."""
    files = (folder / DATABASE, *(folder / SEALED).glob("*.parquet"))
    return sum(file.stat().st_size for file in files if file.exists())


def archive(folder: Path, target: Path) -> None:
    """Write all that was collected into one file that needs no other, with the same tables and views.

    Raises:
        TimeSeriesError: nothing was collected there.
    """
    if not (folder / DATABASE).exists():
        raise TimeSeriesError(f"{folder}: nothing was collected here; swetrials collect start")
    target.parent.mkdir(parents=True, exist_ok=True)
    with _made_beside(target) as path, duckdb.connect(str(path)) as made:
        made.execute(f"ATTACH {_quoted(folder / DATABASE)} AS live (READ_ONLY)")
        made.execute("CREATE TABLE sessions AS FROM live.sessions ORDER BY session")
        made.execute("CREATE TABLE scrapes AS FROM live.scrapes ORDER BY scrape")
        made.execute("CREATE TABLE samples AS FROM live.samples ORDER BY metric, labels, scrape")
        _create_views(made)
        made.execute("DETACH live")


def _create_views(connection: duckdb.DuckDBPyConnection) -> None:
    for name, query in VIEWS.items():
        connection.execute(f"CREATE VIEW {name} AS {query}")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def _made_beside(path: Path) -> Iterator[Path]:
    """Yield the path of a file to make; at the end it is flushed to disk and renamed over ``path``."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
