"""``proxy start|stop|status`` in a project whose LiteLLM is a small stand-in."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosting.litellm.test_server import STAND_IN
from swetrials.cli import proxy
from swetrials.hosting.litellm.install import VERSION
from swetrials.store.project import HOME_VARIABLE


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Make a project with a configuration that needs no key, and find a port for its proxy."""
    tools = tmp_path / ".tools" / "litellm"
    metadata = tools / "lib" / "python3" / "site-packages" / f"litellm-{VERSION}.dist-info"
    for folder in (tmp_path / "src" / "swetrials", tmp_path / "config", tools / "bin", metadata):
        folder.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "config" / "litellm-mantle.yaml").write_text("model_list: []\n")
    (metadata / "METADATA").write_text("")
    for name in ("python", "litellm"):
        (tools / "bin" / name).write_text(STAND_IN)
        (tools / "bin" / name).chmod(0o755)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free: int = probe.getsockname()[1]
    yield free
    proxy.stop()


def test_start_status_and_stop(port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert proxy.status(as_json=False) == proxy.NOT_RUNNING
    assert capsys.readouterr().out == "the LiteLLM proxy is not running: swetrials proxy start\n"

    assert proxy.start(None, port, "eu-west-1") == 0
    said = capsys.readouterr()
    assert said.err == f"starting the LiteLLM proxy on 127.0.0.1:{port}\n"
    assert f"LiteLLM proxy on http://127.0.0.1:{port} (pid " in said.out
    assert f"--provider litellm --endpoint http://127.0.0.1:{port} " in said.out

    assert proxy.status(as_json=False) == 0
    said = capsys.readouterr()
    assert f"LiteLLM proxy on http://127.0.0.1:{port}: answers\n" in said.out
    assert f"config {tmp_path}/config/litellm-mantle.yaml, region eu-west-1\n" in said.out

    assert proxy.stop() == 0
    assert capsys.readouterr().out == "the LiteLLM proxy is stopped: it ended in good order\n"
    assert proxy.stop() == 0
    assert capsys.readouterr().out == "the LiteLLM proxy is not running\n"


def test_a_proxy_that_runs_is_left_alone(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    proxy.start(None, port, "eu-west-1")
    capsys.readouterr()
    proxy.status(as_json=True)
    first = capsys.readouterr().out
    assert proxy.start(None, port, "eu-west-1") == 0
    assert capsys.readouterr().out.startswith("it is running already\n")
    assert proxy.start(None, port, "us-east-1") == 1
    assert capsys.readouterr().out.startswith("it is running already, with other settings: swetrials proxy stop\n")
    proxy.status(as_json=True)
    assert capsys.readouterr().out == first


def test_status_as_json(port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert proxy.status(as_json=True) == proxy.NOT_RUNNING
    assert json.loads(capsys.readouterr().out) == {"running": False}
    proxy.start(None, port, "eu-west-1")
    capsys.readouterr()
    assert proxy.status(as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told.keys() == {"running", "healthy", "warning", "pid", "started_at", "port", "log", "notes"}
    assert (told["running"], told["healthy"], told["port"]) == (True, True, port)
    assert told["log"] == str(tmp_path / ".tools" / "run" / "litellm.log")
