"""Patches: every kind of change makes the round trip, and nothing that the agent left has a say."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swetrials.workspace.patch import PatchError, apply_patch, make_patch
from workspace.patch_bench import Bench
from workspace.sources import commit_all, git, new_repository, tree


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("bench")
    source = new_repository(folder / "source")
    (source / "src" / "deep").mkdir(parents=True)
    (source / "src" / "main.py").write_text("".join(f"line {n}\n" for n in range(60)))
    (source / "src" / "deep" / "other.py").write_text("print()\n")
    (source / "bytes.bin").write_bytes(bytes(range(256)) * 8)
    (source / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (source / "no-end").write_bytes(b"no newline")
    (source / "empty").touch()
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("src/main.py")
    (source / "tracked.log").write_text("tracked although ignored\n")
    (source / ".gitignore").write_text("*.log\nbuild/\n")
    (source / "unix.txt").write_bytes(b"one\ntwo\nthree\n")
    commit_all(source, "one")
    # After the files, so that both kinds of line ends are stored.
    (source / ".gitattributes").write_text("*.txt text eol=crlf\n")
    git(source, "add", ".gitattributes")
    git(source, "commit", "--quiet", "--message", "attributes")
    return Bench(folder, source)


def _write(name: str, data: bytes) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return edit


def _in_git(*commands: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / "src" / "main.py").write_text("mine\n")
        (folder / "src" / "new.py").write_text("mine too\n")
        for command in commands:
            git(folder, *command.split())

    return edit


def _swap_file_and_folder(folder: Path) -> None:
    (folder / "empty").unlink()
    _write("empty/inside", b"x\n")(folder)
    shutil.rmtree(folder / "src")
    (folder / "src").write_text("now a file\n")


def _folder_becomes_link(folder: Path) -> None:
    (folder / "src").rename(folder / "moved")
    (folder / "src").symlink_to("moved")


def _link_becomes_file(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").write_text("src/main.py")


def _link_moves_into_a_folder_of_its_name(folder: Path) -> None:
    (folder / "link").rename(folder / "moved")
    (folder / "link").mkdir()
    (folder / "moved").rename(folder / "link" / "inside")


EDITS = {
    "nothing": lambda folder: None,
    "a changed file": _write("src/main.py", b"".join(b"line %d\n" % n for n in range(1, 61))),
    "a new file": _write("new/deep/file.py", b"x = 1\n"),
    "an empty file": _write("nothing", b""),
    "a new binary file": _write("new.bin", bytes(range(256)) * 3),
    "a changed binary file": _write("bytes.bin", bytes(range(256)) * 7 + b"\0end"),
    "staged": _in_git("add --all"),
    "committed": _in_git("add --all", "commit --quiet -m mine"),
    "committed on another branch": _in_git("checkout --quiet -b other", "add --all", "commit --quiet -m mine"),
    "committed over the pinned commit": _in_git("add --all", "commit --quiet --amend -m mine"),
    "staged, then changed again": lambda folder: (_in_git("add --all")(folder), _write("src/new.py", b"3")(folder)),
    "deleted": lambda folder: (folder / "src" / "deep" / "other.py").unlink(),
    "everything deleted": lambda folder: [
        p.unlink() for p in folder.rglob("*") if ".git" not in p.parts and not p.is_dir()
    ],
    "made a program": lambda folder: (folder / "src" / "main.py").chmod(0o755),
    "made no program": lambda folder: (folder / "run.sh").chmod(0o644),
    "a new link to nowhere": lambda folder: (folder / "dead").symlink_to("/no where/\n"),
    "a link that points elsewhere": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("empty")),
    "a link becomes a file": _link_becomes_file,
    "a link moves into a folder of its name": _link_moves_into_a_folder_of_its_name,
    "a file and a folder swap": _swap_file_and_folder,
    "a folder becomes a link": _folder_becomes_link,
    "a rename with a change": lambda folder: (
        (folder / "src" / "main.py").rename(folder / "renamed.py"),
        (folder / "renamed.py").open("a").write("more\n"),
    ),
    "an awkward name": _write(' a "b"\\c\td\u00e9\n\u2603', b"x\n"),
    "a name that is no text": lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")).touch(),
    "a name like an option": _write("--force", b"x\n"),
    "names like pathspecs": lambda folder: (_write(":(glob)*", b"x")(folder), _write("!src", b"x")(folder)),
    "DOS line ends, kept": _write("dos.txt", b"one\r\n2\r\nthree\r\n"),
    "DOS line ends, dropped": _write("dos.txt", b"one\ntwo\nthree\n"),
    "DOS line ends, mixed": _write("src/main.py", b"line 0\r\nline 1\nline 2\r\n"),
    "no newline at the end, kept": _write("no-end", b"still no newline"),
    "no newline at the end, added": _write("no-end", b"no newline\n"),
    "a tracked file that is ignored": _write("tracked.log", b"changed\n"),
    "an empty gitignore": _write(".gitignore", b""),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_patch_makes_the_same_tree_of_a_fresh_checkout(bench: Bench, edit: Callable[[Path], object]) -> None:
    work_tree = bench.checkout()
    edit(work_tree)
    patch = bench.patch(work_tree)
    assert bool(patch) == (tree(work_tree) != tree(bench.checkout()))
    assert tree(bench.applied(patch)) == tree(work_tree)


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda name: name.strip(" .") and not name.lower().startswith(".git") and "git~" not in name.lower()
)
OLD = st.sampled_from(
    ["src/main.py", "src/deep/other.py", "bytes.bin", "dos.txt", "unix.txt", "no-end", "empty", "run.sh", "link"]
)
PLACES = OLD | NAMES | st.builds("{}/{}".format, st.sampled_from(["src", "new", "empty", "link"]), NAMES)
CONTENT = st.binary(max_size=80) | st.lists(st.sampled_from(["a", "b\r", "", "line 3"])).map(
    lambda lines: "\n".join(lines).encode()
)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PLACES, CONTENT),
        st.tuples(st.just("link"), PLACES, st.sampled_from([b"src", b"..", b"/etc", b"src/main.py"])),
        st.tuples(st.just("program"), PLACES, CONTENT),
        st.tuples(st.just("remove"), OLD | st.just("src"), st.just(b"")),
    ),
    max_size=6,
)


def _change(folder: Path, how: str, name: str, data: bytes) -> None:
    path = folder / name
    if any((folder / parent).is_symlink() for parent in Path(name).parents):
        return
    for parent in reversed(Path(name).parents[:-1]):
        if (folder / parent).is_file():
            (folder / parent).unlink()
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if how == "remove":
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if how == "link":
        path.symlink_to(os.fsdecode(data))
    else:
        path.write_bytes(data)
        path.chmod(0o755 if how == "program" else 0o644)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_any_change_survives_the_round_trip(bench: Bench, changes: list[tuple[str, str, bytes]]) -> None:
    work_tree = bench.checkout()
    _change(work_tree, "write", ".gitignore", b"")
    for how, name, data in changes:
        _change(work_tree, how, name, data)
    fresh = bench.applied(bench.patch(work_tree))
    assert tree(fresh) == tree(work_tree)
    shutil.rmtree(fresh)
    shutil.rmtree(work_tree)


def test_ignored_new_files_stay_out(bench: Bench) -> None:
    work_tree = bench.checkout()
    _write("build/output.o", b"x")(work_tree)
    _write("src/debug.log", b"x")(work_tree)
    assert bench.patch(work_tree) == b""


@pytest.mark.parametrize("harm", ["removed", "emptied", "a file", "garbage", "a link"])
def test_what_becomes_of_git_does_not_matter(bench: Bench, harm: str, tmp_path: Path) -> None:
    work_tree = bench.checkout()
    (work_tree / "src" / "main.py").write_text("mine\n")
    git_dir = work_tree / ".git"
    if harm == "garbage":
        for path in git_dir.rglob("*"):
            if path.is_file():
                path.chmod(0o644)
                path.write_bytes(b"\0garbage")
    else:
        shutil.rmtree(git_dir)
        if harm == "emptied":
            git_dir.mkdir()
        elif harm == "a file":
            git_dir.write_text(f"gitdir: {tmp_path}/elsewhere\n")
        elif harm == "a link":
            git_dir.symlink_to(tmp_path)
    patch = bench.patch(work_tree)
    assert patch.count(b"diff --git") == 1
    assert (bench.applied(patch) / "src" / "main.py").read_text() == "mine\n"


def test_no_program_of_the_agents_runs(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\ncat\n")
    evil.chmod(0o755)
    config = (
        f"[core]\n fsmonitor = {evil}\n hooksPath = {tmp_path}\n pager = {evil}\n sshCommand = {evil}\n"
        f'[filter "evil"]\n clean = {evil}\n smudge = {evil}\n process = {evil}\n required = true\n'
        f'[diff "evil"]\n command = {evil}\n textconv = {evil}\n[diff]\n external = {evil}\n'
        "[alias]\n diff = !false\n"
    )
    (tmp_path / "gitconfig").write_text(config)
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction"):
        shutil.copy(evil, tmp_path / name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(evil))
    work_tree = bench.checkout()
    (work_tree / ".git" / "config").write_text(config)
    (work_tree / ".gitattributes").write_text("* filter=evil diff=evil working-tree-encoding=nonsense text=auto\n")
    (work_tree / "src" / "main.py").write_text("mine\r\n")
    nested = new_repository(work_tree / "nested")
    (nested / "file").write_text("x\n")
    commit_all(nested, "one")
    (nested / ".git" / "config").write_text(config)

    patch = bench.patch(work_tree)

    assert not (tmp_path / "pwned").exists()
    assert b"+mine\r\n" in patch
    fresh = bench.checkout()
    apply_patch(fresh, patch)
    assert not (tmp_path / "pwned").exists()
    assert tree(fresh) == tree(work_tree)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("place", ["new/nested", "src", "empty"])
def test_a_repository_inside_is_there_as_plain_files(bench: Bench, place: str, committed: bool) -> None:
    work_tree = bench.checkout()
    if (work_tree / place).is_file():
        (work_tree / place).unlink()
    (work_tree / place).mkdir(parents=True, exist_ok=True)
    git(work_tree / place, "init", "--quiet")
    _write(f"{place}/a b/file.py", b"x\n")(work_tree)
    _write(f"{place}/inner/file.py", b"y\n")(work_tree)
    git(work_tree / place / "inner", "init", "--quiet")
    if committed:
        commit_all(work_tree / place / "inner", "inner")
        commit_all(work_tree / place, "one")
    _write(f"{place}/out.log", b"ignored by the outer repository\n")(work_tree)
    _write(f"{place}/inner/build/x.o", b"so is this\n")(work_tree)
    fresh = tree(bench.applied(bench.patch(work_tree)))
    ignored = {os.fsencode(f"{place}/out.log"), os.fsencode(f"{place}/inner/build/x.o")}
    assert fresh == {name: entry for name, entry in tree(work_tree).items() if name not in ignored}


@pytest.mark.parametrize("what", ["untouched", "files put in", "cloned into", "removed"])
def test_submodules_are_no_part_of_a_patch(tmp_path: Path, what: str) -> None:
    inner = new_repository(tmp_path / "inner")
    (inner / "a").write_text("a\n")
    commit_all(inner, "one")
    outer = new_repository(tmp_path / "outer")
    git(outer, "submodule", "--quiet", "add", inner.as_uri(), "sub")
    commit_all(outer, "one")
    bench = Bench(tmp_path, outer)
    work_tree = bench.checkout()
    (work_tree / "new").write_text("x\n")
    if what == "files put in":
        (work_tree / "sub" / "mine").write_text("x\n")
    elif what == "cloned into":
        git(work_tree, "clone", "--quiet", str(inner), "sub")
        (work_tree / "sub" / "mine").write_text("x\n")
        # git would start another git in there, and that one the filter.
        (work_tree / "sub" / "a").write_text("b\n")
        (work_tree / "sub" / ".gitattributes").write_text("a filter=evil\n")
        with (work_tree / "sub" / ".git" / "config").open("a") as config:
            config.write(f'[filter "evil"]\n\tclean = "touch {tmp_path}/pwned; cat"\n')
    elif what == "removed":
        (work_tree / "sub").rmdir()
    patch = bench.patch(work_tree)
    assert not (tmp_path / "pwned").exists()
    assert b"Subproject" not in patch
    assert tree(bench.applied(patch)) == tree(work_tree)


def test_a_patch_applies_in_an_ordinary_clone_with_its_line_ends_converted(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / "unix.txt").write_bytes(b"one\ntwo\n3\n")
    (work_tree / "dos.txt").write_bytes(b"one\r\ntwo\r\n3\r\n")
    clone = bench.folder / "clone"
    git(bench.folder, "clone", "--quiet", bench.repo, str(clone))
    assert (clone / "unix.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    git(clone, "apply", "-", stdin=bench.patch(work_tree))
    assert (clone / "unix.txt").read_bytes() == b"one\r\ntwo\r\n3\r\n"
    assert (clone / "dos.txt").read_bytes() == b"one\r\ntwo\r\n3\r\n"


def test_an_agents_own_attributes_change_no_bytes(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / ".gitattributes").write_text("* text=auto eol=crlf\n*.py -diff\n")
    (work_tree / "new.py").write_bytes(b"a\nb\r\n")
    patch = bench.patch(work_tree)
    assert b"+a\n+b\r\n" in patch
    assert tree(bench.applied(patch)) == tree(work_tree)


def test_a_work_tree_that_is_gone(bench: Bench) -> None:
    with pytest.raises(PatchError, match="nowhere"):
        bench.patch(bench.folder / "nowhere")


def test_a_work_tree_that_has_become_a_link_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "diary").write_text("dear diary\n")
    (tmp_path / "checkout").symlink_to(tmp_path / "private")
    with pytest.raises(PatchError, match="has put something else in its place"):
        bench.patch(tmp_path / "checkout")


def test_a_patch_that_does_not_fit_changes_nothing(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / "src" / "main.py").write_text("mine\n")
    (work_tree / "empty").write_text("filled\n")
    patch = bench.patch(work_tree)
    other = bench.checkout()
    (other / "src" / "main.py").write_text("something else\n")
    before = tree(other)
    with pytest.raises(PatchError, match=r"cannot apply the patch: src/main\.py: patch does not apply"):
        apply_patch(other, patch)
    assert tree(other) == before


@pytest.mark.parametrize("patch", [b"", b"\n"])
def test_an_empty_patch_changes_nothing(bench: Bench, patch: bytes) -> None:
    checkout = bench.checkout()
    apply_patch(checkout, patch)
    assert tree(checkout) == tree(bench.checkout())


@pytest.mark.parametrize("name", ["../outside", ".git/hooks/pre-commit", "/tmp/outside", "gone/../../outside"])
def test_a_patch_stays_in_the_work_tree(bench: Bench, name: str) -> None:
    checkout = bench.checkout()
    text = f"diff --git a/{name} b/{name}\nnew file mode 100755\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(PatchError):
        apply_patch(checkout, text.encode())


def test_a_patch_does_not_leave_by_a_link(bench: Bench, tmp_path: Path) -> None:
    checkout = bench.checkout()
    (checkout / "way").symlink_to(tmp_path)
    patch = b"diff --git a/way/out b/way/out\nnew file mode 100644\n--- /dev/null\n+++ b/way/out\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(PatchError, match="symbolic link"):
        apply_patch(checkout, patch)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_in_the_mirror_or_the_work_tree(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / "src" / "main.py").write_text("mine\n")

    def files(folder: Path) -> set[Path]:
        return set(folder.rglob("*"))

    mirror = bench.repositories.objects(bench.repo).parent
    before = files(mirror), files(work_tree)
    assert bench.patch(work_tree)
    assert (files(mirror), files(work_tree)) == before


def test_a_checkout_shows_the_same_change_to_the_agent(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / "dos.txt").write_bytes(b"one\r\n2\r\nthree\r\n")
    shown = subprocess.run(["git", "diff", "--stat"], cwd=work_tree, capture_output=True, check=True).stdout
    assert b"1 insertion(+), 1 deletion(-)" in shown


def test_what_was_prepared_is_no_part_of_a_patch_whatever_gitignore_says(bench: Bench) -> None:
    work_tree = bench.checkout()
    (work_tree / "deps" / "nested").mkdir(parents=True)
    git(work_tree / "deps" / "nested", "init", "--quiet")
    for name in ("deps/a", "deps/nested/b", "made.txt", "made.txt.not", "depsnot"):
        (work_tree / name).write_text("x\n")
    (work_tree / ".gitignore").write_text("!deps\n!made.txt\n")
    patch = make_patch(bench.repositories, bench.repo, bench.commit, work_tree, ("deps", "made.txt")).diff
    names = {line.split()[2] for line in patch.decode().splitlines() if line.startswith("diff --git")}
    assert names == {"a/.gitignore", "a/made.txt.not", "a/depsnot"}
