"""The processes that belong together, wherever they went: who they are, how they end, and the proof that none lives.

One definition for the program of an attempt, for a service, and for what a dead harness has left behind.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
import psutil
from anyio.to_thread import run_sync

_KILL_SECONDS = 5.0
_PAUSE_SECONDS = 0.02

_START_TOLERANCE_SECONDS = 1.0
# The system keeps the start relative to the boot and clocks are adjusted meanwhile. No pid comes round in a second.


@dataclass(frozen=True)
class Mark:
    """A variable in the environment of the processes that belong together, with a value that nothing else carries."""

    variable: str
    value: str

    def is_on(self, process: psutil.Process) -> bool:
        """Whether a process carries the mark; one that cannot be looked into carries none."""
        with suppress(psutil.Error, OSError):
            return bool(process.environ().get(self.variable) == self.value)
        return False


@dataclass(frozen=True)
class StoppedTree:
    """How processes came to their end.

    Attributes:
        how: ``gone``: nothing lived any more; ``drained``: all ended after TERM; ``killed``: some did not.
        members: how many there were, since the tree is known.
        survivors: what is alive in spite of KILL.
    """

    how: Literal["gone", "drained", "killed"]
    members: int
    survivors: frozenset[psutil.Process] = frozenset()


class ProcessTree:
    """A program with all that has come of it.

    Its members are what carries its mark, its process group and session, who was a member once, orphaned or not, and
    all that descends from these. What has left the group, cleared its environment and lost its parents before anybody
    looked cannot be told apart.

    The number of a group is not given away while somebody is in it. A group that is found again by its number alone
    may be a stranger's all the same: it counts while the first process lives, or while a member by its mark is in it.
    """

    def __init__(self, mark: Mark, leader: int | None = None, started_seconds: float | None = None) -> None:
        """Name a tree; nothing is looked at yet.

        Args:
            mark: what its processes carry in their environment.
            leader: pid of its first process, which leads a session and group of its own; ``None``: the mark is all
                that is known.
            started_seconds: when the leader was started, in seconds since 1970 as the system tells it; ``None``:
                whoever asks has started it and has watched it since, so that its group is no stranger's.
        """
        self._mark = mark
        self._group = leader
        self._started_seconds = started_seconds
        self._known: set[psutil.Process] = set()

    def leader(self) -> psutil.Process | None:
        """Return the first process when it lives: the one of its pid that was started then, or carries the mark."""
        if self._group is None:
            return None
        with suppress(psutil.Error):
            process = psutil.Process(self._group)
            if process.status() != psutil.STATUS_ZOMBIE and self._is_leader(process):
                return process
        return None

    def living(self) -> set[psutil.Process]:
        """Return the living members, and remember them."""
        others = [process for process in psutil.process_iter() if process.pid != os.getpid()]
        marked = {process for process in others if self._mark.is_on(process)}
        group = {process for process in others if self._is_in_group(process)}
        own_group = group if self._owns(group, marked) else set()
        members = {process for process in self._known | marked | own_group if _lives(process)}
        # Almost always nothing is left, and then nobody's parent needs to be looked up, which is most of the work.
        if members:
            members |= _descendants(members, others)
        self._known |= members
        return members

    def stop(self, drain_seconds: float = 0.0) -> StoppedTree:
        """End all members: TERM and time to drain, then KILL until a look finds nobody.

        What keeps a namespace of processes, as bubblewrap does, gets no TERM: it would end with all inside at once.
        It ends by itself when nobody is left in there.

        Args:
            drain_seconds: from TERM to KILL; 0 for KILL at once.
        """
        steps = self._steps(drain_seconds)
        while (stop := next(steps)) is None:
            time.sleep(_PAUSE_SECONDS)
        return stop

    async def stop_aside(self, drain_seconds: float = 0.0) -> StoppedTree:
        """Do what :meth:`stop` does; each look is in a thread, and the event loop goes on meanwhile."""
        steps = self._steps(drain_seconds)
        while (stop := await run_sync(next, steps)) is None:
            await anyio.sleep(_PAUSE_SECONDS)
        return stop

    def _steps(self, drain_seconds: float) -> Iterator[StoppedTree | None]:
        """Yield ``None`` where a pause is due, and how it ended at last."""
        if not (members := self.living()):
            yield StoppedTree("gone", len(self._known))
            return
        if drain_seconds > 0:
            _signal(members - _keepers(members) or members, signal.SIGTERM)
            drained_by = time.monotonic() + drain_seconds
            while (members := self.living()) and time.monotonic() < drained_by:
                yield None
            if not members:
                yield StoppedTree("drained", len(self._known))
                return
        killed_by = time.monotonic() + _KILL_SECONDS
        while members and time.monotonic() < killed_by:
            _signal(members, signal.SIGKILL)
            yield None
            members = self.living()
        yield StoppedTree("killed", len(self._known), frozenset(members))

    def _is_leader(self, process: psutil.Process) -> bool:
        started = self._started_seconds
        since = started is not None and abs(process.create_time() - started) < _START_TOLERANCE_SECONDS
        return since or self._mark.is_on(process)

    def _is_in_group(self, process: psutil.Process) -> bool:
        if self._group is None:
            return False
        with suppress(OSError):
            return self._group in (os.getpgid(process.pid), os.getsid(process.pid))
        return False

    def _owns(self, group: set[psutil.Process], marked: set[psutil.Process]) -> bool:
        return self._started_seconds is None or bool(group & marked) or self.leader() is not None


def kill_group(leader: int) -> None:
    """Kill the process group of a child that nobody has waited for yet. It may be called from a signal handler."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _descendants(members: Iterable[psutil.Process], processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    children: dict[int, list[psutil.Process]] = {}
    for process in processes:
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                children.setdefault(process.ppid(), []).append(process)
    found: set[psutil.Process] = set()
    waiting = list(members)
    while waiting:
        born = set(children.get(waiting.pop().pid, ())) - found
        found |= born
        waiting.extend(born)
    return found


def _keepers(members: Iterable[psutil.Process]) -> set[psutil.Process]:
    """Return those that keep a namespace of processes: its first process, and who has made that."""
    firsts = {process for process in members if _is_first_inside(process)}
    parents: set[int] = set()
    for process in firsts:
        with suppress(psutil.Error):
            parents.add(process.ppid())
    return firsts | {process for process in members if process.pid in parents}


def _is_first_inside(process: psutil.Process) -> bool:
    # ``NSpid`` in proc(5): its number in each namespace, from ours to its own.
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_bytes().splitlines():
            if line.startswith(b"NSpid:"):
                return line.split()[2:][-1:] == [b"1"]
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        # psutil looks once more whether the pid is still the same process.
        with suppress(psutil.Error):
            process.send_signal(number)
