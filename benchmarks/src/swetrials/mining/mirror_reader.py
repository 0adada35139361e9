"""What mining reads out of a mirror: files of commits, changes between them, and words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.workspace.commit_files import contents_of, files_of, shown_path
from swetrials.workspace.git import run_git, sealed_environment

_MOST_WORDS_AT_ONCE = 500


@dataclass(frozen=True)
class MirrorReader:
    """Reads out of a mirror; nothing is written.

    Attributes:
        mirror: the git folder.
    """

    mirror: Path

    def blobs(self, ids: Sequence[str]) -> list[bytes]:
        """Return the content of blobs, in their order.

        Raises:
            GitError: one is missing.
        """
        oids = [one.encode() for one in ids]
        contents = contents_of(oids, sealed_environment(self.mirror))
        return [contents[oid] for oid in oids]

    def paths(self, commit: str) -> dict[str, str]:
        """Return the blob id of each file of a commit by its path; what is no UTF-8 is replaced.

        Raises:
            GitError: the commit cannot be read.
        """
        files = files_of(commit, sealed_environment(self.mirror))
        return {shown_path(path): blob.oid.decode() for path, blob in files.items()}

    def patch(self, parent: str, commit: str, leaving_out: Iterable[str]) -> bytes:
        """Return the change from one commit to another, as a patch that git applies, without some files of it.

        Raises:
            GitError: it cannot be made.
        """
        words = ("diff", "--binary", "--full-index", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
        out = [f":(exclude,literal,top){path}" for path in leaving_out]
        return self._git(*words, parent, commit, "--", ":/", *out, purpose=f"read the change {commit[:12]}")

    def words_there(self, commit: str, words: Sequence[str]) -> set[str]:
        """Return which of some words stand anywhere in the text files of a commit.

        Raises:
            GitError: the commit cannot be read.
        """
        if not words:
            return set()
        asked = [part for word in words[:_MOST_WORDS_AT_ONCE] for part in ("-e", word)]
        printed = self._git(
            "grep", "-h", "-o", "-w", "-I", "-F", *asked, commit, "--", purpose="look for words", good=(0, 1)
        )
        return set(printed.decode(errors="replace").split("\n")).intersection(words)

    def _git(self, *words: str, purpose: str, good: Sequence[int] = (0,)) -> bytes:
        return run_git(*words, purpose=purpose, environment=sealed_environment(self.mirror), good_exit_codes=good)
