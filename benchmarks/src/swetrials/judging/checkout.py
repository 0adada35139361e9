"""A checkout of a judge's own, at the commit that the trial was pinned to."""

from pathlib import Path

from anyio import to_thread

from swetrials.judging.base import Submission
from swetrials.workspace.git import GitError
from swetrials.workspace.repositories import Repositories


class CheckoutFailed(Exception):
    """There is no clean checkout at the trial's commit; the message says why."""


async def clean_checkout(repositories: Repositories, submission: Submission, into: Path) -> str:
    """Make a checkout that nobody else has, without the trial's patch, and return its commit.

    Raises:
        CheckoutFailed: the repository or the commit cannot be had.
    """

    def check_out() -> str:
        commit = repositories.resolve(submission.repo, submission.commit)
        repositories.check_out(submission.repo, commit, into)
        return commit

    try:
        return await to_thread.run_sync(check_out)
    except GitError as error:
        raise CheckoutFailed(str(error)) from None
