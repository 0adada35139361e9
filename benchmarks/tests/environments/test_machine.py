"""What a machine has to give, read from its own files, and from files of both versions of control groups."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from environments.memory_group import GREEDY, memory_group
from swetrials.environments.bubblewrap import Bubblewrap
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.host import Host
from swetrials.environments.machine import Machine, environment_record
from swetrials.records.environment import EnvironmentSpec

MEMINFO = "MemTotal:       16000000 kB\nMemFree:        1 kB\n"


def machine(root: Path, cgroup: str, files: dict[str, str]) -> Machine:
    for name, text in {"proc/self/cgroup": cgroup, "proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Machine.now(root)


def test_this_machine() -> None:
    here = Machine.now()
    assert here.cores is not None and 0 < here.cores <= len(os.sched_getaffinity(0))
    assert (
        here.memory_gb is not None and here.memory_gb <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    )
    assert here.load is not None and here.load >= 0
    assert "/proc/vmstat" in here.oom_kills
    assert not Machine.now().ran_out_since(Machine.now())


def test_version_2_limits_by_the_tightest_group_above(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/ci.slice"
    found = machine(
        tmp_path,
        "0::/ci.slice/job\n",
        {
            f"{group}/job/memory.max": "max\n",
            f"{group}/memory.max": "4000000000\n",
            f"{group}/job/cpu.max": "max 100000\n",
            f"{group}/cpu.max": "50000 100000\n",
            f"{group}/job/memory.events": "low 0\noom 3\noom_kill 2\n",
        },
    )
    assert (found.cores, found.memory_gb) == (0.5, 4.0)
    assert list(found.oom_kills.values()) == [2]


def test_version_1_limits_and_its_unlimited(tmp_path: Path) -> None:
    memory, cpu = "sys/fs/cgroup/memory", "sys/fs/cgroup/cpu,cpuacct"
    found = machine(
        tmp_path,
        "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n",
        {
            f"{memory}/memory.limit_in_bytes": "9223372036854771712\n",
            f"{memory}/job/memory.limit_in_bytes": "2000000000\n",
            f"{memory}/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
            f"{cpu}/x": "",
            "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "25000\n",
            "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
        },
    )
    assert (found.cores, found.memory_gb) == (0.25, 2.0)
    assert list(found.oom_kills.values()) == [7]


def test_what_no_file_tells_is_unknown(tmp_path: Path) -> None:
    found = Machine.now(tmp_path)
    assert (found.memory_gb, found.load, found.oom_kills) == (None, None, {})
    assert machine(tmp_path, "0::/gone\n", {}).memory_gb == 16.38


@pytest.mark.parametrize(("before", "after", "ran_out"), [({"a": 1}, {"a": 2}, True), ({"a": 1}, {"a": 1}, False),
                                                          ({}, {"a": 5}, False), ({"a": 1}, {}, False)])  # fmt: skip
def test_a_counter_that_rose(before: dict[str, int], after: dict[str, int], ran_out: bool) -> None:
    assert Machine(oom_kills=after).ran_out_since(Machine(oom_kills=before)) is ran_out


def test_the_kernel_kills_for_want_of_memory_and_counts_it() -> None:
    with memory_group() as group:
        before = Machine.now()
        joining = f"echo $$ > {group}/cgroup.procs && exec {sys.executable} -c '{GREEDY}'"
        done = subprocess.run(["/bin/sh", "-c", joining], stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == -signal.SIGKILL
        assert Machine.now().ran_out_since(before)


def test_a_limit_that_was_asked_for_is_named_as_kept_or_not() -> None:
    there = Machine(cores=2.0, memory_gb=8.0, load=0.1)
    sandbox = BubblewrapEnvironment(Bubblewrap(Path(shutil.which("bwrap") or "bwrap")))
    bwrap = environment_record(sandbox, there, EnvironmentSpec(memory_gb=4), preparation_sha256="ab")
    assert (bwrap.engine, bwrap.limits_kept, bwrap.limits_not_kept) == (sandbox.engine, (), ("memory_gb",))
    assert (bwrap.cores, bwrap.memory_gb, bwrap.load, bwrap.preparation_sha256) == (2.0, 8.0, 0.1, "ab")
    host = environment_record(Host(), there, EnvironmentSpec())
    assert (host.engine, host.limits_not_kept) == (None, ())
