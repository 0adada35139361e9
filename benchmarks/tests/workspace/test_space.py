"""Working folders: private, locked, removed, and swept after a harness that died."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from swetrials.workspace.processes import MARK
from swetrials.workspace.space import SpaceError, attempt_space, free_bytes, private_root, remove_tree, sweep

HARNESS = """
import sys, time
from pathlib import Path
from swetrials.workspace.space import attempt_space
with attempt_space(Path(sys.argv[1]), sys.argv[2], keep=sys.argv[3] == "keep") as space:
    (space.checkout / "file").touch()
    print("in use", flush=True)
    time.sleep(60)
"""


def harness(root: Path, attempt_id: str, keep: str = "") -> subprocess.Popen[str]:
    """Start another process that uses a working folder, and return once it does."""
    argv = [sys.executable, "-c", HARNESS, str(root), attempt_id, keep]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "in use\n"
    return process


def test_the_default_root_is_private_and_does_not_name_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    root = private_root(None)
    assert root.parent == tmp_path
    assert root.stat().st_mode & 0o777 == 0o700
    assert "swetrials" not in root.name
    assert private_root(None) == root


def test_a_configured_root_is_made_with_its_parents(tmp_path: Path) -> None:
    assert private_root(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_roots_that_others_could_use_against_us_are_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    (tmp_path / "file").touch()
    for name, words in (
        ("open", "others may write to it"),
        ("link", "it is a symbolic link"),
        ("file", "File exists"),
        ("file/below", "Not a directory"),
    ):
        with pytest.raises(SpaceError, match=f"^{tmp_path}/{name} cannot be the working folder: {words}"):
            private_root(tmp_path / name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_root_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 4321, 4321)
    with pytest.raises(SpaceError, match="it belongs to user 4321"):
        private_root(tmp_path / "theirs")


def test_an_attempt_has_private_folders_that_go_afterwards(tmp_path: Path) -> None:
    with attempt_space(tmp_path, "task-1") as space:
        assert space.root == tmp_path / "task-1"
        for folder in (space.root, space.checkout, space.home, space.artifacts, space.temporary):
            assert folder.stat().st_mode & 0o777 == 0o700
            assert list(folder.iterdir()) == [] or folder == space.root
        (space.checkout / "file").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_they_go_when_the_block_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="mine"), attempt_space(tmp_path, "task-1"):
        raise RuntimeError("mine")
    assert list(tmp_path.iterdir()) == []


def test_a_kept_attempt_stays_and_is_not_swept(tmp_path: Path) -> None:
    with attempt_space(tmp_path, "task-1", keep=True) as space:
        (space.checkout / "file").write_text("x")
    assert list(tmp_path.iterdir()) == [space.root]
    assert sweep(tmp_path) == []
    assert (space.checkout / "file").read_text() == "x"
    with pytest.raises(SpaceError, match="needs an id of its own"), attempt_space(tmp_path, "task-1"):
        pass
    assert (space.checkout / "file").exists()


@pytest.mark.parametrize("attempt_id", ["../x", "", "a/b", ".hidden"])
def test_an_id_is_one_safe_part_of_a_path(tmp_path: Path, attempt_id: str) -> None:
    with pytest.raises(ValueError, match="not a safe folder name"), attempt_space(tmp_path, attempt_id):
        pass


def test_an_attempt_in_use_is_not_swept(tmp_path: Path) -> None:
    other = harness(tmp_path, "theirs")
    try:
        with attempt_space(tmp_path, "mine") as space:
            assert sweep(tmp_path) == []
            assert space.checkout.exists()
            assert (tmp_path / "theirs" / "checkout" / "file").exists()
    finally:
        other.kill()
        other.wait()


def test_what_a_killed_harness_leaves_is_stopped_and_removed(tmp_path: Path) -> None:
    attempt_id = f"task.{secrets.token_hex(6)}"
    dead = harness(tmp_path, attempt_id)
    orphan = subprocess.Popen(["sleep", "60"], env=os.environ | {MARK: attempt_id}, start_new_session=True)
    dead.kill()
    dead.wait()
    assert sweep(tmp_path) == [attempt_id]
    assert orphan.wait(5) != 0
    assert list(tmp_path.iterdir()) == []
    assert sweep(tmp_path) == []


def test_a_kept_attempt_of_a_killed_harness_stays_without_its_processes(tmp_path: Path) -> None:
    attempt_id = f"task-{secrets.token_hex(6)}"
    dead = harness(tmp_path, attempt_id, "keep")
    orphan = subprocess.Popen(["sleep", "60"], env=os.environ | {MARK: attempt_id}, start_new_session=True)
    dead.kill()
    dead.wait()
    assert sweep(tmp_path) == [attempt_id]
    assert orphan.wait(5) != 0
    assert list(tmp_path.iterdir()) == [tmp_path / attempt_id]
    assert (tmp_path / attempt_id / "checkout" / "file").exists()
    assert sweep(tmp_path) == []


def test_other_things_in_the_root_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mirrors").mkdir()
    (tmp_path / "mirrors" / "repository.lock").touch()
    (tmp_path / "notes").write_text("mine")
    assert sweep(tmp_path) == []
    assert (tmp_path / "mirrors" / "repository.lock").exists()
    assert (tmp_path / "notes").exists()


def test_folders_that_nobody_may_write_are_removed_and_links_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    outside.chmod(0o555)
    folder = tmp_path / "folder"
    for name in ("a/b/c", "d"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").touch()
    (folder / "a" / "way-out").symlink_to(outside)
    for name in ("a/b/c", "a/b", "a", "d"):
        (folder / name).chmod(0o000)
    # Root may write anywhere, so the removal is done by an ordinary user where that is possible.
    script = (
        "import os, sys; from pathlib import Path\n"
        "from swetrials.workspace.space import remove_tree\n"
        "if os.geteuid() == 0:\n"
        "    for place, folders, names in os.walk(sys.argv[1]):\n"
        "        for name in ['.', *folders, *names]: os.lchown(os.path.join(place, name), 4321, 4321)\n"
        "    os.chown(os.path.dirname(sys.argv[1]), 4321, 4321)\n"
        "    os.setresgid(4321, 4321, 4321); os.setresuid(4321, 4321, 4321)\n"
        "remove_tree(Path(sys.argv[1]).relative_to(Path.cwd()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not folder.exists()
    assert outside.stat().st_mode & 0o777 == 0o555
    assert (outside / "file").exists()


def test_files_that_vanish_during_the_removal_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for n in range(300):
        (folder / str(n)).mkdir(parents=True)
        (folder / str(n) / "file").touch()
    other = subprocess.Popen(["rm", "-rf", str(folder)])
    remove_tree(folder)
    other.wait()
    assert not folder.exists()


def test_free_bytes_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "a" / "b") == pytest.approx(free_bytes(tmp_path), rel=0.2)
    assert free_bytes(tmp_path) > 0


def test_many_attempts_at_a_time_do_not_meet(tmp_path: Path) -> None:
    started = time.monotonic()
    with attempt_space(tmp_path, "one") as one, attempt_space(tmp_path, "two") as two:
        assert one.root != two.root
    assert time.monotonic() - started < 20
