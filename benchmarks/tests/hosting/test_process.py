"""Services that outlive their command: found by what they are, stopped whole, and nobody else harmed."""

import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from ports import port_for_a_server
from swetrials.hosting import process
from swetrials.hosting.process import Service, ServiceError, Waiting
from swetrials.store.files import read_record, write_record

SLEEPS = "import time; print('up', flush=True); time.sleep(60)"
IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)
LEAVES_A_WORKER = (
    "import os, time\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    time.sleep(60)\n"
    "print('up', flush=True); time.sleep(float(os.environ.get('LIVES', '60')))\n"
)


class Place:
    """A folder for services, with the programs that were started in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "run"
        self.token = secrets.token_hex(8)

    def start(self, code: str, *, port: int | None = None, environment: Mapping[str, str] | None = None) -> Service:
        """Start a Python program as the service "svc"."""
        return process.start(
            self.folder,
            "svc",
            (sys.executable, "-S", "-c", code),
            environment={"TEST_TOKEN": self.token, **(environment or {})},
            cwd=self.folder.parent,
            port=port,
            notes={"model": "m"},
        )

    def start_and_wait(self, code: str, **environment: str) -> Service:
        """Start a program and wait until it has said "up"."""
        service = self.start(code, environment=environment)
        process.wait_until_ready(service, lambda: process.tail(service.log) == ["up"], timeout_seconds=20)
        return service

    def alive(self) -> list[psutil.Process]:
        """Return the living processes of everything that was started here."""
        found = []
        for candidate in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if candidate.environ().get("TEST_TOKEN") == self.token and candidate.status() != psutil.STATUS_ZOMBIE:
                    found.append(candidate)
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for left in place.alive():
        with suppress(psutil.Error):
            left.kill()


def wait_for(condition: object, seconds: float = 10) -> None:
    assert callable(condition)
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_a_service_runs_apart_and_is_found_again(place: Place) -> None:
    service = place.start("import sys; print(repr(sys.stdin.read())); print('err', file=sys.stderr)\n" + SLEEPS)
    wait_for(lambda: sorted(process.tail(service.log)) == ["''", "err", "up"])

    assert process.find(place.folder, "svc") == service
    assert process.running(service)
    assert os.getsid(service.pid) == service.pid != os.getsid(0)
    assert psutil.Process(service.pid).cwd() == str(place.folder.parent)
    assert stat.S_IMODE(service.log.stat().st_mode) == 0o600
    assert (service.notes, service.port) == ({"model": "m"}, None)

    stopped = process.stop(place.folder, "svc")

    assert stopped is not None
    assert stopped.how == "drained"
    assert place.alive() == []
    assert not process.running(service)
    assert process.find(place.folder, "svc") is None
    assert process.stop(place.folder, "svc") is None


def test_a_service_outlives_the_command_that_started_it(place: Place) -> None:
    code = (
        "import sys; from pathlib import Path; from swetrials.hosting import process\n"
        f"process.start(Path({str(place.folder)!r}), 'svc', (sys.executable, '-S', '-c', {SLEEPS!r}),"
        f" environment={{'TEST_TOKEN': {place.token!r}}}, cwd=Path({str(place.folder.parent)!r}), port=None)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL)

    found = process.find(place.folder, "svc")

    assert found is not None
    assert [one.pid for one in place.alive()] == [found.pid]
    stopped = process.stop(place.folder, "svc")
    assert stopped is not None
    assert place.alive() == []


def test_a_service_that_ignores_term_is_killed(place: Place) -> None:
    place.start_and_wait(IGNORES_TERM)
    started = time.monotonic()
    stopped = process.stop(place.folder, "svc", drain_seconds=0.5)
    assert stopped is not None
    assert stopped.how == "killed"
    assert 0.5 <= time.monotonic() - started < 20
    assert place.alive() == []


def test_workers_that_left_the_session_are_stopped_with_it(place: Place) -> None:
    place.start_and_wait(LEAVES_A_WORKER)
    assert len(place.alive()) == 2
    process.stop(place.folder, "svc")
    assert place.alive() == []


@pytest.mark.parametrize("by", ["stop", "start"])
def test_workers_of_a_service_that_died_are_cleared_up(place: Place, by: str) -> None:
    service = place.start(LEAVES_A_WORKER, environment={"LIVES": "0"})
    wait_for(lambda: not process.running(service))
    [worker] = place.alive()

    assert process.find(place.folder, "svc") is None
    if by == "stop":
        process.stop(place.folder, "svc")
        assert place.alive() == []
    else:
        fresh = place.start_and_wait(SLEEPS)
        assert [one.pid for one in place.alive()] == [fresh.pid]
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_the_group_of_a_dead_leader_is_still_its_own(place: Place) -> None:
    # The worker wiped its environment, as programs do that rename themselves; one in its group still has the mark.
    code = (
        "import os, subprocess, sys\n"
        "sleep = [sys.executable, '-S', '-c', 'import time; time.sleep(60)']\n"
        "one = subprocess.Popen(sleep, env={}); two = subprocess.Popen(sleep)\n"
        "print(one.pid, two.pid, flush=True); os._exit(0)\n"
    )
    service = place.start(code)
    wait_for(lambda: not process.running(service))
    workers = [psutil.Process(int(pid)) for pid in process.tail(service.log)[0].split()]
    stopped = process.stop(place.folder, "svc")
    assert stopped is not None
    assert stopped.how == "drained"
    assert psutil.wait_procs(workers, timeout=5)[1] == []


def test_a_program_that_got_the_pid_is_left_alone(place: Place) -> None:
    service = place.start_and_wait(SLEEPS)
    process.stop(place.folder, "svc")
    with subprocess.Popen([sys.executable, "-S", "-c", SLEEPS], start_new_session=True) as stranger:
        try:
            started_before = {"pid": stranger.pid, "started_seconds": service.started_seconds - 60}
            write_record(place.folder / "svc.json", service.model_copy(update=started_before))

            assert process.find(place.folder, "svc") is None
            stopped = process.stop(place.folder, "svc")

            assert stopped is not None
            assert stopped.how == "gone"
            assert stranger.poll() is None
            assert not (place.folder / "svc.json").exists()
        finally:
            stranger.kill()


def test_a_clock_that_was_set_does_not_lose_a_service(place: Place) -> None:
    service = place.start_and_wait(SLEEPS)
    moved = service.model_copy(update={"started_seconds": service.started_seconds - 3600})
    write_record(place.folder / "svc.json", moved)
    assert process.find(place.folder, "svc") == moved
    process.stop(place.folder, "svc")
    assert place.alive() == []


def test_a_death_before_it_is_ready_is_told_at_once_with_the_end_of_its_log(place: Place) -> None:
    service = place.start("print('\\x1b[31mno such model\\x1b[0m'); raise SystemExit(3)")
    started = time.monotonic()
    with pytest.raises(ServiceError) as caught:
        process.wait_until_ready(service, lambda: False, timeout_seconds=30)
    assert time.monotonic() - started < 20
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("svc ended after ")
    assert first.endswith(f"the end of {service.log}:")
    assert rest == ["  no such model"]


def test_what_answers_after_the_service_died_is_not_the_service(place: Place) -> None:
    service = place.start("raise SystemExit(0)")
    wait_for(lambda: not process.running(service))
    with pytest.raises(ServiceError, match="its log is empty"):
        process.wait_until_ready(service, lambda: True, timeout_seconds=30)


def test_not_ready_in_time(place: Place) -> None:
    service = place.start_and_wait(SLEEPS)
    seen: list[Waiting] = []
    with pytest.raises(ServiceError, match=rf"svc \(pid {service.pid}\) is not ready after"):
        process.wait_until_ready(
            service, lambda: False, timeout_seconds=0.3, pause_seconds=0.05, on_progress=seen.append
        )
    assert process.running(service)
    assert len(seen) >= 2
    assert {waiting.last_line for waiting in seen} == {"up"}


def test_one_service_of_a_name_at_a_time(place: Place) -> None:
    service = place.start(SLEEPS)
    with pytest.raises(ServiceError, match=f"svc is running already: pid {service.pid}"):
        place.start(SLEEPS)
    assert process.find(place.folder, "svc") == service


def test_a_port_that_is_taken(place: Place) -> None:
    with socket.create_server((process.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServiceError, match=f"port {port} on 127.0.0.1 is taken"):
            place.start(SLEEPS, port=port)
    assert place.alive() == []
    assert process.find(place.folder, "svc") is None


def test_a_stopped_service_has_let_go_of_its_port(place: Place) -> None:
    """The threads of a dead program may hold a port for longer than its first one lives: here somebody else does."""
    port = port_for_a_server()
    service = place.start(SLEEPS, port=port)
    held = socket.create_server((process.HOST, port))
    letting_go = threading.Timer(0.5, held.close)
    letting_go.start()
    assert process.stop(place.folder, service.name) is not None
    assert process.port_is_free(port)
    letting_go.join()


@pytest.mark.parametrize(("program", "cwd"), [("no-such-program", "."), (sys.executable, "no-such-folder")])
def test_what_cannot_be_started_leaves_no_state(place: Place, program: str, cwd: str) -> None:
    missing = program if program != sys.executable else cwd
    with pytest.raises(ServiceError, match=f"cannot start {program}: No such file or directory: .*{missing}"):
        process.start(place.folder, "svc", (program,), environment={}, cwd=place.folder.parent / cwd, port=None)
    assert process.stop(place.folder, "svc") is None


def test_a_state_file_that_is_no_record_is_named(place: Place) -> None:
    place.folder.mkdir()
    (place.folder / "svc.json").write_text("{")
    for act in (process.find, process.stop):
        with pytest.raises(ServiceError, match=r"svc\.json: not JSON"):
            act(place.folder, "svc")


def test_the_state_holds_no_environment(place: Place) -> None:
    service = place.start(SLEEPS, environment={"API_KEY": "secret-of-the-service"})
    assert read_record(place.folder / "svc.json", Service) == service
    files = [path for path in place.folder.iterdir() if path.is_file()]
    assert len(files) == 3
    assert not [path for path in files if b"secret-of-the-service" in path.read_bytes()]


def test_the_dead_are_collected(place: Place) -> None:
    service = place.start(SLEEPS)
    os.kill(service.pid, signal.SIGKILL)
    wait_for(lambda: not process.running(service) and not psutil.pid_exists(service.pid))
