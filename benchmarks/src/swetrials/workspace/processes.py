"""Running a program so that nothing of it is left: own group, limits that do not depend on output, and proof."""

import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Literal

import anyio
import anyio.abc
from anyio.to_thread import run_sync

from swetrials.errors import KnownError
from swetrials.workspace.process_tree import Mark, ProcessTree, kill_group

MARK = "ATTEMPT_ID"
"""Environment variable by which the processes of an attempt are known, wherever they went."""

Cause = Literal["exited", "grace", "wall_limit", "idle_limit", "budget", "cancelled"]
"""What ended a program. ``exited``: itself. ``grace``: it had said its final word and did not exit. ``budget``
and ``cancelled`` are for callers' records: :func:`run_group` passes a cancellation on instead of returning."""

Started = Callable[[int], Awaitable[None]]
"""What is awaited with a program's pid before its time begins to count, while its output is already read."""

_running: set[int] = set()
# Process groups that are watched, by their leaders.

_elsewhere: list[Callable[[], None]] = []
# What kills programs that somebody else runs for us.

_CHUNK_BYTES = 1 << 18
_EXIT_SECONDS = 5.0


class LaunchError(KnownError):
    """A program cannot be started; the message is one line."""


@dataclass(frozen=True)
class Command:
    """What to start: words (no shell), the working folder, the whole environment, and open files it inherits."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProcessLimits:
    """How long a program may take, and how long it is given to end.

    Attributes:
        wall_seconds: from start to end. Where something is awaited before its time counts, that is the start.
        idle_seconds: between two outputs; ``None`` for no limit.
        grace_seconds: from its final word to its end.
        drain_seconds: from TERM to KILL.
    """

    wall_seconds: float
    idle_seconds: float | None = None
    grace_seconds: float = 5.0
    drain_seconds: float = 3.0


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    Attributes:
        exit_code: negative for the signal that ended it; ``None`` when even KILL did not.
        cause: what ended it.
        wall_seconds: from start to end, on a clock that nobody sets; the start is where the limits begin to count.
        survivors: its processes that are alive in spite of KILL; anything but 0 is a fault.
        started_at: in UTC.
        ended_at: in UTC.
    """

    exit_code: int | None
    cause: Cause
    wall_seconds: float
    survivors: int
    started_at: datetime
    ended_at: datetime


async def run_group(
    command: Command,
    limits: ProcessLimits,
    *,
    mark: str,
    on_output: Callable[[bytes], bool],
    stderr: Path,
    stdin: Path | None = None,
    started: Started | None = None,
) -> Ended:
    """Run a program in a session and process group of its own, and leave nothing of it behind.

    However it ends, by itself too, everything that belongs to its :class:`ProcessTree` is stopped: TERM, time to
    drain while output is still read, then KILL. What no look can tell apart dies with its process namespace in the
    sandbox all the same. Memory use is constant.

    Args:
        command: what to start; ``ATTEMPT_ID`` is added to its environment.
        limits: how long it may take.
        mark: the value of ``ATTEMPT_ID``, unlike any other's.
        on_output: gets standard output as it comes, cut anywhere; returns True once the program has said its
            final word. What it raises stops the program and is passed on.
        stderr: file for the standard error.
        stdin: file for the standard input; by default it is empty.
        started: awaited with the pid once the program runs. The limits begin to count when it has returned, so it
            has to come to an end itself, also when the program is gone. What it raises stops the program and is
            passed on.

    Raises:
        LaunchError: the program cannot be started.
        OSError: ``stderr`` cannot be written or ``stdin`` not be read.
    """
    with stderr.open("wb") as file:
        return await _run(command, limits, mark, on_output, file, stdin, started)


async def run_captured(
    command: Command,
    limits: ProcessLimits,
    *,
    mark: str,
    tail_bytes: int = 20_000,
    started: Started | None = None,
) -> tuple[Ended, bytes]:
    """Run a program as :func:`run_group` does and return the end of its output, standard error included.

    Raises:
        LaunchError: the program cannot be started.
    """
    tail = bytearray()

    def keep(data: bytes) -> bool:
        tail.extend(data)
        del tail[:-tail_bytes]
        return False

    ended = await _run(command, limits, mark, keep, subprocess.STDOUT, None, started)
    return ended, bytes(tail)


def stop_marked(mark: str) -> int:
    """Kill every process that carries a mark and return how many there were.

    For clearing up after a harness that was killed itself.
    """
    return ProcessTree(Mark(MARK, mark)).stop().members


def kill_running() -> None:
    """Kill what :func:`run_group` and :func:`run_captured` run, without giving it time to drain.

    Whoever waits for it goes on as ever. It may be called from a signal handler.
    """
    for leader in list(_running):
        kill_group(leader)
    for kill in list(_elsewhere):
        kill()


@contextmanager
def killed_too(kill: Callable[[], None]) -> Iterator[None]:
    """Have :func:`kill_running` call ``kill`` as well while the block runs, possibly from a signal handler."""
    _elsewhere.append(kill)
    try:
        yield
    finally:
        _elsewhere.remove(kill)


async def _run(
    command: Command,
    limits: ProcessLimits,
    mark: str,
    on_output: Callable[[bytes], bool],
    stderr: IO[bytes] | int,
    stdin: Path | None,
    started: Started | None,
) -> Ended:
    # A pipe of our own: the one that asyncio would make can keep it from noticing the program's end for as
    # long as a grandchild holds the other end.
    read_end, write_end = os.pipe()
    try:
        try:
            process = await _start(command, mark, write_end, stderr, stdin)
        finally:
            os.close(write_end)
        return await _Watch(process, mark, limits, on_output).run(read_end, started)
    finally:
        os.close(read_end)


async def _start(
    command: Command, mark: str, stdout: int, stderr: IO[bytes] | int, stdin: Path | None
) -> anyio.abc.Process:
    with (stdin or Path(os.devnull)).open("rb") as source:
        try:
            # A cancellation here would lose hold of a program that has just been started.
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    list(command.argv),
                    cwd=command.cwd,
                    env={**command.environment, MARK: mark},
                    stdin=source,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=command.pass_fds,
                )
        except OSError as error:
            if not command.cwd.is_dir():
                raise LaunchError(f"cannot start {command.argv[0]}: there is no folder {command.cwd}") from None
            raise LaunchError(f"cannot start {command.argv[0]}: {error.strerror}") from None
        except ValueError as error:
            raise LaunchError(f"cannot start {command.argv[0]}: {error}") from None
    return process


class _Watch:
    """One running program: what was seen of it, and how it is stopped."""

    def __init__(
        self, process: anyio.abc.Process, mark: str, limits: ProcessLimits, on_output: Callable[[bytes], bool]
    ) -> None:
        self._process = process
        self._tree = ProcessTree(Mark(MARK, mark), process.pid)
        self._limits = limits
        self._on_output = on_output
        self._failure: Exception | None = None
        self._changed = anyio.Event()
        self._output_ended = anyio.Event()
        self._started_at = datetime.now(UTC)
        self._started = self._last_output = anyio.current_time()
        self._final_word: float | None = None
        self._exited: float | None = None

    async def run(self, output: int, started: Started | None) -> Ended:
        """Watch the program until nothing of it is left."""
        _running.add(self._process.pid)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, output)
            tasks.start_soon(self._wait)
            try:
                if started is not None:
                    await self._begin(started)
                cause = await self._until_over()
            finally:
                with anyio.CancelScope(shield=True):
                    survivors = await self._stop()
                _running.discard(self._process.pid)
                tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        wall_seconds = max(0.0, (self._exited or anyio.current_time()) - self._started)
        return Ended(
            exit_code=self._process.returncode,
            cause=cause,
            wall_seconds=wall_seconds,
            survivors=survivors,
            started_at=self._started_at,
            ended_at=self._started_at + timedelta(seconds=wall_seconds),
        )

    async def _begin(self, started: Started) -> None:
        try:
            await started(self._process.pid)
        except Exception as error:
            self._failure = error
        self._started_at = datetime.now(UTC)
        self._started = self._last_output = anyio.current_time()

    async def _read(self, output: int) -> None:
        try:
            while True:
                await anyio.wait_readable(output)
                data = os.read(output, _CHUNK_BYTES)
                if not data:
                    break
                over = self._on_output(data)
                self._last_output = anyio.current_time()
                if over and self._final_word is None:
                    self._final_word = self._last_output
                    self._changed.set()
        except Exception as error:
            self._failure = error
            self._changed.set()
        finally:
            self._output_ended.set()

    async def _wait(self) -> None:
        await self._process.wait()
        self._exited = anyio.current_time()
        self._changed.set()

    async def _until_over(self) -> Cause:
        while self._exited is None and self._failure is None:
            due, cause = self._next_limit()
            if anyio.current_time() >= due:
                return cause
            self._changed = anyio.Event()
            with anyio.CancelScope(deadline=due):
                await self._changed.wait()
        return "exited"

    def _next_limit(self) -> tuple[float, Cause]:
        # Once it has said its final word its work is done, however late: only the grace counts.
        if self._final_word is not None:
            return self._final_word + self._limits.grace_seconds, "grace"
        wall = self._started + self._limits.wall_seconds
        if self._limits.idle_seconds is None or wall <= self._last_output + self._limits.idle_seconds:
            return wall, "wall_limit"
        return self._last_output + self._limits.idle_seconds, "idle_limit"

    async def _stop(self) -> int:
        """Stop whatever is left, let the output run dry, and return how many processes are alive even so."""
        await self._tree.stop_aside(self._limits.drain_seconds)
        with anyio.move_on_after(self._limits.drain_seconds):
            await self._output_ended.wait()
        left = await run_sync(self._tree.living)
        if not left:
            # It is dead already; how it ended is told a moment later, on a busy machine a longer one.
            with anyio.move_on_after(_EXIT_SECONDS):
                await self._process.wait()
        return len(left)
