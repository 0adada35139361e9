"""Process groups: every way to end, and nothing left afterwards."""

import errno
import os
import secrets
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from swetrials.workspace.processes import (
    MARK,
    Command,
    Ended,
    LaunchError,
    ProcessLimits,
    kill_running,
    run_captured,
    run_group,
    stop_marked,
)
from workspace.marked import is_alive, living

PATIENT = ProcessLimits(wall_seconds=30, drain_seconds=5)
HASTY = ProcessLimits(wall_seconds=0.5, drain_seconds=0.3)

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)
LEAVES_GROUP = "import os, time; os.fork() or (os.setsid(), time.sleep(60)); time.sleep(60)"
DOUBLE_FORK = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    os.fork() and os._exit(0)\n"
    "    time.sleep(60)\n"
    "os.wait(); print('up', flush=True)\n"
)


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", code, *arguments)


class Ran:
    """One program, run to its end: how it ended, what it printed, what is left of it."""

    def __init__(
        self,
        folder: Path,
        argv: tuple[str, ...],
        limits: ProcessLimits = PATIENT,
        *,
        final_word: bytes | None = None,
        stdin: Path | None = None,
    ) -> None:
        self.mark = f"test-{secrets.token_hex(8)}"
        self.output = b""
        self._final_word = final_word
        command = Command(argv, folder, {"PATH": os.environ["PATH"]})
        run = partial(
            run_group, command, limits, mark=self.mark, on_output=self._take, stderr=folder / "stderr", stdin=stdin
        )
        started = time.monotonic()
        self.ended: Ended = anyio.run(run)
        self.seconds = time.monotonic() - started
        self.stderr = (folder / "stderr").read_bytes()
        self.left = living(self.mark)

    def _take(self, data: bytes) -> bool:
        self.output += data
        return self._final_word is not None and self._final_word in self.output


def test_a_program_that_ends_by_itself(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ("sh", "-c", "echo out; echo err >&2; pwd; exit 7"))
    assert ran.ended.cause == "exited"
    assert ran.ended.exit_code == 7
    assert ran.ended.survivors == 0
    assert ran.output == f"out\n{tmp_path}\n".encode()
    assert ran.stderr == b"err\n"
    assert 0 < ran.ended.wall_seconds <= ran.seconds
    lasted = (ran.ended.ended_at - ran.ended.started_at).total_seconds()
    assert lasted == pytest.approx(ran.ended.wall_seconds, abs=1e-5)
    assert ran.ended.started_at.tzinfo is not None


def test_the_environment_is_what_was_given_and_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_INVOKER", "s3cret")
    ran = Ran(tmp_path, ("env",))
    names = {line.partition(b"=")[0] for line in ran.output.splitlines()}
    assert names == {b"PATH", MARK.encode()}


def test_stdin_is_empty_or_a_file(tmp_path: Path) -> None:
    assert Ran(tmp_path, ("cat",)).output == b""
    (tmp_path / "in").write_bytes(b"words")
    assert Ran(tmp_path, ("cat",), stdin=tmp_path / "in").output == b"words"


def test_the_program_leads_a_session_of_its_own(tmp_path: Path) -> None:
    ran = Ran(tmp_path, python("import os; print(os.getpid(), os.getpgrp(), os.getsid(0))"))
    assert len(set(ran.output.split())) == 1
    assert int(ran.output.split()[0]) != os.getsid(0)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("/nonsuch/program",), "cannot start /nonsuch/program: No such file or directory"),
        (("/",), "cannot start /: Permission denied"),
        (("echo", "a\0b"), "cannot start echo: embedded null byte"),
    ],
)
def test_what_cannot_be_started_is_one_line(tmp_path: Path, argv: tuple[str, ...], words: str) -> None:
    with pytest.raises(LaunchError) as caught:
        Ran(tmp_path, argv)
    assert str(caught.value) == words


def test_a_missing_working_folder_is_said(tmp_path: Path) -> None:
    run = partial(run_captured, Command(("true",), tmp_path / "gone", {}), PATIENT, mark="test-gone")
    with pytest.raises(LaunchError, match=f"^cannot start true: there is no folder {tmp_path}/gone$"):
        anyio.run(run)


def test_the_wall_limit_does_not_need_output(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ("sleep", "60"), HASTY)
    assert ran.ended.cause == "wall_limit"
    assert ran.ended.exit_code == -signal.SIGTERM
    assert 0.5 <= ran.ended.wall_seconds < 15


def test_the_wall_limit_does_not_mind_output(tmp_path: Path) -> None:
    ran = Ran(tmp_path, python("import time\nwhile True: print('x', flush=True); time.sleep(0.02)"), HASTY)
    assert ran.ended.cause == "wall_limit"
    assert ran.output.count(b"x") > 5


def test_silence_is_idle_and_slow_output_is_not(tmp_path: Path) -> None:
    limits = ProcessLimits(wall_seconds=30, idle_seconds=1, drain_seconds=1)
    code = "import time\nfor n in range(7): print(n, flush=True); time.sleep(0.2)\ntime.sleep(60)"
    ran = Ran(tmp_path, python(code), limits)
    assert ran.ended.cause == "idle_limit"
    assert ran.output.split() == [b"%d" % n for n in range(7)]
    assert 2.1 <= ran.ended.wall_seconds < 25


def test_grace_after_the_final_word(tmp_path: Path) -> None:
    limits = ProcessLimits(wall_seconds=30, idle_seconds=20, grace_seconds=0.3, drain_seconds=1)
    ran = Ran(tmp_path, ("sh", "-c", "echo result; sleep 60"), limits, final_word=b"result")
    assert ran.ended.cause == "grace"
    assert 0.3 <= ran.ended.wall_seconds < 15
    assert ran.left == []


def test_a_program_that_ends_within_its_grace_has_exited(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ("sh", "-c", "echo result; sleep 0.2; echo more"), final_word=b"result")
    assert (ran.ended.cause, ran.ended.exit_code) == ("exited", 0)
    assert ran.output == b"result\nmore\n"


def test_other_limits_do_not_count_after_the_final_word(tmp_path: Path) -> None:
    limits = ProcessLimits(wall_seconds=0.4, idle_seconds=0.2, grace_seconds=20)
    ran = Ran(tmp_path, ("sh", "-c", "echo result; sleep 0.8"), limits, final_word=b"result")
    assert (ran.ended.cause, ran.ended.exit_code) == ("exited", 0)


def test_output_is_read_while_the_program_drains(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def bye(*_):\n    time.sleep(0.2); print('last words', flush=True); sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, bye); print('up', flush=True); time.sleep(60)"
    )
    ran = Ran(tmp_path, python(code), ProcessLimits(wall_seconds=0.8, drain_seconds=5))
    assert ran.output == b"up\nlast words\n"
    assert (ran.ended.cause, ran.ended.exit_code) == ("wall_limit", 3)


def test_term_is_followed_by_kill(tmp_path: Path) -> None:
    ran = Ran(tmp_path, python(IGNORES_TERM), ProcessLimits(wall_seconds=0.8, drain_seconds=0.3))
    assert ran.output == b"up\n"
    assert ran.ended.exit_code == -signal.SIGKILL
    assert ran.ended.survivors == 0
    assert ran.left == []


@pytest.mark.parametrize("code", [LEAVES_GROUP, DOUBLE_FORK, f"import os; os.fork(); os.fork(); {IGNORES_TERM}"])
def test_nothing_is_left_at_a_limit(tmp_path: Path, code: str) -> None:
    ran = Ran(tmp_path, ("sh", "-c", '"$@"; sleep 60', "sh", *python(code)), HASTY)
    assert ran.ended.cause == "wall_limit"
    assert ran.ended.survivors == 0
    assert ran.left == []


@pytest.mark.parametrize("background", ["sleep 60", "setsid sleep 60", "nohup sh -c 'setsid sleep 60 & sleep 60'"])
def test_nothing_is_left_of_a_program_that_ends_by_itself(tmp_path: Path, background: str) -> None:
    ran = Ran(tmp_path, ("sh", "-c", f"{background} & echo done"), ProcessLimits(wall_seconds=30, drain_seconds=0.3))
    assert (ran.ended.cause, ran.ended.exit_code, ran.ended.survivors) == ("exited", 0, 0)
    assert b"done" in ran.output
    assert ran.left == []
    assert ran.seconds < 20


def test_descendants_without_the_mark_are_stopped(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    shell = f"env -i setsid sh -c 'echo $$ > {pid_file}; exec sleep 60' & sleep 60"
    ran = Ran(tmp_path, ("sh", "-c", shell), HASTY)
    assert ran.ended.survivors == 0
    assert not is_alive(int(pid_file.read_text()))


def test_a_grandchild_that_holds_the_pipe_does_not_hold_us(tmp_path: Path) -> None:
    # It has cleared its environment, left the group and lost its parents before anybody looks: only this test
    # knows it. Its open pipe must not keep the run from ending.
    pid_file = tmp_path / "pid"
    inner = f"echo $$ > {pid_file}; exec sleep 60"
    wait = f"while [ ! -s {pid_file} ]; do sleep 0.02; done; echo done"
    shell = f"env -i PATH=\"$PATH\" setsid -f sh -c '{inner}'; {wait}"
    try:
        ran = Ran(tmp_path, ("sh", "-c", shell), ProcessLimits(wall_seconds=30, drain_seconds=0.3))
        assert (ran.ended.cause, ran.ended.exit_code) == ("exited", 0)
        assert ran.output == b"done\n"
        assert ran.seconds < 20
    finally:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_a_program_that_closes_its_output_goes_on(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ("sh", "-c", "exec >&-; sleep 0.3; exit 4"))
    assert (ran.ended.cause, ran.ended.exit_code) == ("exited", 4)


def test_what_the_consumer_raises_stops_the_program_and_is_passed_on(tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"

    def full(data: bytes) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    command = Command(("sh", "-c", "echo x; sleep 60"), tmp_path, {"PATH": os.environ["PATH"]})
    run = partial(run_group, command, PATIENT, mark=mark, on_output=full, stderr=tmp_path / "stderr")
    started = time.monotonic()
    with pytest.raises(OSError, match="No space left") as caught:
        anyio.run(run)
    assert caught.value.errno == errno.ENOSPC
    assert time.monotonic() - started < 20
    assert living(mark) == []


@pytest.mark.parametrize("after_seconds", [0.0, 0.4])
def test_a_cancelled_caller_leaves_nothing(tmp_path: Path, after_seconds: float) -> None:
    mark = f"test-{secrets.token_hex(8)}"
    command = Command(python(IGNORES_TERM), tmp_path, {})
    limits = ProcessLimits(wall_seconds=30, drain_seconds=0.2)
    returned = False

    async def caller() -> bool:
        nonlocal returned
        with anyio.move_on_after(after_seconds) as scope:
            await run_group(command, limits, mark=mark, on_output=lambda data: False, stderr=tmp_path / "stderr")
            returned = True
        return scope.cancelled_caught

    assert anyio.run(caller)
    assert not returned
    assert living(mark) == []


def test_draining_can_be_cut_short(tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"
    began = time.monotonic()

    async def caller() -> None:
        async with anyio.create_task_group() as group:

            def up(data: bytes) -> bool:
                group.cancel_scope.cancel()
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                return False

            command = Command(python(IGNORES_TERM), tmp_path, {})
            limits = ProcessLimits(wall_seconds=30, drain_seconds=20)
            await run_group(command, limits, mark=mark, on_output=up, stderr=tmp_path / "stderr")

    before = signal.signal(signal.SIGALRM, lambda *_: kill_running())
    try:
        anyio.run(caller)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert 0.3 < time.monotonic() - began < 15
    assert living(mark) == []


def test_concurrent_programs_do_not_stop_each_other(tmp_path: Path) -> None:
    ends: dict[str, Ended] = {}

    async def one(name: str, seconds: str, limits: ProcessLimits) -> None:
        command = Command(("sleep", seconds), tmp_path, {"PATH": os.environ["PATH"]})
        ends[name], _ = await run_captured(command, limits, mark=f"test-{name}-{os.getpid()}")

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "short", "60", ProcessLimits(wall_seconds=0.2, drain_seconds=0.2))
            tasks.start_soon(one, "long", "1", PATIENT)

    anyio.run(both)
    assert ends["short"].cause == "wall_limit"
    assert (ends["long"].cause, ends["long"].exit_code) == ("exited", 0)


FLOOD_BYTES = 100_000_000
FLOOD = f"""
import resource, sys
from functools import partial
from pathlib import Path
import anyio
from swetrials.workspace.processes import Command, ProcessLimits, run_captured, run_group

seen = 0
def count(data):
    global seen
    seen += len(data)
    return False

def flood(how):
    command = Command(("head", "-c", "{FLOOD_BYTES}", "/dev/zero"), Path("/"), {{"PATH": sys.argv[1]}})
    return anyio.run(partial(how, command, ProcessLimits(60), mark="test-flood-" + sys.argv[2]))

flood(run_captured)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
flood(partial(run_group, on_output=count, stderr=Path("/dev/null")))
ended, tail = flood(run_captured)
print(seen, len(tail), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_flood_of_output_takes_no_memory(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", FLOOD, os.environ["PATH"], secrets.token_hex(4)]
    printed = subprocess.run(argv, capture_output=True, check=True, timeout=60).stdout.split()
    seen, tail_bytes, grown_kib = (int(word) for word in printed)
    assert seen == FLOOD_BYTES
    assert tail_bytes == 20_000
    assert grown_kib < 5_000


def test_the_end_of_both_outputs_is_captured(tmp_path: Path) -> None:
    command = Command(("sh", "-c", "echo one; echo two >&2; echo three"), tmp_path, {"PATH": os.environ["PATH"]})
    for tail_bytes, expected in ((100, b"one\ntwo\nthree\n"), (9, b"wo\nthree\n"), (14, b"one\ntwo\nthree\n")):
        run = partial(run_captured, command, PATIENT, mark=f"test-tail-{os.getpid()}", tail_bytes=tail_bytes)
        ended, tail = anyio.run(run)
        assert ended.exit_code == 0
        assert tail == expected


def test_stop_marked_kills_what_carries_the_mark_and_nothing_else(tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"
    three = ["sh", "-c", "setsid sleep 60 & sleep 60 & exec sleep 60"]
    marked = subprocess.Popen(three, env=os.environ | {MARK: mark}, start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], env=os.environ | {MARK: f"{mark}-other"})
    try:
        give_up_at = time.monotonic() + 10
        while len(living(mark)) < 3:
            assert time.monotonic() < give_up_at
            time.sleep(0.02)
        assert stop_marked(mark) == 3
        assert living(mark) == []
        assert marked.wait(5) == -signal.SIGKILL
        assert other.poll() is None
        assert stop_marked(mark) == 0
    finally:
        other.kill()
        other.wait()


def test_what_is_passed_on_is_open_in_the_program_and_nothing_else(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"passed\n")
        found = "[n for n in map(int, os.listdir('/dev/fd')) if n > 2 and os.path.exists(f'/dev/fd/{n}')]"
        code = f"import os; print({found}, os.read({reading}, 9))"
        command = Command(python(code), tmp_path, {}, pass_fds=(reading,))
        ended, tail = anyio.run(partial(run_captured, command, PATIENT, mark=f"test-fds-{os.getpid()}"))
    finally:
        os.close(reading)
        os.close(writing)
    assert (ended.exit_code, tail) == (0, f"[{reading}] b'passed\\n'\n".encode())


def test_limits_count_from_the_moment_that_what_was_awaited_is_over(tmp_path: Path) -> None:
    limits = ProcessLimits(wall_seconds=0.6, idle_seconds=0.5, drain_seconds=0.3)
    seen: list[bytes] = []
    pids: list[int] = []

    async def started(pid: int) -> None:
        pids.append(pid)
        with anyio.fail_after(20):
            while b"".join(seen) != b"up\n":
                await anyio.sleep(0.01)
        await anyio.sleep(1)

    def take(data: bytes) -> bool:
        seen.append(data)
        return False

    command = Command(
        ("sh", "-c", "echo up; echo $$ > pid; sleep 1.2; echo over"), tmp_path, {"PATH": os.environ["PATH"]}
    )
    run = partial(
        run_group, command, limits, mark=f"test-begun-{os.getpid()}", on_output=take, stderr=tmp_path / "stderr"
    )
    began = time.monotonic()
    ended = anyio.run(partial(run, started=started))
    assert (ended.cause, ended.exit_code) == ("exited", 0)
    assert pids == [int((tmp_path / "pid").read_text())]
    assert b"".join(seen) == b"up\nover\n"
    assert ended.wall_seconds <= time.monotonic() - began - 1


def test_what_is_raised_before_the_time_counts_stops_the_program_and_is_passed_on(tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"

    async def started(pid: int) -> None:
        raise LookupError("not there")

    command = Command(("sh", "-c", "setsid sleep 60 & sleep 60"), tmp_path, {"PATH": os.environ["PATH"]})
    with pytest.raises(LookupError, match=r"^not there$"):
        anyio.run(partial(run_captured, command, HASTY, mark=mark, started=started))
    assert living(mark) == []


def test_a_program_that_ends_while_something_is_awaited_has_exited(tmp_path: Path) -> None:
    async def started(pid: int) -> None:
        await anyio.sleep(0.3)

    run = partial(run_captured, Command(("false",), tmp_path, {"PATH": os.environ["PATH"]}), PATIENT, mark="test-soon")
    ended, _ = anyio.run(partial(run, started=started))
    assert (ended.cause, ended.exit_code, ended.wall_seconds) == ("exited", 1, 0.0)


def test_a_cancellation_while_something_is_awaited_leaves_nothing(tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"

    async def caller() -> bool:
        with anyio.move_on_after(0.3) as scope:
            command = Command(("sleep", "60"), tmp_path, {"PATH": os.environ["PATH"]})
            await run_captured(command, HASTY, mark=mark, started=lambda pid: anyio.sleep_forever())
        return scope.cancelled_caught

    assert anyio.run(caller)
    assert living(mark) == []
