"""Disk space comes back, and neither results nor work under way are touched."""

import subprocess
import time
from pathlib import Path

import anyio
import pytest
from filelock import FileLock

from swetrials.environments.preparation_store import RECORD, PreparationStore
from swetrials.records.config import RunnerConfig
from swetrials.records.preparation import PreparationRecord
from swetrials.runs.clearing import SORTS, Clearable, Sort, clearables
from swetrials.store.clock import utc_now
from swetrials.store.files import write_record
from swetrials.store.project import Project
from swetrials.workspace.clearing import size_of
from swetrials.workspace.processes import MARK
from swetrials.workspace.space import attempt_space, private_root


class Disk:
    """A results tree, a working folder and a tools folder with something of everything in them."""

    def __init__(self, root: Path) -> None:
        self.config = RunnerConfig(output_dir=str(root / "results"), clone_dir=str(root / "work"))
        self.project = Project(root / "clone")
        self.work = private_root(root / "work")
        self.scope = root / "results" / "model" / "agent" / "skill" / "scope"
        self.result = self.scope / "task" / "metrics.json"
        self.trash = root / "results" / ".trash" / "20260101"
        self.mirror = self.work / "mirrors" / "repo-0123.git"
        self.download = self.project.tools / "cache" / "npm"
        self.strange = self.work / "somebody-elses"
        for file in (self.result, self.trash / "f", self.mirror / "HEAD", self.download / "f", self.strange / "f"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"x" * 10_000)
        self.store = PreparationStore.of(self.project)
        self.preparation = self.store.folder("0" * 64)
        self.preparation.mkdir(parents=True)
        record = PreparationRecord(sha256="0" * 64, made_at=utc_now(), seconds=1, size_bytes=20_000)
        write_record(self.preparation / RECORD, record)
        with attempt_space(self.work, "kept-1", keep=True) as space:
            (space.checkout / "large").write_bytes(b"x" * 100_000)
        self.kept = space.root

    def found(self, *sorts: Sort) -> dict[Path, Clearable]:
        return {found.path: found for found in clearables(self.config, self.project, sorts or SORTS)}


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_all_that_may_go_is_found_with_its_size(disk: Disk) -> None:
    found = disk.found()
    assert {path: clearable.sort for path, clearable in found.items()} == {
        disk.mirror: "caches", disk.download: "caches", disk.kept: "checkouts", disk.trash: "trash",
        disk.preparation: "preparations",
    }  # fmt: skip
    assert 100_000 <= found[disk.kept].size_bytes < 150_000
    assert not any(clearable.in_use for clearable in found.values())


def test_results_and_what_is_not_ours_stay(disk: Disk) -> None:
    assert all(clearable.clear() for clearable in disk.found().values())
    assert disk.found() == {}
    assert disk.result.is_file() and (disk.strange / "f").is_file()
    assert [path.name for path in disk.work.glob("*.lock")] == []


@pytest.mark.parametrize("sort", SORTS)
def test_one_sort_at_a_time(disk: Disk, sort: Sort) -> None:
    assert {clearable.sort for clearable in disk.found(sort).values()} == {sort}


def test_an_attempt_under_way_keeps_its_folder_and_the_mirrors(disk: Disk) -> None:
    with attempt_space(disk.work, "going-1") as space:
        found = disk.found()
        assert found[space.root].in_use and found[disk.mirror].in_use
        assert not found[disk.kept].in_use
        assert found[space.root].clear() is False
        assert space.checkout.is_dir()


def test_a_preparation_that_is_used_stays(disk: Disk) -> None:
    async def never() -> None:
        raise AssertionError("it is there")

    async def use() -> None:
        async with disk.store.holding("0" * 64, never), disk.store.holding("0" * 64, never):
            assert disk.found()[disk.preparation].in_use
            assert disk.found()[disk.preparation].clear() is False

    anyio.run(use)
    assert disk.found()[disk.preparation].clear() is True
    assert not disk.preparation.exists()


def test_a_run_between_two_attempts_keeps_the_mirrors(disk: Disk) -> None:
    with FileLock(disk.scope / ".lock"):
        assert disk.found()[disk.mirror].in_use
    assert not disk.found()[disk.mirror].in_use


def test_what_a_killed_run_has_left_goes_with_its_processes(disk: Disk) -> None:
    left = disk.work / "killed-1"
    (left / "checkout").mkdir(parents=True)
    (disk.work / "killed-1.lock").touch()
    process = subprocess.Popen(["sleep", "100"], env={MARK: "killed-1", "PATH": "/usr/bin:/bin"})
    time.sleep(0.1)
    assert disk.found()[left].clear()
    assert process.wait(timeout=5) < 0
    assert not left.exists() and not (disk.work / "killed-1.lock").exists()


def test_size_counts_a_file_once_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"x" * 1_000_000)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one").write_bytes(b"x" * 50_000)
    (folder / "same").hardlink_to(folder / "one")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(folder)
    assert 50_000 <= size_of(folder) < 80_000
