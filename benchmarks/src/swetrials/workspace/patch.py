"""What an agent changed: one patch from the pinned commit to the final work tree, whatever became of its ``.git``."""

import os
import stat
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from swetrials.workspace.git import GitError, lay_out_repository, run_git, sealed_environment
from swetrials.workspace.repositories import Repositories

LARGEST_PATCH_BYTES = 256 * 1024 * 1024
"""A patch beyond this is build output or a data set, not a change to review."""

_GITLINK = b"160000"


class PatchError(GitError):
    """A patch cannot be made or does not apply; the message is one line with git's own words."""


def make_patch(
    repositories: Repositories, repo: str, commit: str, work_tree: Path, prepared: Iterable[str] = ()
) -> bytes:
    """Return the change from a commit to the work tree as a unified diff with binary parts.

    It covers changed, new and deleted files, committed or not, with their modes, and symbolic links. What counts
    is what lies in the work tree: its ``.git`` is not read, so commits, staged changes, configuration,
    filters, hooks and external diff programs of the agent's have no say. New files that a ``.gitignore``
    of the work tree names are left out; files that the commit holds are always looked at.

    A git repository that the agent made inside the work tree is there as plain files. Submodules of the commit
    are not part of a patch: their folders are empty in a checkout, and files put there are new files.

    Args:
        repositories: the cache that holds the commit.
        repo: the repository's address.
        commit: the pinned commit's full id.
        work_tree: the checkout as the agent left it.
        prepared: what was put into the work tree before the agent came, and is no work of its: files of no commit, and
            folders with all that is in them.

    Raises:
        PatchError: a file cannot be read, the patch would exceed ``LARGEST_PATCH_BYTES``, or the work tree is no
            folder (a link in its place could lead anywhere).
    """
    if work_tree.is_symlink() or not work_tree.is_dir():
        raise PatchError(
            f"cannot compare {work_tree.name} with the commit: the agent has put something else in its place"
        )
    with _own_index(work_tree, repositories.objects(repo)) as index:
        try:
            index.read(commit)
            index.update_tracked()
            index.add_untracked(frozenset(os.fsencode(name) for name in prepared))
            return index.difference(commit)
        except PatchError:
            raise
        except GitError as error:
            raise PatchError(str(error)) from None


def apply_patch(work_tree: Path, patch: bytes) -> None:
    """Apply a patch to the files of a work tree, completely or not at all; an empty one changes nothing.

    Raises:
        PatchError: the patch is malformed or does not fit the files.
    """
    if not patch.strip():
        return
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        lay_out_repository(git_dir, bare=False)
        try:
            run_git(
                "apply",
                "--whitespace=nowarn",
                purpose="apply the patch",
                environment=sealed_environment(git_dir, work_tree.absolute()),
                cwd=work_tree,
                stdin=patch,
            )
        except GitError as error:
            raise PatchError(str(error)) from None


@dataclass(frozen=True)
class _Index:
    """An index of our own over somebody else's work tree; its new objects go to a folder that is thrown away."""

    work_tree: Path
    environment: Mapping[str, str]
    scratch: Path

    def git(self, *arguments: str, purpose: str, stdin: bytes = b"", good_exit_codes: Container[int] = (0,)) -> bytes:
        return run_git(
            *arguments,
            purpose=purpose,
            environment=self.environment,
            cwd=self.work_tree,
            stdin=stdin,
            good_exit_codes=good_exit_codes,
        )

    def read(self, commit: str) -> None:
        self.git("read-tree", commit, purpose=f"read commit {commit[:12]}")
        # Before anything compares: git would start another git inside a submodule, under that one's configuration.
        self._drop_gitlinks()

    def update_tracked(self) -> None:
        self.git("add", "--update", "--", ".", purpose="read the changed files")
        # A file that has become a repository counts for git as a submodule now.
        self._drop_gitlinks()

    def add_untracked(self, prepared: Set[bytes]) -> None:
        listed = self.git("ls-files", "--others", "--exclude-standard", "-z", purpose="list the new files")
        names = [name for name in listed.split(b"\0") if name and not _is_in(prepared, name)]
        plain = [name for name in names if not name.endswith(b"/")]
        nested = [name for name in names if name.endswith(b"/")]
        below = (name for folder in nested for name in _files_below(os.fsencode(self.work_tree), folder))
        inside = [name for name in below if not _is_in(prepared, name)]
        self._update("--add", names=[*plain, *self._not_ignored(inside)])

    def difference(self, commit: str) -> bytes:
        with (self.scratch / "patch").open("w+b") as file:
            run_git(
                "diff",
                "--cached",
                "--binary",
                "--full-index",
                # As a rename, a file that moves into a folder of its own former name does not apply.
                "--no-renames",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=all",
                commit,
                "--",
                purpose="compare the work tree with the commit",
                environment=self.environment,
                cwd=self.work_tree,
                stdout=file,
            )
            size_bytes = file.seek(0, os.SEEK_END)
            if size_bytes > LARGEST_PATCH_BYTES:
                raise PatchError(
                    f"cannot keep the patch: it has {size_bytes:,} bytes, the limit is {LARGEST_PATCH_BYTES:,}; "
                    "build output that no .gitignore names is the usual reason"
                )
            file.seek(0)
            return file.read()

    def _drop_gitlinks(self) -> None:
        staged = self.git("ls-files", "--stage", "-z", purpose="list the files of the commit")
        entries = (entry.partition(b"\t") for entry in staged.split(b"\0") if entry)
        self._update("--force-remove", names=[name for head, _, name in entries if head.startswith(_GITLINK)])

    def _not_ignored(self, names: list[bytes]) -> list[bytes]:
        if not names:
            return []
        listed = self.git(
            "check-ignore",
            "--no-index",
            "--verbose",
            "--non-matching",
            "-z",
            "--stdin",
            purpose="tell ignored files apart",
            stdin=_joined(names),
            good_exit_codes=(0, 1),
        )
        fields = listed.split(b"\0")
        rules = zip(fields[2::4], fields[3::4], strict=False)
        return [name for pattern, name in rules if not pattern or pattern.startswith(b"!")]

    def _update(self, how: str, names: list[bytes]) -> None:
        if names:
            self.git("update-index", how, "-z", "--stdin", purpose="read the new files", stdin=_joined(names))


@contextmanager
def _own_index(work_tree: Path, objects: Path) -> Iterator[_Index]:
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        lay_out_repository(git_dir, bare=False, alternate=objects)
        yield _Index(work_tree, sealed_environment(git_dir, work_tree.absolute()), Path(folder))


def _files_below(root: bytes, folder: bytes) -> Iterator[bytes]:
    """Yield the files and links below a folder, relative to the root, without those of any ``.git``.

    The folder's name ends with a slash, as git lists it.
    """
    for entry in os.scandir(root + b"/" + folder):
        name = folder + entry.name
        mode = entry.stat(follow_symlinks=False).st_mode
        if entry.name == b".git":
            continue
        if stat.S_ISDIR(mode):
            yield from _files_below(root, name + b"/")
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield name


def _is_in(names: Set[bytes], path: bytes) -> bool:
    """Whether a path, or a folder that it lies in, is among some names."""
    parts = path.rstrip(b"/").split(b"/")
    return any(b"/".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _joined(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)
