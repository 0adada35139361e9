"""The files of a commit, with a patch or without, by what is in them."""

import os
import tempfile
from pathlib import Path

from swetrials.workspace.git import GitError, lay_out_repository, run_git, sealed_environment
from swetrials.workspace.patch import PatchError
from swetrials.workspace.repositories import Repositories


def tracked_files(repositories: Repositories, repo: str, commit: str, patch: bytes = b"") -> dict[str, str]:
    """Return mode and blob id of every file of a commit to which a patch was applied, by its path.

    No file is written: the patch is applied to an index alone.

    Args:
        repositories: the cache that holds the commit.
        repo: the repository's address.
        commit: the full id.
        patch: applied on top.

    Raises:
        PatchError: the patch does not fit the commit.
        GitError: the commit is not in the cache.
    """
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        lay_out_repository(git_dir, bare=True, alternate=repositories.objects(repo))
        environment = sealed_environment(git_dir)
        run_git("read-tree", commit, purpose=f"read commit {commit[:12]}", environment=environment)
        if patch.strip():
            words = ("apply", "--cached", "--whitespace=nowarn")
            try:
                run_git(*words, purpose="apply the patch", environment=environment, stdin=patch)
            except GitError as error:
                raise PatchError(str(error)) from None
        listed = run_git("ls-files", "--stage", "-z", purpose="list the files", environment=environment)
    entries = (entry.partition(b"\t") for entry in listed.split(b"\0") if entry)
    return {os.fsdecode(path): b" ".join(head.split()[:2]).decode("ascii") for head, _, path in entries}
