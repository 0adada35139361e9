"""The metrics collector: looks at a server's ``/metrics`` and at the GPUs at a set interval, for as long as it is let.

As a service it runs ``python -m swetrials.hosting.collector.service`` detached from whoever starts it. A look
that fails is a row like any other, so a server may come and go.
"""

import argparse
import math
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import anyio
import duckdb
import httpx
import orjson
from prometheus_client.parser import text_string_to_metric_families

from swetrials.hosting import process
from swetrials.hosting.collector.gpu_readings import GpuError, find_program, read_gpus
from swetrials.hosting.collector.time_series import (
    Sample,
    Scrape,
    ServerSession,
    TimeSeries,
    TimeSeriesError,
    last_session,
)
from swetrials.hosting.process import Service
from swetrials.wire.connecting import connection
from swetrials.workspace.variables import allowed_environment

NAME = "collector"

PUBLISH_SECONDS = 5.0
"""How old the newest rows are at most that readers see, and how much is lost when the collector is killed."""

_ANSWER_SECONDS = 5.0
_READY_SECONDS = 30.0
_CLOCK_SECONDS = 1.0  # how far the system's word on when a process began may be off
_UNWANTED = ("python_gc_", "python_info")


@dataclass(frozen=True)
class CollectionPlan:
    """What to collect.

    Attributes:
        url: of the metrics themselves: ``http://127.0.0.1:8000/metrics``.
        folder: where the database goes.
        interval_seconds: between two looks.
        publish_seconds: between two states of the database that readers see.
        model: what is served, for the archive's name.
        scope: what it is served for, likewise.
    """

    url: str
    folder: Path
    interval_seconds: float = 1.0
    publish_seconds: float = PUBLISH_SECONDS
    model: str = ""
    scope: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that run this plan."""
        options = {
            "--url": self.url,
            "--folder": str(self.folder.resolve()),
            "--interval-seconds": f"{self.interval_seconds:g}",
            "--publish-seconds": f"{self.publish_seconds:g}",
            "--model": self.model,
            "--scope": self.scope,
        }
        return (sys.executable, "-m", "swetrials.hosting.collector.service", *(f"{k}={v}" for k, v in options.items()))


def start(state: Path, plan: CollectionPlan, environment: Mapping[str, str] = os.environ) -> Service:
    """Start a collector as a service and wait until there is something to read.

    Args:
        state: the folder of services' state files and logs.
        plan: what to collect.
        environment: the user's.

    Raises:
        ServiceError: one runs already, or it does not come up; the log's end follows.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    service = process.start(
        state,
        NAME,
        plan.argv,
        environment=allowed_environment(plan.folder, plan.folder, {}, environment),
        cwd=plan.folder,
        port=None,
        notes={"url": plan.url, "folder": str(plan.folder.resolve()), "model": plan.model, "scope": plan.scope},
    )
    try:
        process.wait_until_ready(
            service, lambda: _has_begun(service, plan.folder), timeout_seconds=_READY_SECONDS, pause_seconds=0.1
        )
    except process.ServiceError:
        process.stop(state, NAME)
        raise
    return service


def _has_begun(service: Service, folder: Path) -> bool:
    try:
        session = last_session(folder)
    except duckdb.Error:
        return False
    return session is not None and session.started_at.timestamp() >= service.started_seconds - _CLOCK_SECONDS


async def collect(plan: CollectionPlan) -> None:
    """Collect until SIGTERM or SIGINT.

    Raises:
        TimeSeriesError: the folder holds a database that cannot be read.
        OSError: the disk is full, or the folder cannot be written.
    """
    session = ServerSession(plan.url, plan.interval_seconds, plan.model, plan.scope)
    program = find_program()
    with TimeSeries(plan.folder, session) as series:

        async def look_at_server() -> None:
            series.add(await _looked("server", lambda: _read_server(client, plan.url)))

        async def look_at_gpus() -> None:
            series.add(await _looked("gpu", lambda: read_gpus(program or "")))

        async def publish() -> None:
            series.publish()

        async with (
            httpx.AsyncClient(timeout=_ANSWER_SECONDS, **connection(plan.url)) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_cancel_on_signal, tasks.cancel_scope)
            tasks.start_soon(_every, plan.interval_seconds, look_at_server)
            tasks.start_soon(_every, plan.publish_seconds, publish)
            if program is not None:
                tasks.start_soon(_every, plan.interval_seconds, look_at_gpus)


async def _every(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    """Do something at a fixed rate; a time that passes while it is being done is left out."""
    began, turn = anyio.current_time(), 0
    while True:
        await act()
        turn = max(turn + 1, math.ceil((anyio.current_time() - began) / seconds))
        await anyio.sleep_until(began + turn * seconds)


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return


async def _looked(source: Literal["server", "gpu"], read: Callable[[], Awaitable[tuple[Sample, ...]]]) -> Scrape:
    at, began = datetime.now(UTC), anyio.current_time()
    samples: tuple[Sample, ...] = ()
    error = ""
    try:
        samples = await read()
    except httpx.HTTPError as problem:
        error = f"{type(problem).__name__}: {problem}".rstrip(": ")
    except (GpuError, ValueError) as problem:
        error = str(problem)
    return Scrape(source, at, anyio.current_time() - began, samples, error)


async def _read_server(client: httpx.AsyncClient, url: str) -> tuple[Sample, ...]:
    response = await client.get(url, follow_redirects=True)
    if response.status_code != httpx.codes.OK:
        raise ValueError(f"status {response.status_code}")
    return read_metrics(response.text)


def read_metrics(text: str) -> tuple[Sample, ...]:
    """Return every reading in a text in Prometheus's exposition format.

    When each series was made and what Python's garbage collector did is left out: nobody asks, and it is a third of
    all there is.

    Raises:
        ValueError: the text is no such format, or holds nothing.
    """
    wanted = [line for line in text.splitlines(keepends=True) if not line.startswith(_UNWANTED)]
    try:
        samples = tuple(
            Sample(sample.name, orjson.dumps(sample.labels, option=orjson.OPT_SORT_KEYS).decode(), sample.value)
            for family in text_string_to_metric_families("".join(wanted))
            for sample in family.samples
            if not sample.name.endswith("_created") and math.isfinite(sample.value)
        )
    except (ValueError, IndexError, KeyError):
        raise ValueError("what it answers is not in Prometheus's format") from None
    if not samples:
        raise ValueError("what it answers holds no metrics")
    return samples


def main(argv: Sequence[str] | None = None) -> int:
    """Run a plan in the foreground: what the service does."""
    parser = argparse.ArgumentParser(prog="collector", description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--interval-seconds", type=float, default=1.0)
    parser.add_argument("--publish-seconds", type=float, default=PUBLISH_SECONDS)
    parser.add_argument("--model", default="")
    parser.add_argument("--scope", default="")
    plan, code = CollectionPlan(**vars(parser.parse_args(argv))), 0
    try:
        anyio.run(collect, plan)
    except* (TimeSeriesError, OSError, duckdb.Error) as group:
        print(group.exceptions[0], file=sys.stderr)
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
