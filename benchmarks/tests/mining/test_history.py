"""Reading a history: what git tells of each change, of repositories of all sorts, and how fast."""

import os
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mining.planted import good, with_base
from swetrials.mining.candidates import Filters
from swetrials.mining.history import open_history
from swetrials.mining.mining_run import classify
from swetrials.workspace.git import GitError
from swetrials.workspace.repositories import Repositories
from workspace.sources import commit_all, git, new_repository

_LIMIT_SECONDS = 60
_MOST_BYTES = 60_000_000


def test_each_change_is_told_with_its_files_whatever_they_are_called(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    (repo / "a.py").write_text("x = 1\n")
    first = commit_all(repo, "Begin")
    (repo / "a.py").rename(repo / "b.py")
    (repo / os.fsdecode(b"na\xefve\n.py")).write_text("y = 1\ny = 2\n")
    (repo / "bytes.bin").write_bytes(bytes(range(256)))
    second = commit_all(repo, "Move\n\nand say more\n:100644 000000 of it")
    commit_all(repo, "Nothing at all")

    third, moved, begun = open_history(Repositories.below(tmp_path), str(repo)).changes()

    assert (third.files, third.parents) == ((), (second,))
    files = {os.fsencode(file.path): file for file in moved.files}
    assert set(files) == {b"a.py", b"b.py", b"na\xefve\n.py", b"bytes.bin"}
    assert files[b"a.py"].is_deleted and files[b"b.py"].changed_lines == 1
    assert files[b"na\xefve\n.py"].added == 2
    assert files[b"bytes.bin"].is_binary
    assert (moved.subject, moved.parents, moved.author) == ("Move", (first,), "A")
    assert ":100644 000000 of it" in moved.message
    assert (begun.parents, begun.commit) == ((), first)


def test_a_merge_of_three_is_one_change_against_its_first_parent(tmp_path: Path) -> None:
    planted = with_base(tmp_path / "calc", ["one", "two", "three"])
    planted.merge("octopus", "kept", "Count on everywhere", good("one"), good("two"), good("three"))
    merge, root = open_history(Repositories.below(tmp_path), str(planted.root)).changes()
    assert len(merge.parents) == 4
    assert {file.path for file in merge.files} == {
        *(f"calc/{name}.py" for name in ("one", "two", "three")),
        *(f"tests/test_{name}.py" for name in ("one", "two", "three")),
    }
    assert root.parents == ()


def test_a_hostile_configuration_and_attributes_have_no_say(tmp_path: Path) -> None:
    planted = with_base(tmp_path / "calc", ["one"])
    planted.commit(
        "plain", "kept", "Count on", {**good("one"), ".gitattributes": "*.py diff=evil filter=evil binary\n"}
    )
    seen = tmp_path / "seen"
    evil = f"touch {seen}"
    for key in (
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "filter.evil.smudge",
        "core.fsmonitor",
        "core.pager",
    ):
        planted.git("config", key, evil)
    planted.git("config", "log.showSignature", "true")
    hook = planted.root / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\n{evil}\n")
    hook.chmod(0o755)
    newest, _ = open_history(Repositories.below(tmp_path), str(planted.root)).changes()
    assert not seen.exists()
    assert {file.path: file.is_binary for file in newest.files}["calc/one.py"] is False


@pytest.fixture
def full(tmp_path: Path) -> Path:
    planted = with_base(tmp_path / "calc", ["one"])
    planted.commit("plain", "kept", "Count on", good("one"))
    return planted.root


def test_bare_shallow_and_bundled_repositories_are_read(full: Path, tmp_path: Path) -> None:
    def clone(name: str, *words: str) -> str:
        git(tmp_path, "clone", "--quiet", *words, f"file://{full}", name)
        return str(tmp_path / name)

    git(full, "bundle", "create", str(tmp_path / "calc.bundle"), "--all", "HEAD")
    repositories = Repositories.below(tmp_path)
    for address in (clone("bare.git", "--bare"), str(tmp_path / "calc.bundle")):
        history = open_history(repositories, address)
        assert (len(list(history.changes())), history.shallow) == (2, False)
    shallow = open_history(repositories, clone("shallow", "--depth", "1"))
    assert shallow.shallow
    assert [change.parents for change in shallow.changes()] == [()]
    assert classify(shallow.changes(), Filters()).refused == {"root": 1}


def test_what_is_no_whole_repository_is_told_in_one_line(full: Path, tmp_path: Path) -> None:
    def fault(address: Path) -> str:
        with pytest.raises(GitError) as caught:
            open_history(Repositories.below(tmp_path / "mirrors"), str(address))
        assert "\n" not in str(caught.value)
        return str(caught.value)

    (tmp_path / "plain").mkdir()
    assert "no commit" in fault(new_repository(tmp_path / "empty"))
    assert "git repository" in fault(tmp_path / "plain")
    for blob in (full / ".git" / "objects").glob("??/*"):
        blob.unlink()
    assert str(full) in fault(full)


def _stream(commits: int) -> Iterator[bytes]:
    """Yield a history for ``git fast-import``: each fifth commit changes source and tests."""
    for number in range(commits):
        names = (
            [f"src/a{number % 50}.py", f"tests/test_a{number % 50}.py"]
            if number % 5 == 0
            else [f"src/b{number % 40}.py"]
        )
        body = "".join(f"line {line} {number}\n" for line in range(30)).encode()
        message = f"Change number {number} of the counters".encode()
        yield b"commit refs/heads/main\ncommitter A <a@b> %d +0000\n" % (1_500_000_000 + number * 3600)
        yield b"data %d\n%s\n" % (len(message), message)
        for name in names:
            yield b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(body), body)


@pytest.mark.slow
def test_ten_thousand_commits_are_classified_within_a_minute_in_flat_memory(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "big")
    commits = 10_000
    subprocess.run(["git", "-C", repo, "fast-import", "--quiet"], input=b"".join(_stream(commits)), check=True)
    began = time.monotonic()
    history = open_history(Repositories.below(tmp_path), str(repo))
    found = classify(history.changes(), Filters())
    assert time.monotonic() - began < _LIMIT_SECONDS
    assert (found.commits, len(found.candidates)) == (commits, commits // 5 - 1)

    tracemalloc.start()
    try:
        for _ in history.changes():
            pass
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES // 10
    finally:
        tracemalloc.stop()
