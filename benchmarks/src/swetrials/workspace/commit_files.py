"""The files of a commit and what they hold, read from the objects of a repository."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from swetrials.workspace.git import GitError, run_git

GITLINK = b"160000"
"""Mode of a submodule: a commit of another repository."""


@dataclass(frozen=True)
class Blob:
    """A file as git keeps it: its mode, as git writes it, and the id of its content."""

    mode: bytes
    oid: bytes


def shown_path(path: bytes) -> str:
    """Return a path as it can be shown and recorded: what is no UTF-8 is replaced."""
    return path.decode(errors="replace")


def files_of(commit: str, environment: Mapping[str, str]) -> dict[bytes, Blob]:
    """Return the files, links and submodules of a commit by their paths.

    Args:
        commit: the full id.
        environment: of the repository that has it.

    Raises:
        GitError: the commit cannot be read.
    """
    words = ("ls-tree", "-r", "-z", "--full-tree", commit)
    listed = run_git(*words, purpose=f"read commit {commit[:12]}", environment=environment)
    entries = (entry.partition(b"\t") for entry in listed.split(b"\0") if entry)
    return {path: Blob(head[:6], head.rsplit(b" ", 1)[1]) for head, _, path in entries}


def contents_of(oids: Iterable[bytes], environment: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return what some blobs hold, by their ids.

    Raises:
        GitError: one cannot be read.
    """
    asked = b"".join(oid + b"\n" for oid in oids)
    if not asked:
        return {}
    told = run_git("cat-file", "--batch", purpose="read files", environment=environment, stdin=asked)
    found, at = {}, 0
    # As `git-cat-file(1)` says of --batch: a line with id, type and size, the content, and a line's end.
    while at < len(told):
        start = told.index(b"\n", at) + 1
        oid, *kind_and_size = told[at : start - 1].split()
        if len(kind_and_size) != 2:  # "missing"
            raise GitError(f"cannot read files: {oid.decode()} is missing")
        size = kind_and_size[1]
        at = start + int(size) + 1
        found[oid] = told[start : at - 1]
    return found
