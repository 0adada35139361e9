"""What a commit speaks of and a checkout of it does not hold: submodules, and files that git LFS keeps elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from swetrials.workspace.commit_files import GITLINK, Blob, contents_of, files_of, shown_path
from swetrials.workspace.git import run_git, sealed_environment
from swetrials.workspace.repositories import Repositories

_LFS_ATTRIBUTE = b"filter=lfs"
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_LARGEST_POINTER_BYTES = 1023
# As the specification of git LFS says, docs/spec.md of git-lfs/git-lfs.


@dataclass(frozen=True)
class NotCheckedOut:
    """What is missing in a checkout, although the commit names it.

    Attributes:
        submodules: folders that are empty.
        lfs_files: files that hold a pointer to their content instead of it.
    """

    submodules: tuple[str, ...] = ()
    lfs_files: tuple[str, ...] = ()


def not_checked_out(repositories: Repositories, repo: str, commit: str) -> NotCheckedOut:
    """Return what a checkout of a commit does not hold.

    Only the list of files is read, unless an attribute says that there are files of git LFS.

    Args:
        repositories: the cache that holds the commit.
        repo: the repository's address.
        commit: the full id.

    Raises:
        GitError: the commit is not in the cache.
    """
    environment = sealed_environment(repositories.objects(repo).parent)
    files = files_of(commit, environment)
    return NotCheckedOut(
        submodules=tuple(shown_path(path) for path, blob in files.items() if blob.mode == GITLINK),
        lfs_files=tuple(map(shown_path, _pointers(files, environment))),
    )


def _pointers(files: Mapping[bytes, Blob], environment: Mapping[str, str]) -> Iterator[bytes]:
    attributes = [blob.oid for path, blob in files.items() if path.rpartition(b"/")[2] == b".gitattributes"]
    if not any(_LFS_ATTRIBUTE in text for text in contents_of(attributes, environment).values()):
        return
    asked = b"".join(blob.oid + b"\n" for blob in files.values() if blob.mode != GITLINK)
    words = ("cat-file", "--batch-check=%(objectname) %(objectsize)")
    told = run_git(*words, purpose="read the sizes of files", environment=environment, stdin=asked)
    sizes = (line.split() for line in told.splitlines())
    small = {oid for oid, size in sizes if int(size) <= _LARGEST_POINTER_BYTES}
    texts = contents_of(small, environment)
    yield from (path for path, blob in files.items() if texts.get(blob.oid, b"").startswith(_POINTER))
