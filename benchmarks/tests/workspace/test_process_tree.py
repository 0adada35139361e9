"""Who belongs to a tree of processes, how it ends, and that nobody else is touched."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from swetrials.workspace.process_tree import Mark, ProcessTree

VARIABLE = "TEST_OF_PROCESS_TREES"

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"

TIDY = """
import signal, sys, time
def end(*_):
    open(sys.argv[1], "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def mark() -> Mark:
    return Mark(VARIABLE, secrets.token_hex(8))


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start(children: list[subprocess.Popen[bytes]], *words: str, mark: Mark | None = None) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, wait for its first line, and return it."""
    environment = {"PATH": os.environ["PATH"], **({mark.variable: mark.value} if mark else {})}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    children.append(process)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def sleeper(children: list[subprocess.Popen[bytes]], mark: Mark | None = None) -> subprocess.Popen[bytes]:
    return start(children, "sh", "-c", "echo up; exec sleep 60", mark=mark)


def pids(tree: ProcessTree) -> set[int]:
    return {process.pid for process in tree.living()}


def test_a_group_found_again_by_its_number_may_be_a_strangers(
    mark: Mark, children: list[subprocess.Popen[bytes]]
) -> None:
    stranger = sleeper(children)
    started = psutil.Process(stranger.pid).create_time()
    # Whoever has started it knows that the group is its own, with or without a mark.
    assert pids(ProcessTree(mark, stranger.pid)) == {stranger.pid}
    assert pids(ProcessTree(mark, stranger.pid, started)) == {stranger.pid}
    # A program that had this pid before, and started at another time.
    earlier = ProcessTree(mark, stranger.pid, started - 100)
    assert (earlier.leader(), earlier.living()) == (None, set())
    assert earlier.stop().how == "gone"
    assert stranger.poll() is None


def test_a_group_is_its_own_while_somebody_marked_is_in_it(mark: Mark, children: list[subprocess.Popen[bytes]]) -> None:
    # The leader dies; in its group are left one with the mark and one that has cleared its environment.
    words = 'sleep 60 & env -i /bin/sleep 60 & echo "$!"; exit 0'
    leader = start(children, "sh", "-c", words, mark=mark)
    leader.wait()
    tree = ProcessTree(mark, leader.pid, time.time() - 100)
    time.sleep(0.1)  # until env has become what it starts
    assert tree.leader() is None
    assert len(tree.living()) == 2
    assert tree.stop().members == 2
    assert tree.living() == set()


def test_who_was_a_member_once_stays_one(mark: Mark, children: list[subprocess.Popen[bytes]]) -> None:
    # A grandchild in a session of its own, without the mark: found by its parents, and known when they are dead.
    words = "env -i setsid /bin/sh -c 'echo $$; exec /bin/sleep 60' & wait"
    parent = start(children, "sh", "-c", words, mark=mark)
    tree = ProcessTree(mark)
    assert len(tree.living()) == 2
    parent.kill()
    parent.wait()
    assert len(tree.living()) == 1
    assert ProcessTree(mark).living() == set()
    assert tree.stop().how == "killed"
    assert tree.living() == set()


def test_nothing_that_lives_is_gone(mark: Mark, children: list[subprocess.Popen[bytes]]) -> None:
    other = sleeper(children, Mark(VARIABLE, f"{mark.value}-other"))
    stop = ProcessTree(mark).stop(5)
    assert (stop.how, stop.members, stop.survivors) == ("gone", 0, frozenset())
    assert other.poll() is None


def test_all_members_get_time_to_end_wherever_they_went(
    mark: Mark, children: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    leader = start(children, sys.executable, "-c", TIDY, str(tmp_path / "leader"), mark=mark)
    start(children, sys.executable, "-c", TIDY, str(tmp_path / "away"), mark=mark)
    stop = ProcessTree(mark, leader.pid).stop(20)
    assert (stop.how, stop.members) == ("drained", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away", "leader"]


def test_whoever_does_not_drain_is_killed(mark: Mark, children: list[subprocess.Popen[bytes]]) -> None:
    process = start(children, sys.executable, "-c", STUBBORN, mark=mark)
    tree = ProcessTree(mark, process.pid)
    began = time.monotonic()
    stop = tree.stop(0.5)
    assert (stop.how, stop.members, stop.survivors) == ("killed", 1, frozenset())
    assert time.monotonic() - began >= 0.5
    assert tree.living() == set()


def test_without_time_to_drain_it_is_killed_at_once(
    mark: Mark, children: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    start(children, sys.executable, "-c", TIDY, str(tmp_path / "drained"), mark=mark)
    assert ProcessTree(mark).stop().how == "killed"
    assert not list(tmp_path.iterdir())


def test_the_loop_goes_on_while_it_is_stopped_aside(mark: Mark, children: list[subprocess.Popen[bytes]]) -> None:
    process = start(children, sys.executable, "-c", STUBBORN, mark=mark)

    async def stop() -> int:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await anyio.sleep(0.01)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            assert (await ProcessTree(mark, process.pid).stop_aside(0.5)).how == "killed"
            tasks.cancel_scope.cancel()
        return beats

    assert anyio.run(stop) > 5


SANDBOX = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent")


@pytest.mark.parametrize("depth", [1, 2])
def test_what_runs_in_a_namespace_of_processes_has_its_time_to_drain(
    depth: int, children: list[subprocess.Popen[bytes]], mark: Mark, tmp_path: Path
) -> None:
    if subprocess.run(["bwrap", *SANDBOX, "true"], capture_output=True).returncode:
        pytest.skip("bubblewrap does not work here")
    program = (sys.executable, "-S", "-c", TIDY, str(tmp_path / "drained"))
    words = ("bwrap", *SANDBOX, "--bind", str(tmp_path), str(tmp_path)) * depth
    sandbox = start(children, *words, *program, mark=mark)
    stopped = ProcessTree(mark, sandbox.pid).stop(10)
    assert (stopped.how, stopped.survivors) == ("drained", frozenset())
    assert (tmp_path / "drained").exists()
    assert sandbox.wait(5) == 0


def test_a_sandbox_whose_program_does_not_drain_is_killed(children: list[subprocess.Popen[bytes]], mark: Mark) -> None:
    if subprocess.run(["bwrap", *SANDBOX, "true"], capture_output=True).returncode:
        pytest.skip("bubblewrap does not work here")
    sandbox = start(children, "bwrap", *SANDBOX, sys.executable, "-S", "-c", STUBBORN, mark=mark)
    assert ProcessTree(mark, sandbox.pid).stop(0.3).how == "killed"
