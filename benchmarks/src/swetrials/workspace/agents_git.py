"""What an agent's own git tracks: a list of paths, read as a stranger's data, which it may be."""

import re
import tempfile
from contextlib import suppress
from pathlib import Path

from swetrials.workspace.git import GitBounds, GitError, lay_out_repository, run_git, sealed_environment
from swetrials.workspace.safe_read import read_left

_LIMIT_SECONDS = 30.0
_BOUNDS = GitBounds(memory_bytes=2 * 1024**3, printed_bytes=128 * 1024**2)
_LARGEST_INDEX_BYTES = 128 * 1024**2
_LARGEST_REFS_BYTES = 16 * 1024**2

_SETTINGS = (
    # A checkout of one commit has a pack, which may be large, and none of the lists that speed up a history.
    "[core]\n\tpackedGitWindowSize = 16m\n\tpackedGitLimit = 256m\n\tcommitGraph = false\n\tmultiPackIndex = false\n"
)

_OID = re.compile(rb"[0-9a-f]{40}")
_BRANCH = re.compile(rb"ref: (refs/heads/[^\0\n]+)")


def tracked_by_agent(work_tree: Path, commit: str) -> set[bytes]:
    """Return the paths that the agent's own git tracks: those of its index, and of the commit that it is at.

    Nothing of its repository runs, and no setting of it holds: its index is copied, and its objects are read, by a git
    with a repository of ours, in bounded time and memory. What cannot be read that way tells of no path; so does an
    index that is split in two, and a repository that is somewhere else, behind a link or a file ``.git``. Where its
    objects may lie beside that is no matter: all that comes of them is names.

    Args:
        work_tree: the checkout as the agent left it.
        commit: the pinned one, which tells nothing when the agent is still there.
    """
    theirs = work_tree.absolute() / ".git"
    if theirs.is_symlink() or not theirs.is_dir():
        return set()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "git"
        lay_out_repository(own, bare=True, alternate=theirs / "objects", settings=_SETTINGS)
        names: set[bytes] = set()
        if index := _read(theirs, "index", _LARGEST_INDEX_BYTES):
            (own / "index").write_bytes(index)
            names |= _listed(own, "ls-files", "-z", "--cached")
        if (head := _head(theirs)) is not None and head != commit:
            names |= _listed(own, "ls-tree", "-r", "-z", "--name-only", "--full-tree", head)
        return names


def _listed(git_dir: Path, *words: str) -> set[bytes]:
    printed = git_dir.with_name("printed")
    with suppress(GitError), printed.open("w+b") as file:
        run_git(
            *words,
            purpose="read the agent's repository",
            environment=sealed_environment(git_dir),
            stdout=file,
            limit_seconds=_LIMIT_SECONDS,
            bounds=_BOUNDS,
        )
        file.seek(0)
        return set(filter(None, file.read().split(b"\0")))
    return set()


def _head(git_dir: Path) -> str | None:
    """Return the commit that a repository is at, as its files say (``gitrepository-layout(5)``)."""
    head = _read(git_dir, "HEAD", 4096)
    if branch := _BRANCH.match(head):
        head = _ref(git_dir, branch[1])
    return head[:40].decode() if _OID.match(head) else None


def _ref(git_dir: Path, name: bytes) -> bytes:
    folder, _, last = name.rpartition(b"/")
    if b".." not in name and (
        loose := _read(git_dir / folder.decode(errors="replace"), last.decode(errors="replace"), 4096)
    ):
        return loose
    packed = _read(git_dir, "packed-refs", _LARGEST_REFS_BYTES)
    return next((line for line in packed.splitlines() if line[41:] == name), b"")


def _read(folder: Path, name: str, most_bytes: int) -> bytes:
    return read_left(folder, name, most_bytes) or b""
