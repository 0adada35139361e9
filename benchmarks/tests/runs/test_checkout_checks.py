"""What a checkout will not hold is said before anything is spent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hosting.server import Server, models
from runs.prepared_runs import QUICK, Watcher, bench_of, run, yard_beside
from swetrials.records.check import Check
from swetrials.runs.benchmark import PreflightError
from trials.stand_in import Yard
from workspace.sources import commit_all, git

FIX = "fetch them in the setup of the tasks' environment, unless the tasks do without"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{0:064x}\nsize 12345\n"


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    server = Server()
    server.answer = models("some-model")
    yield yard_beside(server, tmp_path)
    server.close()


def told(yard: Yard) -> list[Check]:
    """Run the tasks at the present state of their repository, and return what was said of it."""
    upstream = yard.root / "upstream"
    commit_all(upstream, "more")
    git(upstream, "tag", "--force", "v1")
    watcher = Watcher()
    run(bench_of(yard), QUICK, watcher)
    assert watcher.failed() == {}
    return [check for check in watcher.checks if check.name in {"submodules", "git LFS"}]


def test_submodules_are_told_by_task_and_path(yard: Yard) -> None:
    upstream = yard.root / "upstream"
    for name in ("libs/a", "libs/b", "libs/c", "libs/d", "libs/e"):
        (upstream / name).mkdir(parents=True)
        git(upstream, "update-index", "--add", "--cacheinfo", f"160000,{yard.commit},{name}")
    detail = "task-1: empty folders in the checkout: libs/a, libs/b, libs/c and 2 more"
    assert told(yard) == [Check("submodules", "warning", detail, FIX)]


def test_pointers_of_lfs_are_told_by_task_and_path(yard: Yard) -> None:
    upstream = yard.root / "upstream"
    (upstream / "data").mkdir()
    (upstream / "data" / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    for number in range(4):
        (upstream / "data" / f"{number}.bin").write_text(POINTER.format(number))
    (upstream / "data" / "about.txt").write_text("version 1 of https://git-lfs.github.com/spec/v1\n")
    (upstream / "data" / "whole.bin").write_text(POINTER.format(9) + "x" * 1000)
    detail = "task-1: pointers in the checkout, not the files: data/0.bin, data/1.bin, data/2.bin and 1 more"
    assert told(yard) == [Check("git LFS", "warning", detail, FIX)]


def test_what_looks_like_a_pointer_is_none_where_nothing_is_kept_elsewhere(yard: Yard) -> None:
    (yard.root / "upstream" / "example.bin").write_text(POINTER.format(1))
    assert told(yard) == []


def test_a_commit_that_cannot_be_had_is_told_once(yard: Yard) -> None:
    yard.write_dataset(ref="v9")
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard), QUICK, watcher)
    assert set(watcher.failed()) == {"repository"}
