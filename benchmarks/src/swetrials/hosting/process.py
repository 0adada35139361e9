"""A service that outlives the command which starts it: started, found again and stopped by a file that says what it is.

A pid alone is no name: the system gives it to the next program. A service is therefore known by its pid together with
the moment it started, or by a mark in its environment that nothing else carries. Nothing else is ever signalled.
"""

import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal

import psutil
from filelock import FileLock, Timeout
from pydantic import AwareDatetime

from swetrials.errors import KnownError
from swetrials.records.record import Record
from swetrials.store.files import RecordError, read_record, write_record
from swetrials.workspace.process_tree import Mark, ProcessTree, StoppedTree

MARK = "SWETRIALS_SERVICE"
"""Environment variable by which the processes of a service are known, wherever they went."""

HOST = "127.0.0.1"
"""Where services of our own listen: loopback, out of reach from other machines."""

_PAUSE_SECONDS = 0.05
_LOCK_SECONDS = 60.0
_PORT_SECONDS = 5.0
_TAIL_BYTES = 16_384
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class ServiceError(KnownError):
    """A service cannot be started or stopped; the first line says why and what mends it, the log's end may follow."""

    exit_code = 3


class Service(Record):
    """A service that was started, as its state file keeps it.

    ``started_seconds`` is the moment of the start as the system tells it, in seconds since 1970. ``notes`` are what
    the one who started it wants to know later, such as the model it serves: never a secret.
    """

    name: str
    pid: int
    started_seconds: float
    started_at: AwareDatetime
    mark: str
    port: int | None
    log: Path
    notes: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        """Where it listens, without a path."""
        return f"http://{HOST}:{self.port}"

    @property
    def age_seconds(self) -> float:
        """How long ago it was started."""
        return (datetime.now(UTC) - self.started_at).total_seconds()


@dataclass(frozen=True)
class Stopped:
    """How a service came to its end.

    Attributes:
        service: what it was.
        how: ``gone``: nothing of it lived any more; ``drained``: it ended in good order after TERM; ``killed``: it, or
            a process of it, did not.
    """

    service: Service
    how: Literal["gone", "drained", "killed"]

    @property
    def told(self) -> str:
        """How it came to it, in words."""
        words = {"gone": "it had ended already", "drained": "it ended in good order", "killed": "it had to be killed"}
        return words[self.how]


@dataclass(frozen=True)
class Waiting:
    """How far a starting service has come: seconds since the waiting began, and the last line of its log."""

    elapsed_seconds: float
    last_line: str


def start(
    folder: Path,
    name: str,
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    port: int | None,
    notes: Mapping[str, str] | None = None,
) -> Service:
    """Start a program in a session of its own, detached from whoever starts it, and write down what it is.

    Standard input is empty; output and errors go to ``<folder>/<name>.log``, begun anew. What an earlier service of
    this name left when it died is killed first. That it runs does not mean that it is ready: see
    :func:`wait_until_ready`.

    Args:
        folder: holds state file, lock and log of each service.
        name: one service of this name at a time.
        argv: words, no shell.
        environment: the whole of it; a mark is added.
        cwd: the working folder.
        port: where it will listen on loopback; ``None`` when it does not listen.
        notes: kept in the state file; no secrets.

    Raises:
        ServiceError: it runs already, the port is taken, or the program cannot be started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder, name):
        if (earlier := _recorded(folder, name)) is not None:
            if running(earlier):
                raise ServiceError(f"{name} is running already: pid {earlier.pid}, port {earlier.port}")
            _stop(earlier, drain_seconds=0)
        if port is not None and not port_is_free(port):
            raise ServiceError(f"port {port} on {HOST} is taken by another program: stop it, or choose another port")
        log = folder / f"{name}.log"
        mark = f"{name}-{secrets.token_hex(8)}"
        pid = _spawn(argv, {**environment, MARK: mark}, cwd, log)
        service = Service(
            name=name,
            pid=pid,
            started_seconds=psutil.Process(pid).create_time(),
            started_at=datetime.now(UTC),
            mark=mark,
            port=port,
            log=log,
            notes=dict(notes or {}),
        )
        write_record(_state_file(folder, name), service)
        return service


def find(folder: Path, name: str) -> Service | None:
    """Return the service of this name when it is running, whoever started it; ``None`` otherwise.

    Raises:
        ServiceError: there is a state file that cannot be understood.
    """
    service = _recorded(folder, name)
    return service if service is not None and running(service) else None


def running(service: Service) -> bool:
    """Whether the program that was started still lives: its pid, and not another program that has got that pid."""
    return _tree(service).leader() is not None


def stop(folder: Path, name: str, *, drain_seconds: float = 10.0) -> Stopped | None:
    """Stop a service with everything that belongs to it, prove that it is gone, and forget it.

    TERM to its :class:`ProcessTree`, time to end, then KILL. A service that died is cleared up just so: its workers
    may live on without it.

    Returns:
        How it ended; ``None`` when no service of this name is known.

    Raises:
        ServiceError: a process of it lives in spite of KILL, or the state file cannot be understood.
    """
    if not folder.is_dir():
        return None
    with _locked(folder, name):
        service = _recorded(folder, name)
        if service is None:
            return None
        ended = _stop(service, drain_seconds)
        _state_file(folder, name).unlink()
        return Stopped(service, ended.how)


def ask_to_end(service: Service, seconds: float) -> bool:
    """Send TERM to the program that was started, and to nothing else of it; return whether it ended in time.

    For a program that ends its own in good order, which :func:`stop` would cut across by signalling them all.
    """
    if (leader := _tree(service).leader()) is not None:
        with suppress(psutil.Error):
            leader.terminate()
    over = time.monotonic() + seconds
    while running(service) and time.monotonic() < over:
        time.sleep(_PAUSE_SECONDS)
    return not running(service)


def wait_until_ready(
    service: Service,
    check: Callable[[], bool],
    *,
    timeout_seconds: float,
    pause_seconds: float = 0.25,
    on_progress: Callable[[Waiting], None] = lambda _: None,
) -> float:
    """Wait until a service answers, and return how many seconds that took.

    Args:
        service: what was started.
        check: whether it is ready; asked again and again, so it has to come back soon and raises nothing.
        timeout_seconds: how long to wait. The service is left running when it is over.
        pause_seconds: between two questions.
        on_progress: told before each pause.

    Raises:
        ServiceError: the service died, at once when it does, or it is not ready in time; the log's end follows.
    """
    began = time.monotonic()
    while True:
        # Asked in this order: what answers after the service has died is another program.
        ready, alive = check(), running(service)
        elapsed = time.monotonic() - began
        if not alive:
            raise ServiceError(_with_tail(f"{service.name} ended after {elapsed:.0f} s, before it was ready", service))
        if ready:
            return elapsed
        if elapsed >= timeout_seconds:
            problem = f"{service.name} (pid {service.pid}) is not ready after {elapsed:.0f} s"
            raise ServiceError(_with_tail(problem, service))
        on_progress(Waiting(elapsed, (tail(service.log, 1) or [""])[-1]))
        time.sleep(pause_seconds)


def tail(log: Path, lines: int = 20) -> list[str]:
    """Return the last lines of a log that say something, without terminal codes; nothing when there is no log."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    said = [line.rstrip() for line in _TERMINAL_CODES.sub("", text).splitlines() if line.strip()]
    return said[-lines:]


def port_is_free(port: int) -> bool:
    """Whether a program could listen on a port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


_children: dict[int, subprocess.Popen[bytes]] = {}
# Services of this very process: they are meant to outlive it, yet the dead among them have to be collected.


def _spawn(argv: Sequence[str], environment: Mapping[str, str], cwd: Path, log: Path) -> int:
    try:
        with _private_file(log) as output:
            process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise ServiceError(f"cannot start {argv[0]}: {error.strerror}: {error.filename}") from None
    _children[process.pid] = process
    return process.pid


def _private_file(path: Path) -> IO[bytes]:
    # A service may print what it was asked: its log is for its owner only.
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "wb")


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    lock = FileLock(folder / f"{name}.lock", timeout=_LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise ServiceError(f"another command is starting or stopping {name}: wait for it, then try again") from None
    try:
        yield
    finally:
        lock.release()


def _state_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _recorded(folder: Path, name: str) -> Service | None:
    path = _state_file(folder, name)
    if not path.is_file():
        return None
    try:
        return read_record(path, Service)
    except RecordError as error:
        raise ServiceError(f"{error}; see what runs, then remove that file") from None


def _collect(service: Service) -> None:
    """Take note of the end of a service that this very process has started, so that the system can forget it."""
    if (child := _children.get(service.pid)) is not None:
        child.poll()


def _tree(service: Service) -> ProcessTree:
    _collect(service)
    return ProcessTree(Mark(MARK, service.mark), service.pid, service.started_seconds)


def _stop(service: Service, drain_seconds: float) -> StoppedTree:
    ended = _tree(service).stop(drain_seconds)
    _collect(service)
    if ended.survivors:
        pids = ", ".join(str(process.pid) for process in ended.survivors)
        raise ServiceError(f"{service.name}: alive in spite of KILL: pid {pids}")
    if service.port is not None:
        _wait_for_free(service.port)
    return ended


def _wait_for_free(port: int) -> None:
    """Give the threads of a dead program a moment to let go of its port: they may outlive the thread that was first.

    Whoever holds it for longer is another program, of which the next start tells.
    """
    over = time.monotonic() + _PORT_SECONDS
    while not port_is_free(port) and time.monotonic() < over:
        time.sleep(_PAUSE_SECONDS)


def _with_tail(problem: str, service: Service) -> str:
    lines = tail(service.log)
    if not lines:
        return f"{problem}; its log is empty: {service.log}"
    return "\n".join((f"{problem}; the end of {service.log}:", *(f"  {line}" for line in lines)))
