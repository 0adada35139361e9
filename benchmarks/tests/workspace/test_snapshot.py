"""Seeing that something in a folder was changed, however it was done."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from swetrials.workspace.snapshot import changed, snapshot


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("one\n")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "link").symlink_to("src/a.py")
    (tmp_path / ".git").mkdir()
    time.sleep(0.02)  # longer than the kernel's clock takes to move on
    return tmp_path


def _same_size_and_old_time(folder: Path) -> None:
    path = folder / "src" / "a.py"
    before = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _ignored(folder: Path) -> None:
    (folder / "build").mkdir()
    (folder / "build" / "out").write_text("")


def _link_elsewhere(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to("src/b.py")


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (_same_size_and_old_time, ["src/a.py"]),
        (_ignored, ["build", "build/out"]),
        (_link_elsewhere, ["link"]),
        (lambda folder: (folder / "src" / "a.py").chmod(0o755), ["src/a.py"]),
        (lambda folder: (folder / "src" / "a.py").unlink(), ["src/a.py"]),
        (lambda folder: (folder / "src").chmod(0o700), ["src"]),
        (lambda folder: (folder / "empty").mkdir(), ["empty"]),
    ],
)
def test_any_change_is_seen(folder: Path, change: Callable[[Path], object], seen: list[str]) -> None:
    before = snapshot(folder)
    change(folder)
    assert [str(path) for path in changed(before, snapshot(folder))] == seen


def test_reading_changes_nothing_and_neither_does_what_git_notes_for_itself(folder: Path) -> None:
    before = snapshot(folder)
    subprocess.run(["grep", "-r", "one", folder], check=True, capture_output=True)
    (folder / ".git" / "index").write_text("")
    assert changed(before, snapshot(folder)) == ()
