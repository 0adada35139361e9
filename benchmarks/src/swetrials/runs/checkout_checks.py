"""The pre-flight's look at what the checkouts of a run will not hold."""

from collections import defaultdict
from collections.abc import Sequence

from swetrials.records.check import Check
from swetrials.records.dataset import Task
from swetrials.records.words import listed
from swetrials.workspace.not_checked_out import not_checked_out
from swetrials.workspace.repositories import Repositories

_NAMED = 3
_FIX = "fetch them in the setup of the tasks' environment, unless the tasks do without"


def checkout_checks(repositories: Repositories, repo: str, tasks: Sequence[Task]) -> list[Check]:
    """Warn of submodules and of files of git LFS, which are silently empty or pointers in a checkout.

    Args:
        repositories: the cache, in which the tasks' commits are.
        repo: the repository's address.
        tasks: those on it.

    Raises:
        GitError: a commit cannot be read.
    """
    by_commit: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        by_commit[repositories.resolve(repo, task.ref)].append(task.id)
    checks = []
    for commit, ids in by_commit.items():
        lacking = not_checked_out(repositories, repo, commit)
        those = listed(ids, _NAMED)
        if lacking.submodules:
            detail = f"{those}: empty folders in the checkout: {listed(lacking.submodules, _NAMED)}"
            checks.append(Check("submodules", "warning", detail, _FIX))
        if lacking.lfs_files:
            detail = f"{those}: pointers in the checkout, not the files: {listed(lacking.lfs_files, _NAMED)}"
            checks.append(Check("git LFS", "warning", detail, _FIX))
    return checks
