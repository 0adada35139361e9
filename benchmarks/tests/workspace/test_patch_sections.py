"""Patches file by file: git makes them, and git says which files they touch."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from swetrials.workspace.patch import apply_patch
from swetrials.workspace.patch_sections import only, patch_sections

GIT = ["git", "-c", "user.name=n", "-c", "user.email=n@localhost"]
NAMES = ["plain.py", "a b/c d.py", "tab\there.py", 'quo"te.py', "na\u00efve.py", "b/ b/x", "new\nline.py"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    subprocess.run([*GIT, "init", "--quiet", str(tmp_path)], check=True)
    for name in ["kept.py", "gone.py", "moved.py", "mode.sh", *NAMES]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f"line {number} of {name!r}\n" for number in range(30)))
    (tmp_path / "picture.bin").write_bytes(bytes(range(256)))
    subprocess.run([*GIT, "-C", str(tmp_path), "add", "--all"], check=True)
    subprocess.run([*GIT, "-C", str(tmp_path), "commit", "--quiet", "--message=first"], check=True)
    return tmp_path


def difference(tree: Path, *options: str) -> bytes:
    subprocess.run([*GIT, "-C", str(tree), "add", "--all"], check=True)
    words = [*GIT, "-C", str(tree), "diff", "--cached", "--binary", "--full-index", *options]
    return subprocess.run(words, check=True, capture_output=True).stdout


def change(tree: Path) -> None:
    for name in NAMES:
        lines = (tree / name).read_text().splitlines(keepends=True)
        (tree / name).write_text("".join(["diff --git a/x b/x\n", *lines[1:-1], "--- a/none\n", "+++ b/none\n"]))
    (tree / "gone.py").unlink()
    (tree / "moved.py").rename(tree / "moved too.py")
    (tree / "mode.sh").chmod(0o755)
    (tree / "empty.py").touch()
    (tree / "new.py").write_text("x = 1\n")
    (tree / "picture.bin").write_bytes(bytes(range(255, -1, -1)))


@pytest.mark.parametrize("options", [["--no-renames"], ["--find-renames"]])
def test_the_sections_are_the_files_that_git_names(tree: Path, options: list[str]) -> None:
    change(tree)
    patch = difference(tree, *options)
    words = [*GIT, "-C", str(tree), "diff", "--cached", "--name-only", "--no-renames", "-z"]
    listed = subprocess.run(words, check=True, capture_output=True).stdout.decode().split("\0")

    sections = patch_sections(patch)

    assert b"".join(section.data for section in sections) == patch
    assert {path for section in sections for path in section.paths} == set(filter(None, listed))
    by_path = {section.new_path or section.old_path: section for section in sections}
    assert by_path["gone.py"].new_path is None
    assert by_path["new.py"].old_path is None and by_path["new.py"].added_lines == ("x = 1",)
    assert by_path["empty.py"].old_path is None and by_path["empty.py"].hunks == ()
    assert by_path["picture.bin"].hunks == ()
    assert all(section.header + b"".join(section.hunks) == section.data for section in sections)
    plain = by_path["plain.py"]
    assert len(plain.hunks) == 2
    assert plain.added_lines == ("diff --git a/x b/x", "--- a/none", "+++ b/none")
    assert plain.removed_lines == ("line 0 of 'plain.py'", "line 29 of 'plain.py'")


@pytest.mark.parametrize("kept", [lambda path: path == "new.py", lambda path: path != "new.py", lambda path: False])
def test_what_is_left_of_a_patch_applies_and_does_just_that(tree: Path, kept: Callable[[str], bool]) -> None:
    change(tree)
    patch = difference(tree, "--no-renames")
    subprocess.run([*GIT, "-C", str(tree), "reset", "--quiet", "--hard"], check=True)

    apply_patch(tree, only(patch, lambda section: any(map(kept, section.paths))))

    assert (tree / "new.py").exists() == kept("new.py")
    assert (tree / "gone.py").exists() != kept("gone.py")


@pytest.mark.parametrize("patch", [b"", b"no patch", b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"])
def test_what_git_did_not_write_has_no_sections(patch: bytes) -> None:
    assert patch_sections(patch) == ()


@pytest.mark.parametrize(
    "patch", [b"diff --git \n", b"diff --git a/x b/y\n", b'diff --git "a/\\x" "b\n', b"diff --git a b"]
)
def test_a_broken_section_names_no_file_that_it_does_not_tell(patch: bytes) -> None:
    (section,) = patch_sections(patch)
    assert section.data == patch and section.hunks == ()
    assert set(section.paths) <= {"x"}
