"""What an agent changed: one patch from the pinned commit to the final work tree, whatever became of its ``.git``."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from swetrials.records.metrics import NotKept
from swetrials.workspace.commit_files import shown_path
from swetrials.workspace.git import GitError, lay_out_repository, run_git, sealed_environment
from swetrials.workspace.ignore_rules import collapsed
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.tree_comparison import TreeComparison
from swetrials.workspace.work_tree import WorkTree

LARGEST_PATCH_BYTES = 256 * 1024 * 1024
"""A patch beyond this is build output or a data set, not a change to review."""

IGNORED_NAMED = 20
"""Ignored files and folders of which a patch gives the names."""


class PatchError(GitError):
    """A patch cannot be made or does not apply; the message is one line with git's own words."""


@dataclass(frozen=True)
class WorkPatch:
    """The change from a commit to a work tree, and what of the work tree is not in it.

    Attributes:
        diff: a unified diff with binary parts.
        not_kept: what cannot be kept. In the patch such a file is as it is in the commit.
        ignored_files: new files that are ignored, and no work.
        ignored_named: the first of them, whole folders by their name, at most ``IGNORED_NAMED``.
    """

    diff: bytes
    not_kept: tuple[NotKept, ...] = ()
    ignored_files: int = 0
    ignored_named: tuple[str, ...] = ()


def make_patch(
    repositories: Repositories,
    repo: str,
    commit: str,
    work_tree: Path,
    prepared: Iterable[str] = (),
    earlier: bytes = b"",
) -> WorkPatch:
    """Return the change from a commit to the work tree.

    It covers changed, new and deleted files, committed or not, with their modes, and symbolic links. What counts
    is what lies in the work tree, and nobody but us reads that: commits, staged changes, configuration,
    attributes, filters, hooks and external diff programs of the agent's have no say.

    A new file is left out where it is ignored and no work. Ignored is what the commit's ``.gitignore`` files name and
    those of the work tree as well: rules that the agent wrote hide nothing, and rules that it took away neither. Work
    is what its own git tracks (:func:`~swetrials.workspace.agents_git.tracked_by_agent`), or what an earlier patch has.

    A file that cannot be kept costs that file and not the patch: what is no file any more, cannot be read, has a name
    that git refuses, or is too large. Where the patch would exceed ``LARGEST_PATCH_BYTES``, the largest new files are
    left out until it does not.

    A git repository that the agent made inside the work tree is there as plain files. Submodules of the commit
    are not part of a patch: their folders are empty in a checkout, and files put there are new files.

    Args:
        repositories: the cache that holds the commit.
        repo: the repository's address.
        commit: the pinned commit's full id.
        work_tree: the checkout as the agent left it.
        prepared: what was put into the work tree before the agent came, and is no work of its: files of no commit, and
            folders with all that is in them.
        earlier: a patch of an earlier attempt's that the work tree began with.

    Raises:
        PatchError: git fails, or the work tree is no folder that can be looked into (a link in its place could lead
            anywhere).
    """
    if work_tree.is_symlink() or not work_tree.is_dir():
        raise PatchError(
            f"cannot compare {work_tree.name} with the commit: the agent has put something else in its place"
        )
    try:
        tree = WorkTree.of(work_tree)
        with TreeComparison.of(tree, commit, repositories.objects(repo), LARGEST_PATCH_BYTES) as comparison:
            comparison.compare_tracked()
            new = comparison.new_files(frozenset(os.fsencode(name) for name in prepared))
            ignored = comparison.ignored(new, earlier)
            comparison.add_new(new - ignored)
            diff = comparison.difference()
    except GitError as error:
        raise PatchError(str(error)) from None
    except OSError as error:
        raise PatchError(f"cannot compare the work tree with the commit: {error}") from None
    named = collapsed(ignored, (*comparison.before, *(new - ignored)))[:IGNORED_NAMED]
    return WorkPatch(diff, tuple(comparison.not_kept), len(ignored), tuple(map(shown_path, named)))


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
