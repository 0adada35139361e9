"""The mirror cache and the checkouts from it."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from swetrials.workspace.git import GitError
from swetrials.workspace.processes import MARK, stop_marked
from swetrials.workspace.repositories import Repositories
from workspace.sources import commit_all, git, new_repository, tree


@dataclass(frozen=True)
class Source:
    """A repository and the ids of its commits."""

    path: Path
    first: str
    second: str


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A repository with two commits, a tag of each kind on the first, and a branch on the first."""
    path = new_repository(tmp_path / "source")
    (path / "folder").mkdir()
    (path / "folder" / "a.txt").write_text("one\n")
    (path / "run.sh").write_text("#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    (path / "link").symlink_to("folder/a.txt")
    first = commit_all(path, "one")
    git(path, "tag", "light")
    git(path, "tag", "--annotate", "--message", "a release", "v1.0")
    git(path, "branch", "topic/old")
    (path / "fix.txt").write_text("the fix\n")
    return Source(path, first, commit_all(path, "the fix"))


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    return Repositories(tmp_path / "mirrors")


@pytest.mark.parametrize("form", ["path", "bare", "file URL", "bundle", "shallow"])
def test_every_kind_of_address_and_ref(form: str, source: Source, repositories: Repositories, tmp_path: Path) -> None:
    address = str(source.path)
    if form == "bare":
        address = str(tmp_path / "bare.git")
        git(tmp_path, "clone", "--quiet", "--mirror", str(source.path), address)
    elif form == "file URL":
        address = source.path.as_uri()
    elif form == "bundle":
        address = str(tmp_path / "source.bundle")
        git(source.path, "bundle", "create", "--quiet", address, "--all")
    elif form == "shallow":
        address = str(tmp_path / "shallow")
        commit_all(source.path, "three")
        git(tmp_path, "clone", "--quiet", "--depth=1", "--no-single-branch", source.path.as_uri(), address)
        git(Path(address), "branch", "topic/old", "origin/topic/old")

    assert repositories.resolve(address, "main") == git(source.path, "rev-parse", "main")
    for ref in ("light", "v1.0", "topic/old", source.first, source.first[:10]):
        assert repositories.resolve(address, ref) == source.first, ref
    checkout = tmp_path / "checkout"
    repositories.check_out(address, source.first, checkout)
    assert tree(checkout) == {
        b"folder/a.txt": ("file", b"one\n"),
        b"run.sh": ("program", b"#!/bin/sh\n"),
        b"link": ("link", b"folder/a.txt"),
    }


def test_a_tag_wins_over_a_branch_of_its_name(source: Source, repositories: Repositories) -> None:
    git(source.path, "branch", "light", "main")
    assert repositories.resolve(str(source.path), "light") == source.first


def test_a_ref_outside_branches_and_tags(source: Source, repositories: Repositories) -> None:
    git(source.path, "checkout", "--quiet", "--detach")
    pull = commit_all(source.path, "somebody's change")
    git(source.path, "update-ref", "refs/pull/7/head", pull)
    git(source.path, "checkout", "--quiet", "main")
    assert repositories.resolve(str(source.path), "refs/pull/7/head") == pull
    assert repositories.resolve(source.path.as_uri(), pull) == pull


def test_the_persons_insteadof_is_followed(
    source: Source, repositories: Repositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(f'[url "{tmp_path}/"]\n\tinsteadOf = https://forge.invalid/team/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    assert repositories.resolve("https://forge.invalid/team/source", "v1.0") == source.first


def test_a_checkout_holds_the_commit_alone(source: Source, repositories: Repositories, tmp_path: Path) -> None:
    repositories.resolve(str(source.path), "main")
    checkout = tmp_path / "elsewhere" / "checkout"
    repositories.check_out(str(source.path), source.first, checkout)

    assert git(checkout, "log", "--all", "--format=%H") == source.first
    assert git(checkout, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(checkout, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(checkout, "remote") == ""
    assert git(checkout, "reflog", "--all") == ""
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "fsck", "--full", "--strict") == ""
    stored = git(checkout, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    wanted = git(source.path, "rev-list", "--objects", "--no-walk", "--no-object-names", source.first).split()
    assert sorted(stored) == sorted(wanted)
    files = [path for path in (checkout / ".git").rglob("*") if path.is_file()]
    assert not {"FETCH_HEAD", "ORIG_HEAD", "packed-refs", "alternates"} & {path.name for path in files}
    for path in files:
        assert os.fsencode(tmp_path / "mirrors") not in path.read_bytes(), path
        assert os.fsencode(source.path) not in path.read_bytes(), path


def test_an_agent_can_commit_in_a_checkout(source: Source, repositories: Repositories, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    repositories.resolve(str(source.path), "main")
    repositories.check_out(str(source.path), source.second, checkout)
    (checkout / "new").write_text("x")
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for words in (["add", "."], ["commit", "--quiet", "--message", "mine"]):
        subprocess.run(["git", *words], cwd=checkout, env=bare, check=True)
    assert git(checkout, "log", "--format=%an %s").splitlines() == ["Developer mine", "A the fix"]


def test_files_are_the_bytes_that_the_repository_stores(repositories: Repositories, tmp_path: Path) -> None:
    source = new_repository(tmp_path / "source")
    (source / "dos.bat").write_bytes(b"a\r\nb\r\n")
    (source / "unix.bat").write_bytes(b"a\nb\n")
    (source / "id").write_bytes(b"$Id$\n")
    git(source, "add", ".")
    (source / ".gitattributes").write_text("*.bat text eol=crlf\nid ident filter=evil\n")
    git(source, "add", ".gitattributes")
    git(source, "commit", "--quiet", "--message", "one")
    commit = repositories.resolve(str(source), "main")
    checkout = tmp_path / "checkout"
    repositories.check_out(str(source), commit, checkout)
    assert (checkout / "dos.bat").read_bytes() == b"a\r\nb\r\n"
    assert (checkout / "unix.bat").read_bytes() == b"a\nb\n"
    assert (checkout / "id").read_bytes() == b"$Id$\n"
    assert git(checkout, "status", "--porcelain") == ""


def test_a_submodule_is_an_empty_folder(source: Source, repositories: Repositories, tmp_path: Path) -> None:
    outer = new_repository(tmp_path / "outer")
    git(outer, "submodule", "--quiet", "add", source.path.as_uri(), "vendor/inner")
    commit_all(outer, "one")
    checkout = tmp_path / "checkout"
    repositories.check_out(str(outer), repositories.resolve(str(outer), "main"), checkout)
    assert list((checkout / "vendor" / "inner").iterdir()) == []
    assert git(checkout, "status", "--porcelain") == ""


def test_a_branch_that_moves_is_seen_by_the_next_run_only(source: Source, tmp_path: Path) -> None:
    this_run = Repositories(tmp_path / "mirrors")
    assert this_run.resolve(str(source.path), "main") == source.second
    third = commit_all(source.path, "three")
    assert this_run.resolve(str(source.path), "main") == source.second
    assert Repositories(tmp_path / "mirrors").resolve(str(source.path), "main") == third


def test_rewritten_and_renamed_branches_are_followed(source: Source, tmp_path: Path) -> None:
    Repositories(tmp_path / "mirrors").resolve(str(source.path), "topic/old")
    git(source.path, "branch", "--delete", "--force", "topic/old")
    git(source.path, "branch", "topic", "main")
    git(source.path, "reset", "--quiet", "--hard", source.first)
    later = Repositories(tmp_path / "mirrors")
    assert later.resolve(str(source.path), "topic") == source.second
    assert later.resolve(str(source.path), "main") == source.first


def test_commits_and_tags_once_fetched_need_no_source(source: Source, tmp_path: Path) -> None:
    Repositories(tmp_path / "mirrors").resolve(str(source.path), "main")
    source.path.rename(tmp_path / "gone")
    later = Repositories(tmp_path / "mirrors")
    assert later.resolve(str(source.path), "v1.0") == source.first
    assert later.resolve(str(source.path), source.second) == source.second
    with pytest.raises(GitError, match=r"cannot fetch .* does not appear to be a git repository; check the address"):
        later.resolve(str(source.path), "main")


@pytest.mark.parametrize(
    ("repo", "ref", "words"),
    [
        ("ext::sh -c id", "main", "cannot use the repository: 'ext::sh -c id'"),
        ("--upload-pack=touch pwned", "main", "cannot use the repository: '--upload-pack=touch pwned'"),
        ("{source}", "--upload-pack=touch pwned", "cannot use the ref: '--upload-pack=touch pwned'"),
        ("{source}", "main..topic", "cannot use the ref: 'main..topic'"),
        ("{source}", "nonsuch", "couldn't find remote ref nonsuch; check that the ref 'nonsuch' is a tag, a branch"),
        ("{source}", "5" * 40, f"not our ref {'5' * 40}; check that the ref"),
    ],
)
def test_what_cannot_be_resolved_is_one_line(
    repo: str, ref: str, words: str, source: Source, repositories: Repositories
) -> None:
    with pytest.raises(GitError) as caught:
        repositories.resolve(repo.format(source=source.path), ref)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_ref_that_is_no_commit(source: Source, repositories: Repositories) -> None:
    blob = git(source.path, "rev-parse", "main:fix.txt")
    git(source.path, "tag", "blob", blob)
    with pytest.raises(GitError, match="it is not a commit"):
        repositories.resolve(str(source.path), "blob")


def test_checkouts_need_a_known_commit_and_an_empty_folder(
    source: Source, repositories: Repositories, tmp_path: Path
) -> None:
    commit = repositories.resolve(str(source.path), "main")
    with pytest.raises(GitError, match="not a full commit id"):
        repositories.check_out(str(source.path), "main", tmp_path / "a")
    with pytest.raises(GitError, match="resolve it first"):
        repositories.check_out(str(source.path), "5" * 40, tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine").touch()
    with pytest.raises(GitError, match="the folder is not empty"):
        repositories.check_out(str(source.path), commit, tmp_path / "c")


def test_threads_and_processes_share_a_cache(source: Source, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from swetrials.workspace.repositories import Repositories\n"
        "repositories = Repositories(Path(sys.argv[1]))\n"
        "repositories.check_out(sys.argv[2], repositories.resolve(sys.argv[2], 'main'), Path(sys.argv[3]))\n"
    )
    arguments = [sys.executable, "-c", script, str(tmp_path / "mirrors"), str(source.path)]
    others = [subprocess.Popen([*arguments, str(tmp_path / f"process{n}")]) for n in range(2)]
    repositories = Repositories(tmp_path / "mirrors")

    def trial(number: int) -> None:
        commit = repositories.resolve(str(source.path), "main")
        repositories.check_out(str(source.path), commit, tmp_path / f"thread{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(trial, range(4)))
    assert [other.wait(60) for other in others] == [0, 0]
    expected = tree(source.path)
    for name in ("process0", "process1", *(f"thread{n}" for n in range(4))):
        assert tree(tmp_path / name) == expected


def test_a_mirror_survives_a_harness_killed_in_the_middle_of_a_fetch(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source.path / "big").write_bytes(os.urandom(300_000))
    newest = commit_all(source.path, "big")
    # Stands for the network: a server that stops sending in the middle of the pack.
    slow = tmp_path / "slow-ssh"
    slow.write_text(f"#!/bin/sh\ngit upload-pack '{source.path}' | (dd bs=1 count=150000 status=none; sleep 60)\n")
    fast = tmp_path / "fast-ssh"
    fast.write_text(f"#!/bin/sh\nexec git upload-pack '{source.path}'\n")
    for program in (slow, fast):
        program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    address = "ssh://forge.invalid/team/source"
    script = (
        "import sys; from pathlib import Path; from swetrials.workspace.repositories import Repositories\n"
        "Repositories(Path(sys.argv[1])).resolve(sys.argv[2], 'main')\n"
    )
    harness = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "mirrors"), address],
        env=os.environ | {"GIT_SSH": str(slow)},
    )
    give_up_at = time.monotonic() + 20
    try:
        while not (partial := list((tmp_path / "mirrors").glob("*/objects/pack/tmp_pack_*"))):
            assert time.monotonic() < give_up_at, "the fetch never began"
            time.sleep(0.02)
    finally:
        harness.kill()
        harness.wait()
    mirror = partial[0].parents[2]
    (mirror / "packed-refs.lock").touch()
    (mirror / "refs" / "heads" / "main.lock").touch()

    monkeypatch.setenv("GIT_SSH", str(fast))
    repositories = Repositories(tmp_path / "mirrors")
    assert repositories.resolve(address, "main") == newest
    repositories.check_out(address, newest, tmp_path / "checkout")
    assert tree(tmp_path / "checkout") == tree(source.path)
    assert not partial[0].exists()
    assert stop_marked(mirror.name) == 0, f"an orphaned git still carries {MARK}"


def test_a_commit_travels_to_a_cache_that_cannot_reach_the_repository(source: Source, tmp_path: Path) -> None:
    here, there = Repositories(tmp_path / "here"), Repositories(tmp_path / "there")
    address = str(source.path)
    assert here.resolve(address, "main") == source.second
    pack = here.pack(address, source.second)
    source.path.rename(tmp_path / "out-of-reach")
    assert not there.holds(address, source.second)
    there.take_in(address, pack)
    there.take_in(address, pack)
    assert there.holds(address, source.second) and not there.holds(address, source.first)
    there.check_out(address, source.second, tmp_path / "checkout")
    here.check_out(address, source.second, tmp_path / "reference")
    assert tree(tmp_path / "checkout") == tree(tmp_path / "reference")
    assert (tmp_path / "checkout" / "fix.txt").read_text() == "the fix\n"
    (tmp_path / "out-of-reach").rename(source.path)
    assert there.resolve(address, "v1.0") == source.first


def test_a_torn_pack_is_refused(source: Source, repositories: Repositories, tmp_path: Path) -> None:
    commit = repositories.resolve(str(source.path), "main")
    pack = repositories.pack(str(source.path), commit)
    there = Repositories(tmp_path / "there")
    with pytest.raises(GitError, match="cannot take in a commit"):
        there.take_in(str(source.path), pack[:-40])
    assert not there.holds(str(source.path), commit)


def test_a_tag_that_moved_is_seen_by_the_next_run_and_refreshes_its_mirror(source: Source, tmp_path: Path) -> None:
    first = Repositories(tmp_path / "mirrors")
    assert first.resolve(str(source.path), "light") == source.first
    git(source.path, "tag", "--force", "light", source.second)
    assert first.resolve(str(source.path), "light") == source.first
    later = Repositories(tmp_path / "mirrors")
    assert later.resolve(str(source.path), "light") == source.second
    assert later.out_of_reach(str(source.path)) == ""
    source.path.rename(tmp_path / "gone")
    offline = Repositories(tmp_path / "mirrors")
    assert offline.resolve(str(source.path), "light") == source.second
    assert "cannot fetch" in offline.out_of_reach(str(source.path))


def test_a_repository_is_looked_up_once_for_all_of_its_refs(source: Source, tmp_path: Path) -> None:
    run = Repositories(tmp_path / "mirrors")
    assert run.resolve(str(source.path), "main") == source.second
    source.path.rename(tmp_path / "gone")
    assert run.resolve(str(source.path), "topic/old") == source.first


def test_a_checkout_may_lie_anywhere_and_the_mirrors_in_a_folder_of_any_name(source: Source, tmp_path: Path) -> None:
    repositories = Repositories(tmp_path / 'a "b": c\\d')
    commit = repositories.resolve(str(source.path), "main")
    on_another_disk = Path("/dev/shm")  # where there is one, as on every Linux
    with tempfile.TemporaryDirectory(dir=on_another_disk if on_another_disk.is_dir() else tmp_path) as folder:
        repositories.check_out(str(source.path), commit, Path(folder, "checkout"))
        assert tree(Path(folder, "checkout")) == tree(source.path)
        assert git(Path(folder, "checkout"), "rev-parse", "HEAD") == commit
