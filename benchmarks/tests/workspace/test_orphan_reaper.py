"""What a process leaves that is killed in the middle of an attempt, with nobody to come back, is cleared up."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from swetrials.workspace.processes import stop_marked
from swetrials.workspace.space import private_root
from workspace.marked import living

WORKER = """
import subprocess, sys, time
from pathlib import Path
from swetrials.workspace.orphan_reaper import guarded
from swetrials.workspace.space import attempt_space

root, leavings = Path(sys.argv[1]), Path(sys.argv[2])
with guarded(root, leavings), attempt_space(root, sys.argv[3]) as space:
    (leavings / "stream.jsonl").touch()
    mark = {"ATTEMPT_ID": sys.argv[3]}
    subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, env=mark, start_new_session=True)
    print("at work", flush=True)
    sys.stdin.readline()
"""


def worker(root: Path, leavings: Path, attempt_id: str) -> subprocess.Popen[str]:
    leavings.mkdir()
    argv = [sys.executable, "-c", WORKER, str(root), str(leavings), attempt_id]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "at work\n"
    return process


def test_nothing_of_a_killed_worker_stays(tmp_path: Path) -> None:
    root, mark = private_root(tmp_path / "work"), f"{tmp_path.name}-killed"
    process = worker(root, tmp_path / "leavings", mark)
    assert living(mark) == ["sleep"]
    process.kill()
    process.wait()
    give_up_at = time.monotonic() + 30
    while (living(mark) or (tmp_path / "leavings").exists()) and time.monotonic() < give_up_at:
        time.sleep(0.05)
    assert living(mark) == []
    assert list(root.iterdir()) == []
    assert not (tmp_path / "leavings").exists()


def test_a_worker_that_ends_by_itself_keeps_its_leavings(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    root, mark = private_root(tmp_path / "work"), f"{tmp_path.name}-done"
    process = worker(root, tmp_path / "leavings", mark)
    request.addfinalizer(lambda: stop_marked(mark))
    process.communicate("go on\n")
    time.sleep(0.3)
    assert (tmp_path / "leavings" / "stream.jsonl").exists()
    assert list(root.iterdir()) == []
