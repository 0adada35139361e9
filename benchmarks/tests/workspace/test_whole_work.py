"""The whole work of an agent is in its patch; what is not is told."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinds import first_is_quick
from swetrials.records.metrics import NotKept
from swetrials.workspace import patch as patch_module
from workspace.ordinary import CAN_BE_ORDINARY
from workspace.patch_bench import Bench
from workspace.sources import commit_all, git, new_repository, tree


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    source = new_repository(folder / "source")
    for name in ("src/main.py", "src/other.py", "docs/a.md"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(f"{name}\n")
    (source / ".gitignore").write_text("*.log\nlib/\nbuild/\n!kept.log\n")
    (source / "docs" / ".gitignore").write_text("site/\n")
    commit_all(source, "one")
    return Bench(folder, source)


def write(work_tree: Path, name: str, text: str = "mine\n") -> None:
    (work_tree / name).parent.mkdir(parents=True, exist_ok=True)
    (work_tree / name).write_text(text)


def changed(patch: bytes) -> set[str]:
    return {line.split(" b/")[1] for line in patch.decode(errors="replace").splitlines() if line.startswith("diff --")}


def with_ignored_work(bench: Bench, *commands: str) -> Path:
    """Return a checkout with work under an ignored folder, and a file of build output beside it."""
    work_tree = bench.checkout()
    write(work_tree, "lib/core.py")
    write(work_tree, "lib/core.log")
    for command in commands:
        git(work_tree, *command.split())
    return work_tree


COMMITTED = ("add -f lib/core.py", "commit --quiet -m mine")


@pytest.mark.parametrize(
    "commands",
    [
        ("add -f lib/core.py",),
        ("add -N -f lib/core.py",),
        COMMITTED,
        (*COMMITTED, "rm --quiet --cached lib/core.py"),
        ("checkout --quiet -b my/branch", *COMMITTED, "rm --quiet --cached lib/core.py", "pack-refs --all"),
        (*COMMITTED, "checkout --quiet --detach", "rm --quiet --cached lib/core.py"),
        ("update-index --index-version 4", *COMMITTED),
        (*COMMITTED, "repack -a -d --quiet"),
    ],
    ids=str,
)
def test_work_under_an_ignored_path_is_in_the_patch(bench: Bench, commands: tuple[str, ...]) -> None:
    work_tree = with_ignored_work(bench, *commands)
    made = bench.made(work_tree)
    assert changed(made.diff) == {"lib/core.py"}
    assert (made.ignored_files, made.ignored_named) == (1, ("lib/core.log",))
    assert (bench.applied(made.diff) / "lib" / "core.py").read_text() == "mine\n"


def test_what_its_git_tracks_counts_as_it_lies_in_the_work_tree(bench: Bench) -> None:
    work_tree = with_ignored_work(bench, *COMMITTED)
    write(work_tree, "lib/core.py", "changed after the commit\n")
    write(work_tree, "lib/gone.py")
    git(work_tree, "add", "-f", "lib/gone.py")
    (work_tree / "lib" / "gone.py").unlink()
    patch = bench.patch(work_tree)
    assert changed(patch) == {"lib/core.py"}
    assert b"+changed after the commit" in patch


def test_work_of_an_earlier_attempt_under_an_ignored_path_is_kept(bench: Bench) -> None:
    earlier = bench.patch(with_ignored_work(bench, *COMMITTED))
    work_tree = bench.applied(earlier)
    write(work_tree, "src/main.py")
    assert changed(bench.made(work_tree, earlier=earlier).diff) == {"lib/core.py", "src/main.py"}


def test_ignored_work_of_nobody_is_counted_and_named(bench: Bench) -> None:
    work_tree = with_ignored_work(bench)
    write(work_tree, "build/a/b.o")
    write(work_tree, "build/c.o")
    write(work_tree, "docs/site/index.html")
    write(work_tree, "src/debug.log")
    write(work_tree, "kept.log")
    made = bench.made(work_tree, prepared=("build/a",))
    assert changed(made.diff) == {"kept.log"}
    assert made.ignored_files == 5
    assert made.ignored_named == ("build/", "docs/site/", "lib/", "src/debug.log")


def test_no_more_than_twenty_ignored_ones_are_named(bench: Bench) -> None:
    work_tree = bench.checkout()
    for number in range(30):
        write(work_tree, f"src/{number:02}.log")
    made = bench.made(work_tree)
    assert (made.ignored_files, len(made.ignored_named), made.ignored_named[0]) == (30, 20, "src/00.log")


@pytest.mark.parametrize("place", [".gitignore", "src/.gitignore", ".git/info/exclude"])
def test_rules_of_the_agents_hide_nothing(bench: Bench, place: str) -> None:
    work_tree = bench.checkout()
    write(work_tree, place, "*\n")
    write(work_tree, "src/new.py")
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/new.py", place} - {".git/info/exclude"}
    assert (made.ignored_files, made.not_kept) == (0, ())


def test_a_rule_that_the_agent_takes_away_hides_nothing_either(bench: Bench) -> None:
    work_tree = with_ignored_work(bench)
    write(work_tree, ".gitignore", "*.log\n")
    made = bench.made(work_tree)
    assert changed(made.diff) == {".gitignore", "lib/core.py"}
    assert made.ignored_named == ("lib/core.log",)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "large", "no text"])
def test_rules_that_are_no_rules_hide_nothing_and_hold_nothing_up(bench: Bench, kind: str, tmp_path: Path) -> None:
    work_tree = with_ignored_work(bench)
    rules = work_tree / "lib" / ".gitignore"
    if kind == "pipe":
        os.mkfifo(rules)
    elif kind == "link":
        (tmp_path / "rules").write_text("!*\n")
        rules.symlink_to(tmp_path / "rules")
    elif kind == "folder":
        rules.mkdir()
    elif kind == "large":
        with rules.open("wb") as file:
            file.truncate(10_000_000_000)
    else:
        rules.write_bytes(b"\xff\x00\n" * 1000)
    began = time.monotonic()
    assert bench.patch(work_tree) == b""
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("name", [".gitattributes", "src/.gitattributes"])
def test_attributes_that_are_a_pipe_hold_nothing_up(bench: Bench, name: str) -> None:
    work_tree = bench.checkout()
    write(work_tree, "src/main.py")
    os.mkfifo(work_tree / name)
    assert changed(bench.patch(work_tree)) == {"src/main.py"}


def _pipe(place: Path) -> None:
    os.mkfifo(place)


def _socket(place: Path) -> None:
    here = os.open(place.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{here}/{place.name}")  # the path of a socket has to be short
    finally:
        os.close(here)


def _huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(3_000_000_000)


def _closed(place: Path) -> None:
    place.write_text("secret\n")
    place.chmod(0)


CANNOT_BE_KEPT = [
    (_pipe, "is a named pipe"),
    (_socket, "is a socket"),
    (_huge, "has 3,000,000,000 bytes, and a patch may have 268,435,456"),
    pytest.param(_closed, "cannot be read: Permission denied", marks=CAN_BE_ORDINARY),
]


@pytest.mark.parametrize(("spoil", "reason"), CANNOT_BE_KEPT)
def test_a_tracked_file_that_cannot_be_kept_costs_itself_alone(
    bench: Bench, spoil: Callable[[Path], None], reason: str
) -> None:
    work_tree = bench.checkout()
    write(work_tree, "src/other.py")
    write(work_tree, "src/new.py")
    (work_tree / "src" / "main.py").unlink()
    spoil(work_tree / "src" / "main.py")
    made = bench.made_as_ordinary_user(work_tree) if spoil is _closed else bench.made(work_tree)
    assert changed(made.diff) == {"src/other.py", "src/new.py"}
    assert made.not_kept == (NotKept(path="src/main.py", reason=reason),)
    assert (bench.applied(made.diff) / "src" / "main.py").read_text() == "src/main.py\n"


@pytest.mark.parametrize(("spoil", "reason"), CANNOT_BE_KEPT[2:])
def test_a_new_file_that_cannot_be_kept_costs_itself_alone(
    bench: Bench, spoil: Callable[[Path], None], reason: str
) -> None:
    work_tree = bench.checkout()
    write(work_tree, "src/new.py")
    spoil(work_tree / "spoilt")
    made = bench.made_as_ordinary_user(work_tree) if spoil is _closed else bench.made(work_tree)
    assert changed(made.diff) == {"src/new.py"}
    assert made.not_kept == (NotKept(path="spoilt", reason=reason),)


def test_new_pipes_and_sockets_are_no_work(bench: Bench) -> None:
    work_tree = bench.checkout()
    _pipe(work_tree / "pipe")
    _socket(work_tree / "socket")
    made = bench.made(work_tree)
    assert (made.diff, made.not_kept, made.ignored_files) == (b"", (), 0)


@CAN_BE_ORDINARY
@first_is_quick("mode", [0o000, 0o444, 0o111])
def test_a_folder_that_cannot_be_looked_into_costs_itself_alone(bench: Bench, mode: int) -> None:
    work_tree = bench.checkout()
    write(work_tree, "docs/a.md")
    write(work_tree, "new/file")
    for folder in ("src", "new"):
        (work_tree / folder).chmod(mode)
    made = bench.made_as_ordinary_user(work_tree)
    for folder in ("src", "new"):
        (work_tree / folder).chmod(0o755)
    assert changed(made.diff) == {"docs/a.md"}
    why = "the folder cannot be looked into: Permission denied"
    assert made.not_kept == (NotKept(path="new/", reason=why), NotKept(path="src/", reason=why))


def test_folders_deeper_than_a_path_may_be_cost_themselves_alone(bench: Bench) -> None:
    work_tree = bench.checkout()
    write(work_tree, "src/new.py")
    here = os.open(work_tree, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/new.py"}
    assert [file.reason for file in made.not_kept] == ["the folder cannot be looked into: File name too long"]


NAMES_THAT_GIT_REFUSES = ["git~1", ".GIT/config", "a/.gIt", "a\\.git\\b", ".git ./x", "a/GIT~1:x"]


def test_names_that_git_refuses_cost_themselves_alone(bench: Bench) -> None:
    work_tree = bench.checkout()
    write(work_tree, "src/new.py")
    for name in NAMES_THAT_GIT_REFUSES:
        write(work_tree, name)
    (work_tree / ".gitmodules").symlink_to("src/main.py")
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/new.py"}
    assert {file.path for file in made.not_kept} == {*NAMES_THAT_GIT_REFUSES, ".gitmodules"}
    assert {file.reason for file in made.not_kept} == {"git refuses the name"}
    bench.applied(made.diff)


PARTS = st.lists(
    st.sampled_from([".", "git", "GIT", "~1", " ", ":", "\\", "x", "modules", "~2"]), min_size=1, max_size=4
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(names=st.lists(st.lists(PARTS.map("".join), min_size=1, max_size=2).map("/".join), min_size=1, max_size=8))
def test_whatever_the_names_the_rest_is_kept_and_git_takes_it(bench: Bench, names: list[str]) -> None:
    work_tree = bench.checkout()
    for name in names:
        inside = not {".", "..", ".git"} & set(name.split("/"))
        free = not (work_tree / name).exists() and not any((work_tree / way).is_file() for way in Path(name).parents)
        if inside and free:
            write(work_tree, name)
    write(work_tree, "src/new.py")
    made = bench.made(work_tree)
    fresh = tree(bench.applied(made.diff))
    refused = {os.fsencode(file.path) for file in made.not_kept}
    assert fresh == {name: content for name, content in tree(work_tree).items() if name not in refused}
    # What is refused, git itself does not take; of names with a backslash it takes some.
    for file in (file for file in made.not_kept if "\\" not in file.path):
        git(work_tree, "update-index", "--add", "-z", "--stdin", stdin=os.fsencode(file.path) + b"\0")
        assert file.path not in git(work_tree, "-c", "core.quotePath=false", "ls-files", "-z").split("\0")
    shutil.rmtree(work_tree)


def limited(monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    monkeypatch.setattr(patch_module, "LARGEST_PATCH_BYTES", most_bytes)


def test_the_largest_new_files_go_until_the_patch_fits(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 10_000)
    work_tree = bench.checkout()
    (work_tree / "core").write_bytes(os.urandom(20_000))
    (work_tree / "half").write_bytes(os.urandom(4_000))
    write(work_tree, "lines", "\n" * 5_990)  # twice as long in a patch
    write(work_tree, "src/new.py")
    write(work_tree, "src/main.py", "changed\n" * 100)
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/new.py", "src/main.py", "half"}
    assert made.not_kept == (
        NotKept(path="core", reason="has 20,000 bytes, and a patch may have 10,000"),
        NotKept(path="lines", reason="has 5,990 bytes, and a patch may have 10,000"),
    )
    assert len(made.diff) <= 10_000
    assert (bench.applied(made.diff) / "src" / "main.py").read_text() == "changed\n" * 100


def test_changed_files_go_after_new_ones_and_deletions_last(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 1_000)
    work_tree = bench.checkout()
    write(work_tree, "new", "x" * 600)
    write(work_tree, "src/main.py", "x" * 900)
    (work_tree / "src" / "other.py").unlink()
    (work_tree / "src" / "other.py").symlink_to("main.py")
    (work_tree / "docs" / "a.md").unlink()
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/other.py", "docs/a.md"}
    assert [file.path for file in made.not_kept] == ["new", "src/main.py"]
    fresh = bench.applied(made.diff)
    assert (fresh / "src" / "other.py").is_symlink()
    assert not (fresh / "docs").joinpath("a.md").exists()


def test_a_file_over_the_limit_that_did_not_change_is_no_matter(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    work_tree = bench.checkout()
    (work_tree / "src" / "main.py").chmod(0o755)
    limited(monkeypatch, 5)
    assert bench.made(bench.checkout()).not_kept == ()
    assert [file.path for file in bench.made(work_tree).not_kept] == ["src/main.py"]
    limited(monkeypatch, 10_000)
    assert b"new mode 100755" in bench.patch(work_tree)


def test_a_folder_that_gives_way_to_a_file_too_large_is_still_deleted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, 3_000)
    work_tree = bench.checkout()
    shutil.rmtree(work_tree / "src")
    (work_tree / "src").write_bytes(os.urandom(2_900))
    made = bench.made(work_tree)
    assert changed(made.diff) == {"src/main.py", "src/other.py"}
    assert [file.path for file in made.not_kept] == ["src"]
    assert not (bench.applied(made.diff) / "src").exists()
