"""Committing run summaries, and nothing else, to the repository that the results lie in."""

from collections.abc import Sequence
from pathlib import Path

from swetrials.errors import KnownError
from swetrials.workspace.git import GitError, run_git, users_environment


class CommitError(KnownError):
    """The summaries are not committed; the message says why. Nothing was changed."""


def commit_files(files: Sequence[Path], message: str) -> str:
    """Commit some files on the current branch and return what the commit is called; nothing is ever pushed.

    They are committed even where the repository ignores the folder of the results: they were asked for by name.
    The person's own name, signing and so on hold; hooks do not run.

    Returns:
        Branch and short commit id, like ``main 1a2b3c4``; empty when the files are committed as they are.

    Raises:
        CommitError: the files are in no repository, its HEAD is detached, its index holds other changes, or git
            refuses.
    """
    folder = files[0].parent
    try:
        branch = _git(folder, "symbolic-ref", "--short", "--quiet", "HEAD", codes=(0, 1))
        if not branch:
            raise CommitError("HEAD is detached: check out a branch, then commit the summaries by hand")
        if staged := _git(folder, "diff", "--cached", "--name-only"):
            first = staged.splitlines()[0]
            raise CommitError(f"the index holds other changes ({first}): commit them, then the summaries by hand")
        _git(folder, "add", "--force", "--", *files)
        if not _git(folder, "diff", "--cached", "--name-only"):
            return ""
        try:
            _git(folder, "commit", "--quiet", f"--message={message}", "--only", "--", *files)
        except GitError:
            _git(folder, "reset", "--quiet", "--", *files)
            raise
        return f"{branch} {_git(folder, 'rev-parse', '--short', 'HEAD')}"
    except GitError as error:
        raise CommitError(str(error)) from None


def _git(folder: Path, *words: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    printed = run_git(
        *words, purpose=f"commit in {folder}", environment=users_environment(), cwd=folder, good_exit_codes=codes
    )
    return printed.decode(errors="replace").strip()
