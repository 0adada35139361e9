"""The collector: real processes, a real HTTP server with moving metrics, real DuckDB, and readers beside it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import duckdb
import pytest

from hosting.moving_metrics import GENERATION_STEP, HITS_STEP, PROMPT_STEP, QUERIES_STEP, RECORDED, MovingMetrics
from swetrials.hosting import process
from swetrials.hosting.collector import service as collector
from swetrials.hosting.collector.gpu_readings import GpuError, read_gpus
from swetrials.hosting.collector.service import CollectionPlan, read_metrics
from swetrials.hosting.collector.time_series import (
    DATABASE,
    Overview,
    Sample,
    Scrape,
    ServerSession,
    TimeSeries,
    TimeSeriesError,
    archive,
    connect,
    last_session,
    size_bytes,
)
from swetrials.hosting.process import ServiceError

Row = tuple[object, ...]


def query(folder: Path, sql: str) -> list[Row]:
    with connect(folder) as connection:
        return connection.execute(sql).fetchall()


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    give_up_at = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < give_up_at, "it does not happen"
        time.sleep(0.05)


@contextmanager
def collecting(tmp_path: Path, url: str, path: str | None = None) -> Iterator[Path]:
    """Run a collector as a service, twenty looks a second, and stop it at the end."""
    folder = tmp_path / "metrics"
    plan = CollectionPlan(
        url, folder, interval_seconds=0.05, publish_seconds=0.1, model="qwen3-coder-30b", scope="quickstart"
    )
    environment = {**os.environ, "PATH": path} if path else dict(os.environ)
    collector.start(tmp_path / "run", plan, environment)
    try:
        yield folder
    finally:
        process.stop(tmp_path / "run", collector.NAME)


def server_scrapes(folder: Path, *, ok: bool = True) -> int:
    ((count,),) = query(folder, f"SELECT count(*) FROM scrapes WHERE source = 'server' AND ok = {ok}")
    assert isinstance(count, int)
    return count


def overview(folder: Path) -> Overview:
    found = last_session(folder)
    assert found is not None
    return found


READER = """
import sys, time, duckdb
database, seconds = sys.argv[1], float(sys.argv[2])
seen, give_up_at = [], time.monotonic() + seconds
while time.monotonic() < give_up_at:
    with duckdb.connect(database, read_only=True) as connection:
        (scrapes,) = connection.execute("SELECT count(*) FROM scrapes WHERE ok").fetchone()
        (missing,) = connection.execute(
            "SELECT count(*) FROM scrapes s WHERE samples <> (SELECT count(*) FROM samples m WHERE m.scrape = s.scrape)"
        ).fetchone()
    assert missing == 0, f"{missing} scrapes without all their samples"
    seen.append(scrapes)
assert seen == sorted(seen), "scrapes went away"
print(len(seen), seen[0], seen[-1])
"""
"""A program of somebody else: opens the database again and again, and finds each state whole."""


def read_meanwhile(folder: Path, seconds: float) -> tuple[int, int, int]:
    argv = [sys.executable, "-c", READER, str(folder / DATABASE), str(seconds)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 60)
    assert done.returncode == 0, done.stderr
    queries, first, last = (int(word) for word in done.stdout.split())
    return queries, first, last


def test_another_process_reads_while_it_is_collected(tmp_path: Path) -> None:
    with MovingMetrics() as server, collecting(tmp_path, server.url) as folder:
        until(lambda: server_scrapes(folder) > 1)
        queries, first, last = read_meanwhile(folder, 2)
        assert queries > 3
        assert last > first


def test_figures_are_those_that_the_server_showed(tmp_path: Path) -> None:
    with MovingMetrics() as server, collecting(tmp_path, server.url) as folder:
        until(lambda: server_scrapes(folder) >= 5)
    totals = query(folder, "SELECT prompt_tokens, generation_tokens FROM state ORDER BY scrape")
    assert totals == [(PROMPT_STEP * look, GENERATION_STEP * look) for look in range(len(totals))]
    assert server.looks - len(totals) in (0, 1)  # it may have been stopped in the middle of a look
    rates = query(folder, "SELECT tokens_per_second * seconds, prefix_cache_hit_rate, restarted FROM throughput")
    assert rates == [(pytest.approx(PROMPT_STEP + GENERATION_STEP), HITS_STEP / QUERIES_STEP, False)] * (
        len(totals) - 1
    )
    assert query(folder, "SELECT DISTINCT running, waiting, kv_cache_usage FROM requests") == [(3, 1, 0.25)]
    assert overview(folder).model == "qwen3-coder-30b"


@pytest.mark.slow
def test_a_server_may_go_and_come_back_anew(tmp_path: Path) -> None:
    first = MovingMetrics()
    with ExitStack() as stack:
        with first:
            folder = stack.enter_context(collecting(tmp_path, first.url))
            until(lambda: server_scrapes(folder) >= 4)
        until(lambda: server_scrapes(folder, ok=False) >= 2)
        before = server_scrapes(folder)
        with MovingMetrics(first.port, started=2000.0):
            until(lambda: server_scrapes(folder) >= before + 4)
    errors = query(folder, "SELECT DISTINCT error, samples FROM scrapes WHERE NOT ok")
    assert ("ConnectError: All connection attempts failed", 0) in errors
    assert overview(folder).restarts == 1
    last = query(folder, "SELECT max(prompt_tokens) FROM state GROUP BY server_started")
    assert len(last) == 2
    assert query(folder, "SELECT prompt_tokens FROM overview") == [(sum(float(str(total)) for (total,) in last),)]


@pytest.mark.slow
def test_what_answers_with_something_else_is_a_failed_row(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    argv = [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as page:
        assert page.stdout is not None
        port = int(page.stdout.readline().split("port ")[1].split()[0])
        try:
            with collecting(tmp_path, f"http://127.0.0.1:{port}/") as folder:
                until(lambda: server_scrapes(folder, ok=False) >= 1)
        finally:
            page.kill()
    assert query(folder, "SELECT DISTINCT error FROM scrapes") == [("what it answers is not in Prometheus's format",)]


def test_a_stopped_collector_leaves_no_process_no_lock_and_nothing_half_done(tmp_path: Path) -> None:
    with MovingMetrics() as server, collecting(tmp_path, server.url) as folder:
        service = process.find(tmp_path / "run", collector.NAME)
        assert service is not None
        until(lambda: server_scrapes(folder) >= 2)
        stopped = process.stop(tmp_path / "run", collector.NAME)
    assert stopped is not None
    assert stopped.how == "drained"
    assert not process.running(service)
    assert sorted(path.name for path in folder.iterdir()) == [DATABASE, "sealed"]
    with duckdb.connect(str(folder / DATABASE)) as connection:  # for writing, which any lock would forbid
        connection.execute("CREATE TABLE own AS SELECT 1")
    assert overview(folder).ended_at is not None


@pytest.mark.slow
def test_a_second_collector_is_refused(tmp_path: Path) -> None:
    with MovingMetrics() as server, collecting(tmp_path, server.url), pytest.raises(ServiceError, match="running"):
        collector.start(tmp_path / "run", CollectionPlan(server.url, tmp_path / "other"))


def test_after_a_kill_the_next_session_goes_on(tmp_path: Path) -> None:
    with MovingMetrics() as server:
        with collecting(tmp_path, server.url) as folder:
            until(lambda: server_scrapes(folder) >= 3)
            service = process.find(tmp_path / "run", collector.NAME)
            assert service is not None
            os.kill(service.pid, signal.SIGKILL)
            until(lambda: not process.running(service))
        kept = server_scrapes(folder)
        with collecting(tmp_path, server.url):
            until(lambda: server_scrapes(folder) >= kept + 2)
    sessions = query(folder, "SELECT session, ended_at IS NOT NULL FROM sessions ORDER BY session")
    assert sessions == [(1, True), (2, True)]
    assert query(folder, "SELECT count(*) - count(DISTINCT scrape) FROM scrapes") == [(0,)]


def test_a_collector_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / DATABASE).write_text("not a database")
    with pytest.raises(ServiceError, match="move the folder away"), collecting(tmp_path, "http://127.0.0.1:1/metrics"):
        pass
    assert process.find(tmp_path / "run", collector.NAME) is None


NVIDIA_SMI = """#!/bin/sh
case "$1" in --query-gpu=index,utilization.gpu,memory.used,memory.total,power.draw) ;; *) exit 9 ;; esac
echo "0, 97, 40000, 46068, 301.50"
echo "1, 12, 1000, 46068, [N/A]"
"""


def program(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "nvidia-smi"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.slow
def test_gpus_are_collected_where_there_are_some(tmp_path: Path) -> None:
    program(tmp_path / "bin", NVIDIA_SMI)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with MovingMetrics() as server, collecting(tmp_path, server.url, path) as folder:
        until(lambda: query(folder, "SELECT count(*) > 0 FROM gpus") == [(True,)])
    columns = "gpu, utilization_percent, memory_used_mib, memory_total_mib, power_watts"
    assert query(folder, f"SELECT DISTINCT {columns} FROM gpus ORDER BY gpu") == [
        (0, 97, 40000, 46068, 301.5),
        (1, 12, 1000, 46068, None),
    ]
    assert query(folder, "SELECT DISTINCT watts, gpus FROM power") == [(301.5, 2)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n", "ends with 9: NVIDIA-SMI has failed"),
        ("#!/bin/sh\necho 'No devices were found'\n", "prints no figures: No devices were found"),
    ],
)
def test_gpus_that_cannot_be_read_are_an_error_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = program(tmp_path, text)
    with pytest.raises(GpuError, match=problem):
        anyio.run(read_gpus, str(path))


def test_every_reading_is_kept_but_for_what_nobody_asks() -> None:
    samples = read_metrics(RECORDED)
    names = {sample.metric for sample in samples}
    assert {
        "vllm:prompt_tokens_total",
        "vllm:time_to_first_token_seconds_bucket",
        "process_start_time_seconds",
    } <= names
    assert not [name for name in names if name.endswith("_created") or name.startswith("python_")]
    assert Sample("vllm:generation_tokens_total", '{"engine":"0","model_name":"tinyrand"}', 80.0) in samples


@pytest.mark.parametrize("text", ["", "<html><body>hello</body></html>", "\0\1"])
def test_what_is_no_metrics_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="what it answers"):
        read_metrics(text)


START = datetime(2026, 11, 29, 12, tzinfo=UTC)


def scrape(number: int) -> Scrape:
    samples = tuple(Sample(f"m{index}", "{}", float(number)) for index in range(10))
    return Scrape("server", START + timedelta(seconds=number), 0.01, samples)


def values(folder: Path) -> list[Row]:
    return query(folder, "SELECT value, count(*) FROM samples GROUP BY value ORDER BY value")


@pytest.mark.slow
def test_rows_are_the_same_sealed_or_not(tmp_path: Path) -> None:
    with TimeSeries(tmp_path, ServerSession("u", 1), seal_at_rows=50) as series:
        for number in range(23):
            series.add(scrape(number))
            series.publish()
            assert values(tmp_path) == [(float(n), 10) for n in range(number + 1)]
    assert len(list((tmp_path / "sealed").glob("samples-*.parquet"))) >= 4
    assert query(tmp_path, "SELECT count(*), sum(samples) FROM scrapes") == [(23, 230)]


def test_a_crash_between_sealing_and_publishing_loses_and_repeats_nothing(tmp_path: Path) -> None:
    series = TimeSeries(tmp_path, ServerSession("u", 1), seal_at_rows=10**6)
    for number in range(5):
        series.add(scrape(number))
    series.publish()
    series._seal()  # and there it dies: nothing is published
    series._memory.close()
    assert values(tmp_path) == [(float(n), 10) for n in range(5)]

    with TimeSeries(tmp_path, ServerSession("u", 1)) as again:
        again.add(scrape(5))
    assert values(tmp_path) == [(float(n), 10) for n in range(6)]


@pytest.mark.slow
def test_readers_find_whole_states_however_often_it_is_published(tmp_path: Path) -> None:
    writer = (
        "import sys, time; from pathlib import Path; from datetime import datetime, UTC\n"
        "from swetrials.hosting.collector.time_series import *\n"
        "with TimeSeries(Path(sys.argv[1]), ServerSession('u', 1), seal_at_rows=2000) as series:\n"
        "    give_up_at = time.monotonic() + 4\n"
        "    while time.monotonic() < give_up_at:\n"
        "        samples = tuple(Sample(f'm{i}', '{}', 1.0) for i in range(100))\n"
        "        series.add(Scrape('server', datetime.now(UTC), 0.0, samples)); series.publish()\n"
    )
    with subprocess.Popen([sys.executable, "-c", writer, str(tmp_path)]) as running:
        until(lambda: (tmp_path / DATABASE).exists())
        queries, first, last = read_meanwhile(tmp_path, 3)
        assert running.wait(timeout=60) == 0
    assert queries > 3
    assert last > first


def test_an_archive_is_one_file_with_tables_and_views(tmp_path: Path) -> None:
    live = tmp_path / "it's live"  # a quote in the path has to survive
    with TimeSeries(live, ServerSession("u", 1, "m", "s"), seal_at_rows=50) as series:
        for number in range(12):
            series.add(scrape(number))
            series.publish()
        archive(live, tmp_path / "archive" / "while.duckdb")
    target = tmp_path / "archive" / "after.duckdb"
    archive(live, target)
    sealed = live / "sealed"
    sealed.rename(tmp_path / "elsewhere")  # so that the archive has to stand alone

    with duckdb.connect(str(target), read_only=True) as connection:
        kinds = connection.execute("SELECT table_name, table_type FROM information_schema.tables").fetchall()
        assert {name for name, kind in kinds if kind == "BASE TABLE"} == {"sessions", "scrapes", "samples"}
        assert {"throughput", "requests", "power", "overview"} <= {name for name, kind in kinds if kind == "VIEW"}
        assert connection.execute("SELECT count(*) FROM samples").fetchall() == [(120,)]
        assert connection.execute("SELECT scrapes, failed, model, scope FROM overview").fetchall() == [
            (12, 0, "m", "s")
        ]
    with duckdb.connect(str(tmp_path / "archive" / "while.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM samples").fetchall() == [(120,)]
    assert sorted(path.name for path in target.parent.iterdir()) == ["after.duckdb", "while.duckdb"]


def test_nothing_collected_is_said_so(tmp_path: Path) -> None:
    assert last_session(tmp_path) is None
    assert size_bytes(tmp_path) == 0
    with pytest.raises(TimeSeriesError, match="nothing was collected here"):
        connect(tmp_path)
    with pytest.raises(TimeSeriesError, match="nothing was collected here"):
        archive(tmp_path, tmp_path / "x.duckdb")
