"""Ending a run from outside, whatever it is waiting for."""

import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest

from e2e.harness import BENCHMARKS, Workplace
from kinds import first_is_quick

DATASET = """schema_version: "1.0"
name: far-away
tasks:
  - id: task-1
    repo: {repo}
    ref: main
    complexity: low
    problem_statement: Do it.
"""


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def start_and_wait_for_git(
    place: Workplace, server: socket.socket, *, ignoring_interrupts: bool = False
) -> tuple[subprocess.Popen[str], socket.socket]:
    dataset = place.root / "far-away.yaml"
    dataset.write_text(DATASET.format(repo=f"http://127.0.0.1:{server.getsockname()[1]}/repo.git"))
    words = place.words("run", "--dataset", dataset, "--skip-probe", "--sandbox", "none")
    if ignoring_interrupts:
        # As a shell without job control starts what it puts into the background.
        words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words]
    run = subprocess.Popen(
        words, cwd=BENCHMARKS, env=place.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    connection, _ = server.accept()
    return run, connection


def git_of(place: Workplace) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(place.work) in word for word in process.info["cmdline"] or ()):
            found.append(process)
    return found


@first_is_quick("times", [1, 3])
def test_an_interruption_ends_a_fetch_that_hangs(
    tmp_path: pathlib.Path, silent_server: socket.socket, times: int
) -> None:
    place = Workplace(tmp_path)
    run, connection = start_and_wait_for_git(place, silent_server)
    with connection:
        for _ in range(times):
            run.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, said = run.communicate(timeout=20)
        assert run.returncode == 130
        assert said == "interrupted; what has finished is saved: the same command goes on, run and e2e with --resume\n"
        assert git_of(place) == []


@first_is_quick("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_in_the_background_can_be_ended(
    tmp_path: pathlib.Path, silent_server: socket.socket, number: signal.Signals
) -> None:
    run, connection = start_and_wait_for_git(Workplace(tmp_path), silent_server, ignoring_interrupts=True)
    with connection:
        run.send_signal(number)
        _, said = run.communicate(timeout=20)
        assert run.returncode == 130, said


def test_a_run_under_nohup_outlives_its_terminal(tmp_path: pathlib.Path, silent_server: socket.socket) -> None:
    place = Workplace(tmp_path)
    dataset = place.root / "far-away.yaml"
    dataset.write_text(DATASET.format(repo=f"http://127.0.0.1:{silent_server.getsockname()[1]}/repo.git"))
    words = ["nohup", *place.words("run", "--dataset", dataset, "--skip-probe", "--sandbox", "none")]
    run = subprocess.Popen(
        words, cwd=BENCHMARKS, env=place.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    connection, _ = silent_server.accept()
    with connection:
        run.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert run.poll() is None
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=20)
        assert run.returncode == 130
