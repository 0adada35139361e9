"""An agent's own git says which ignored files are work, and nothing else, whatever it is."""

import os
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from swetrials.workspace import agents_git
from workspace.patch_bench import Bench
from workspace.sources import commit_all, git, new_repository

LIMIT_SECONDS = 1.5


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    source = new_repository(folder / "source")
    (source / "main.py").write_text("main\n")
    (source / ".gitignore").write_text("lib/\n")
    commit_all(source, "one")
    return Bench(folder, source)


@pytest.fixture
def work_tree(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a change, and with committed work under an ignored folder."""
    monkeypatch.setattr(agents_git, "_LIMIT_SECONDS", LIMIT_SECONDS)
    work_tree = bench.checkout()
    (work_tree / "lib").mkdir()
    (work_tree / "lib" / "core.py").write_text("mine\n")
    (work_tree / "main.py").write_text("changed\n")
    git(work_tree, "add", "-f", "lib/core.py")
    git(work_tree, "commit", "--quiet", "-m", "mine")
    return work_tree


def in_patch(bench: Bench, work_tree: Path) -> set[str]:
    patch = bench.patch(work_tree).decode()
    return {line.split(" b/")[1] for line in patch.splitlines() if line.startswith("diff --git")}


def put(place: Path, what: Callable[[Path], object]) -> None:
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    what(place)


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(20_000_000_000)


def garbage(place: Path) -> None:
    place.write_bytes(b"DIRC" + os.urandom(5_000))


def growing_names(place: Path) -> None:
    """Write an index of version 4, where a name goes on from the one before: 4 MB that come to 2 GB of names."""
    # As in gitformat-index(5): times, ids and size, an object, flags, how much of the last name to drop, the rest.
    entry = struct.pack(">10I20sH", *[0] * 6, 0o100644, *[0] * 3, b"\1" * 20, 0xFFF) + b"\0" + b"a\0"
    place.write_bytes(struct.pack(">4sII", b"DIRC", 4, 65_000) + entry * 65_000 + b"\0" * 20)


def link_to(target: str) -> Callable[[Path], object]:
    return lambda place: place.symlink_to(target)


SPOILT_INDEX = {
    "none": lambda place: None,
    "a pipe": os.mkfifo,
    "a link": link_to("/etc/hostname"),
    "garbage": garbage,
    "gigantic": sparse,
    "names that grow": growing_names,
}


@pytest.mark.parametrize("spoil", SPOILT_INDEX.values(), ids=SPOILT_INDEX.keys())
def test_whatever_the_index_is_the_commit_still_tells(
    bench: Bench, work_tree: Path, spoil: Callable[[Path], object]
) -> None:
    put(work_tree / ".git" / "index", spoil)
    assert in_patch(bench, work_tree) == {"main.py", "lib/core.py"}


SPOILT_HEAD = {
    "none": lambda place: None,
    "a pipe": os.mkfifo,
    "a link": link_to("refs/heads/main"),
    "garbage": garbage,
    "gigantic": sparse,
    "outside": lambda place: place.write_text("ref: refs/heads/../../../../../etc/hostname\n"),
    "a branch that is not there": lambda place: place.write_text("ref: refs/heads/gone\n"),
    "a commit that is not there": lambda place: place.write_text("1" * 40 + "\n"),
    "an option": lambda place: place.write_text("--output=/tmp/x\n"),
}


@pytest.mark.parametrize("spoil", SPOILT_HEAD.values(), ids=SPOILT_HEAD.keys())
def test_whatever_the_head_is_the_index_still_tells(
    bench: Bench, work_tree: Path, spoil: Callable[[Path], object]
) -> None:
    put(work_tree / ".git" / "HEAD", spoil)
    assert in_patch(bench, work_tree) == {"main.py", "lib/core.py"}


def _pipes_for_objects(git_dir: Path) -> None:
    for file in [path for path in (git_dir / "objects").rglob("*") if path.is_file()]:
        put(file, os.mkfifo)


def _alternates_elsewhere(git_dir: Path) -> None:
    put(git_dir / "objects" / "info" / "alternates", lambda place: place.write_text("/proc\n/\n../../../..\n"))


def _objects_elsewhere(git_dir: Path) -> None:
    shutil.move(git_dir / "objects", git_dir / "o")
    (git_dir / "objects").symlink_to("/")


SPOILT_OBJECTS = {
    "missing": lambda git_dir: shutil.rmtree(git_dir / "objects"),
    "pipes": _pipes_for_objects,
    "alternates are a pipe": lambda git_dir: put(git_dir / "objects" / "info" / "alternates", os.mkfifo),
    "a link": _objects_elsewhere,
    "alternates elsewhere": _alternates_elsewhere,
}


@pytest.mark.parametrize("spoil", SPOILT_OBJECTS.values(), ids=SPOILT_OBJECTS.keys())
def test_whatever_the_objects_are_the_patch_is_made_and_the_index_tells(
    bench: Bench, work_tree: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(work_tree / ".git")
    began = time.monotonic()
    made = in_patch(bench, work_tree)
    assert made == {"main.py", "lib/core.py"}
    assert time.monotonic() - began < 20 * LIMIT_SECONDS


def test_a_tree_without_end_is_left_at_its_limit(bench: Bench, work_tree: Path) -> None:
    git(work_tree, "rm", "--quiet", "--cached", "lib/core.py")
    kind, name = "blob", git(work_tree, "rev-parse", ":main.py")
    for _ in range(12):
        entries = "".join(f"{'100644' if kind == 'blob' else '040000'} {kind} {name}\t{n:02}\n" for n in range(50))
        kind, name = "tree", git(work_tree, "mktree", stdin=entries.encode())
    commit = git(work_tree, "commit-tree", name, "-m", "endless")
    (work_tree / ".git" / "refs" / "heads" / "main").write_text(f"{commit}\n")
    began = time.monotonic()
    made = bench.made(work_tree)
    assert time.monotonic() - began < 20 * LIMIT_SECONDS
    assert b"main.py" in made.diff
    assert made.ignored_named == ("lib/",)


@pytest.mark.parametrize("how", ["a link", "a file"])
def test_a_repository_that_is_somewhere_else_tells_nothing(
    bench: Bench, work_tree: Path, how: str, tmp_path: Path
) -> None:
    shutil.move(work_tree / ".git", tmp_path / "theirs")
    if how == "a link":
        (work_tree / ".git").symlink_to(tmp_path / "theirs")
    else:
        (work_tree / ".git").write_text(f"gitdir: {tmp_path}/theirs\n")
    made = bench.made(work_tree)
    assert b"lib/core.py" not in made.diff
    assert (made.ignored_files, made.ignored_named) == (1, ("lib/",))


def test_names_alone_come_of_it(bench: Bench, work_tree: Path) -> None:
    """What the agent's git says of a file's content, or of files that are not there, is no part of a patch."""
    blob = git(work_tree, "hash-object", "-w", "--stdin", stdin=b"forged\n")
    for name in ("lib/core.py", "lib/not-there.py", "lib/link/file"):
        git(work_tree, "update-index", "--add", "--cacheinfo", f"100755,{blob},{name}")
    (work_tree / "lib" / "link").symlink_to("/etc")
    patch = bench.patch(work_tree)
    assert b"forged" not in patch
    assert in_patch(bench, work_tree) == {"main.py", "lib/core.py"}
    assert b"new file mode 100644" in patch


def test_nothing_of_its_configuration_runs(bench: Bench, work_tree: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    evil.chmod(0o755)
    hooks = work_tree / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(evil, hooks / name)
    with (work_tree / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\n fsmonitor = {evil}\n hooksPath = {hooks}\n alternateRefsCommand = {evil}\n"
            f'[extensions]\n partialClone = origin\n[remote "origin"]\n url = ext::{evil}\n promisor = true\n'
        )
    shutil.rmtree(work_tree / ".git" / "objects" / "pack")
    assert in_patch(bench, work_tree) == {"main.py", "lib/core.py"}
    assert not (tmp_path / "pwned").exists()
