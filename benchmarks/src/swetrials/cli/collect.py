"""``collect``: a server's metrics and the GPUs over time, in DuckDB."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import command_group, leave
from swetrials.cli.options import AsJson
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.hosting.collector.time_series import Overview
    from swetrials.hosting.process import Service

app = command_group("Collect a server's metrics.")

NOT_COLLECTING = 1


Folder = Annotated[Path | None, typer.Option(help="Where the database is; default: beside the results.")]


Model = Annotated[str | None, typer.Option(help="For the archive's name; default: what `serve` has started.")]


Scope = Annotated[str | None, typer.Option(help="For the archive's name: the results' scope.")]


@app.command("start", epilog="Example: swetrials collect start --scope quickstart")
def collect_start(
    endpoint: Annotated[str | None, typer.Option(help="Server; default: what `serve` has started.")] = None,
    interval_seconds: Annotated[float, typer.Option(min=0.1, help="Between two scrapes.")] = 1.0,
    model: Model = None,
    scope: Scope = None,
    folder: Folder = None,
) -> None:
    """Start scraping /metrics, and nvidia-smi where there is one, into DuckDB."""
    leave(start(endpoint, interval_seconds=interval_seconds, model=model, scope=scope, folder=folder))


@app.command("stop", epilog="Example: swetrials collect stop")
def collect_stop() -> None:
    """Stop the collector once it has written what it has."""
    leave(stop())


@app.command("status", epilog="Example: swetrials collect status")
def collect_status(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show what is being collected; exit code 1 when no collector runs."""
    leave(status(folder, as_json=as_json))


@app.command("archive", epilog="Example: swetrials collect archive --scope quickstart")
def collect_archive(
    folder: Folder = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the archive.")] = None,
    model: Model = None,
    scope: Scope = None,
) -> None:
    """Write all that was collected into one file named by model, scope and time."""
    leave(archive(folder, out=out, model=model, scope=scope))


def start(
    endpoint: str | None, *, interval_seconds: float, model: str | None, scope: str | None, folder: Path | None
) -> int:
    """Start a collector in the background.

    Args:
        endpoint: base URL of the server, or the URL of its metrics; ``None``: the model that ``serve`` has started.
        interval_seconds: between two scrapes.
        model: what is served, for the archive's name; ``None``: what ``serve`` has started.
        scope: what for, likewise: the scope of the benchmark's results.
        folder: where the database goes; ``None``: :func:`default_folder`.

    Raises:
        UsageError: no endpoint is given and none is known, or it is no URL.
        ServiceError: a collector runs already, or it does not come up.
    """
    from swetrials.hosting import process
    from swetrials.hosting.collector import service as collector
    from swetrials.hosting.collector import time_series
    from swetrials.hosting.collector.gpu_readings import find_program
    from swetrials.hosting.vllm import server as vllm

    served = process.find(_state(), vllm.SERVICE)
    plan = collector.CollectionPlan(
        url=_metrics_url(endpoint, served),
        folder=folder or default_folder(),
        interval_seconds=interval_seconds,
        model=model or (served.notes.get("model", "") if served else ""),
        scope=scope or "",
    )
    collector.start(_state(), plan)
    print(f"collecting {plan.url} every {interval_seconds:g} s")
    print(f"  database {plan.folder / time_series.DATABASE} (read it any time: duckdb -readonly)")
    if find_program() is None:
        print("  no nvidia-smi on this machine: the server's metrics alone")
    return 0


def stop() -> int:
    """Stop the collector, once it has published what it has."""
    from swetrials.hosting import process
    from swetrials.hosting.collector import service as collector

    stopped = process.stop(_state(), collector.NAME)
    if stopped is None:
        print("no collector is running")
        return 0
    print(f"the collector is stopped: {stopped.told}")
    print("next: swetrials collect archive")
    return 0


def status(folder: Path | None, *, as_json: bool) -> int:
    """Print what is being collected, and what the last session has seen. Exit code 1 when no collector is running."""
    from swetrials.hosting import process
    from swetrials.hosting.collector import service as collector
    from swetrials.hosting.collector import time_series

    service = process.find(_state(), collector.NAME)
    place = _place(folder, service)
    session = time_series.last_session(place)
    if as_json:
        print(json.dumps({"running": service is not None, "folder": str(place), "session": _dumped(session)}))
    else:
        print(f"collecting {service.notes['url']}, pid {service.pid}" if service else "no collector is running")
        if session:
            _print_session(session, place)
    return 0 if service else NOT_COLLECTING


def archive(folder: Path | None, *, out: Path | None, model: str | None, scope: str | None) -> int:
    """Write all that was collected into one file, named by model, scope and UTC time.

    Args:
        folder: where the collector's database is; ``None``: where it is being collected, or :func:`default_folder`.
        out: the folder for the archive; ``None``: ``archive`` below the collector's.
        model: for the name; ``None``: as the last session was told.
        scope: likewise.

    Raises:
        TimeSeriesError: nothing was collected.
    """
    from swetrials.hosting import process
    from swetrials.hosting.collector import service as collector
    from swetrials.hosting.collector import time_series

    place = _place(folder, process.find(_state(), collector.NAME))
    session = time_series.last_session(place)
    known_model, known_scope = (session.model, session.scope) if session else ("", "")
    name = archive_name(model or known_model, scope or known_scope, datetime.now(UTC))
    target = (out or place / "archive") / name
    time_series.archive(place, target)
    print(target)
    print(f"  {target.stat().st_size / 2**20:,.1f} MiB", file=sys.stderr)
    return 0


def archive_name(model: str, scope: str, at: datetime) -> str:
    """Return the file name of an archive: ``qwen3-coder-30b_quickstart_20261129T181500Z.duckdb``."""
    from swetrials.records.slug import model_slug

    try:
        slug = model_slug(model)
    except ValueError:
        slug = "unknown-model"
    parts = (slug, re.sub(r"[^A-Za-z0-9.-]+", "-", scope).strip("-.") or "no-scope", f"{at:%Y%m%dT%H%M%SZ}")
    return "_".join(parts) + ".duckdb"


def default_folder() -> Path:
    """Return where metrics are collected unless another folder is named: hidden beside the results."""
    from swetrials.store.project import find_project

    return find_project().root / "swe-benchmark-data" / ".metrics"


def _state() -> Path:
    from swetrials.store.project import find_project

    return find_project().tools / "run"


def _place(folder: Path | None, service: Service | None) -> Path:
    if folder is not None:
        return folder
    return Path(service.notes["folder"]) if service else default_folder()


def _metrics_url(endpoint: str | None, served: Service | None) -> str:
    from swetrials.records.config import base_url

    if endpoint is None and served is None:
        raise UsageError("nothing is served here; name the server: swetrials collect start --endpoint URL")
    try:
        address = base_url(endpoint or (served.base_url if served else "")).rstrip("/")
    except ValueError as error:
        raise UsageError(f"--endpoint: {error}") from None
    return address if address.endswith("/metrics") else f"{address.removesuffix('/v1')}/metrics"


def _print_session(session: Overview, place: Path) -> None:
    from swetrials.hosting.collector import time_series
    from swetrials.results.report.wording import UNKNOWN, seconds

    running = session.ended_at is None
    until = "so far" if running else f"until {session.ended_at:%Y-%m-%d %H:%M:%S}"
    length = ((session.last_at or session.started_at) - session.started_at).total_seconds()
    print(f"  session {session.session}: {session.url}, {seconds(length)} {until}")
    print(f"  {session.scrapes:,} scrapes, {session.failed:,} failed, {session.restarts} restarts of the server")
    rate = UNKNOWN if session.tokens_per_second is None else f"{session.tokens_per_second:,.1f}"
    hits = UNKNOWN if session.prefix_cache_hit_rate is None else f"{session.prefix_cache_hit_rate:.1%}"
    print(f"  {rate} tokens per second, prefix cache hit rate {hits}")
    print(f"  {place / time_series.DATABASE}, {time_series.size_bytes(place) / 2**20:,.1f} MiB")


def _dumped(session: Overview | None) -> dict[str, object] | None:
    if session is None:
        return None
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in asdict(session).items()}
