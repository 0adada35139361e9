"""What a machine has to give, as far as it lets this process: cores, memory, load, and what ran out of memory on it.

Files and their meaning: ``Documentation/admin-guide/cgroup-v2.rst`` (``cpu.max``, ``memory.max``, ``memory.events``),
``Documentation/admin-guide/cgroup-v1/memory.rst`` (``memory.limit_in_bytes``, ``memory.oom_control``) and
``Documentation/scheduler/sched-bwc.rst`` (``cpu.cfs_quota_us``) of Linux. What a file does not tell is ``None``.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from swetrials.environments.base import Environment
from swetrials.records.environment import EnvironmentRecord, EnvironmentSpec

_ROOT = Path("/")


@dataclass(frozen=True)
class Machine:
    """What there is at one moment.

    Attributes:
        cores: those that this process may use, by affinity and by a control group's quota.
        memory_gb: of the machine, or what a control group leaves of it, in 10**9 bytes.
        load: the mean over the last minute.
        oom_kills: how many processes the kernel has killed for want of memory, by the file that counts them. One
            counts those of a control group, another those of the whole machine.
    """

    cores: float | None = None
    memory_gb: float | None = None
    load: float | None = None
    oom_kills: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def now(cls, root: Path = _ROOT) -> Self:
        """Look at the machine that this process is on.

        Args:
            root: the folder that ``/proc`` and ``/sys`` lie in.
        """
        groups = _ControlGroups.of(root)
        total = _counted(root / "proc" / "meminfo").get("MemTotal:")
        memory = _least(None if total is None else total * 1024, groups.memory_bytes())
        return cls(
            cores=_least(float(len(os.sched_getaffinity(0))), groups.cores()),
            memory_gb=None if memory is None else round(memory / 1e9, 2),
            load=_load(root),
            oom_kills=dict(_oom_kills(root, groups)),
        )

    def ran_out_since(self, earlier: Self) -> bool:
        """Whether the kernel has killed a process for want of memory since then; it does not tell which."""
        return any(count > earlier.oom_kills.get(name, count) for name, count in self.oom_kills.items())


def environment_record(
    environment: Environment, machine: Machine, asked: EnvironmentSpec, *, preparation_sha256: str | None = None
) -> EnvironmentRecord:
    """Return the record of what an attempt, or a verification, ran in.

    Args:
        environment: it.
        machine: as it was when it began.
        asked: what the dataset asks for.
        preparation_sha256: of what was prepared; ``None``: nothing was.
    """
    not_kept = limits_not_kept(environment, asked)
    return EnvironmentRecord(
        kind=environment.kind,
        engine=environment.engine,
        spec_sha256=asked.sha256,
        preparation_sha256=preparation_sha256,
        cores=machine.cores,
        memory_gb=machine.memory_gb,
        load=machine.load,
        limits_kept=tuple(name for name in _limits(asked) if name not in not_kept),
        limits_not_kept=not_kept,
    )


def limits_not_kept(environment: Environment, asked: EnvironmentSpec) -> tuple[str, ...]:
    """Return the limits that a dataset asks for and that commands are not held to, by their keys."""
    return tuple(name for name in _limits(asked) if name not in environment.keeps)


def _limits(asked: EnvironmentSpec) -> tuple[str, ...]:
    return ("memory_gb",) if asked.memory_gb is not None else ()


@dataclass(frozen=True)
class _ControlGroups:
    """The folders of this process's control groups, each before the ones that it lies in.

    Attributes:
        unified: of version 2.
        memory: of version 1, those that count memory.
        cpu: of version 1, those that share out cores.
    """

    unified: tuple[Path, ...] = ()
    memory: tuple[Path, ...] = ()
    cpu: tuple[Path, ...] = ()

    @classmethod
    def of(cls, root: Path) -> Self:
        """Return those that ``/proc/self/cgroup`` names and that are there.

        In a container they may be named as the host sees them, and only their top is there.
        """
        top, found = root / "sys" / "fs" / "cgroup", dict[str, tuple[Path, ...]]()
        for line in _text(root / "proc" / "self" / "cgroup").splitlines():
            _, _, rest = line.partition(":")
            names, _, path = rest.partition(":")
            for name in names.split(",") if names else [""]:
                # Of two versions side by side, the second lies in a folder of its own.
                above = top / name if name else top / "unified" if (top / "unified").is_dir() else top
                found[name] = tuple(place for place in _upwards(above, path) if place.is_dir())
        return cls(found.get("", ()), found.get("memory", ()), found.get("cpu", ()))

    def memory_bytes(self) -> float | None:
        """Return the tightest limit of memory."""
        limits = [_number(place / "memory.max") for place in self.unified]
        limits += [_number(place / "memory.limit_in_bytes") for place in self.memory]
        return _least(*limits)

    def cores(self) -> float | None:
        """Return the tightest quota, in cores."""
        quotas = [_quota(*_text(place / "cpu.max").split()[:2]) for place in self.unified]
        for place in self.cpu:
            quotas.append(_quota(_text(place / "cpu.cfs_quota_us"), _text(place / "cpu.cfs_period_us")))
        return _least(*quotas)


def _upwards(top: Path, path: str) -> Iterator[Path]:
    place = top / path.strip("/")
    yield from (one for one in (place, *place.parents) if one.is_relative_to(top))


def _oom_kills(root: Path, groups: _ControlGroups) -> Iterator[tuple[str, int]]:
    files = [place / "memory.events" for place in groups.unified]
    files += [place / "memory.oom_control" for place in groups.memory]
    for file in (*files, root / "proc" / "vmstat"):
        if (count := _counted(file).get("oom_kill")) is not None:
            yield str(file), count


def _counted(file: Path) -> dict[str, int]:
    """Return the figures of a file that has a name and a number in each line."""
    parts = [line.split() for line in _text(file).splitlines()]
    return {words[0]: int(words[1]) for words in parts if len(words) > 1 and words[1].isdecimal()}


def _quota(allowed: str = "", period: str = "") -> float | None:
    """Return how many cores a quota comes to; ``max`` and ``-1`` are none."""
    allowed, period = allowed.strip(), period.strip()
    if not allowed.isdecimal() or not period.isdecimal() or not int(period):
        return None
    return round(int(allowed) / int(period), 2)


def _number(file: Path) -> float | None:
    text = _text(file).strip()
    return float(text) if text.isdecimal() else None


def _load(root: Path) -> float | None:
    words = _text(root / "proc" / "loadavg").split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
