"""``swetrials collect``: from start to archive, and what a person is told on the way."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import orjson
import pytest

from hosting.moving_metrics import MovingMetrics
from swetrials.cli import collect
from swetrials.errors import UsageError
from swetrials.hosting.collector.time_series import TimeSeriesError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty project of the test's own, with no collector left in it at the end."""
    root = tmp_path / "benchmarks"
    (root / "src" / "swetrials").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    monkeypatch.setenv("SWETRIALS_HOME", str(root))
    yield root
    collect.stop()


def start(endpoint: str | None) -> int:
    return collect.start(endpoint, interval_seconds=0.05, model="Qwen/Qwen3-32B", scope="quick start", folder=None)


def test_from_start_to_archive(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MovingMetrics() as server:
        assert start(f"http://127.0.0.1:{server.port}") == 0
        assert f"collecting {server.url} every 0.05 s" in capsys.readouterr().out
        while server.looks < 3:
            time.sleep(0.05)
        assert collect.status(None, as_json=False) == 0
        assert f"session 1: {server.url}" in capsys.readouterr().out
        assert collect.stop() == 0
        assert "it ended in good order" in capsys.readouterr().out

    assert collect.status(None, as_json=True) == collect.NOT_COLLECTING
    status = orjson.loads(capsys.readouterr().out)
    assert not status["running"]
    assert status["session"]["scrapes"] >= 2

    assert collect.archive(None, out=None, model=None, scope=None) == 0
    target = Path(capsys.readouterr().out.strip())
    assert target.parent == project / "swe-benchmark-data" / ".metrics" / "archive"
    assert target.name.startswith("Qwen3-32B_quick-start_20")
    with duckdb.connect(str(target), read_only=True) as connection:
        found = connection.execute("SELECT scrapes FROM overview").fetchall()
    assert found == [(status["session"]["scrapes"],)]


@pytest.mark.parametrize(
    ("model", "scope", "name"),
    [
        ("us.anthropic.claude-opus-5[1m]", "a/b c", "claude-opus-5_a-b-c_20261129T181500Z.duckdb"),
        ("", "", "unknown-model_no-scope_20261129T181500Z.duckdb"),
        ("[1m]", "..", "unknown-model_no-scope_20261129T181500Z.duckdb"),
    ],
)
def test_archives_are_named_by_model_scope_and_time(model: str, scope: str, name: str) -> None:
    assert collect.archive_name(model, scope, datetime(2026, 11, 29, 18, 15, tzinfo=UTC)) == name


def test_what_is_missing_is_said_in_a_line() -> None:
    with pytest.raises(UsageError, match="nothing is served here; name the server"):
        start(None)
    with pytest.raises(UsageError, match="--endpoint: 'localhost:8000' is not an http"):
        start("localhost:8000")
    with pytest.raises(TimeSeriesError, match="nothing was collected here; swetrials collect start"):
        collect.archive(None, out=None, model=None, scope=None)
    assert collect.stop() == 0
    assert collect.status(None, as_json=False) == collect.NOT_COLLECTING
