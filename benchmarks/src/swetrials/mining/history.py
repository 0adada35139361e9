"""The first-parent history of a repository, one change after another, the newest first.

The user's repository is only ever read, and by ``git fetch`` alone: everything here is read out of a mirror of our own,
which knows none of its configuration, hooks, attributes or filters.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from swetrials.workspace.git import GitError, sealed_environment, stream_git
from swetrials.workspace.repositories import Repositories

_FIELDS = 6
_RAW = re.compile(rb"\n?:(\d{6}) (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([A-Z])\d*")
_COUNTS = re.compile(rb"\n?(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_GITLINK = "160000"
_LINK = "120000"
_NOTHING = "000000"


@dataclass(frozen=True)
class ChangedFile:
    """What a change does to one file.

    Attributes:
        path: with the bytes of another encoding as surrogates (:func:`os.fsdecode`).
        old_mode: git's mode before, ``000000`` where the file is new.
        new_mode: git's mode after, ``000000`` where it is gone.
        blob: the id of its content after.
        added: lines; ``None``: it is binary.
        removed: likewise.
    """

    path: str
    old_mode: str
    new_mode: str
    blob: str
    added: int | None = None
    removed: int | None = None

    @property
    def is_new(self) -> bool:
        """Whether it was not there before the change."""
        return self.old_mode == _NOTHING

    @property
    def is_deleted(self) -> bool:
        """Whether it is gone after the change."""
        return self.new_mode == _NOTHING

    @property
    def is_submodule(self) -> bool:
        """Whether it is another repository, before or after."""
        return _GITLINK in (self.old_mode, self.new_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link after the change."""
        return self.new_mode == _LINK

    @property
    def is_executable(self) -> bool:
        """Whether it may be executed after the change."""
        return self.new_mode == "100755"

    @property
    def is_binary(self) -> bool:
        """Whether git takes it for no text."""
        return self.added is None

    @property
    def changed_lines(self) -> int:
        """Lines added and removed."""
        return (self.added or 0) + (self.removed or 0)


@dataclass(frozen=True)
class Change:
    """A commit of the first-parent history, held against its first parent.

    Attributes:
        commit: the full id.
        parents: likewise; the first one is what the change is held against.
        committed: when.
        author: name.
        email: the author's.
        message: all of it; what is no UTF-8 is replaced.
        files: what it changes. A file that is renamed is one that goes and one that comes.
    """

    commit: str
    parents: tuple[str, ...]
    committed: datetime
    author: str
    email: str
    message: str
    files: tuple[ChangedFile, ...]

    @property
    def subject(self) -> str:
        """The first line of the message that says anything."""
        return next((line.strip() for line in self.message.splitlines() if line.strip()), "")


@dataclass(frozen=True)
class History:
    """A mirror of a repository, and the commit that its history is read from.

    Attributes:
        repo: the repository's address.
        mirror: the git folder of our own.
        head: the newest commit.
        shallow: whether the repository has only the newest part of its history.
    """

    repo: str
    mirror: Path
    head: str
    shallow: bool

    def changes(self) -> Iterator[Change]:
        """Yield each change, the newest first, as git tells of it: no more than one is held at a time.

        Raises:
            GitError: the history cannot be read to its end.
        """
        words = (
            "log",
            "--first-parent",
            "--diff-merges=first-parent",
            "--root",
            "--raw",
            "--numstat",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-abbrev",
            "--no-color",
            "--no-show-signature",
            "--encoding=UTF-8",
            "-z",
            "--format=%H%x00%P%x00%ct%x00%an%x00%ae%x00%B%x00",
            self.head,
            "--",
        )
        purpose = f"read the history of {self.repo}"
        pieces = stream_git(*words, purpose=purpose, environment=sealed_environment(self.mirror))
        try:
            yield from _parsed(_tokens(pieces))
        except (ValueError, OverflowError) as error:
            raise GitError(f"cannot {purpose}: git told it in another way than known: {error}") from None


def open_history(repositories: Repositories, repo: str) -> History:
    """Mirror a repository and return its history from ``HEAD`` on.

    Args:
        repositories: the cache that the mirror is in.
        repo: a path of a repository or a bundle, or a URL.

    Raises:
        GitError: it cannot be read, or has no commit.
    """
    try:
        head = repositories.resolve(repo, "HEAD")
    except GitError as error:
        if "remote ref HEAD" in str(error):
            raise GitError(f"{repo} has no commit: its HEAD leads nowhere") from None
        raise
    mirror = repositories.objects(repo).parent
    return History(repo, mirror, head, shallow=(mirror / "shallow").is_file())


def _tokens(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what stands between NULs."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole
    if rest.strip():
        raise ValueError("it ends in the middle of a name")


def _parsed(tokens: Iterator[bytes]) -> Iterator[Change]:
    fields: list[bytes] = []
    files: dict[bytes, ChangedFile] = {}
    for token in tokens:
        if len(fields) < _FIELDS:
            fields.append(token)
        elif raw := _RAW.fullmatch(token):
            name = next(tokens)
            old, new, blob = (raw[number].decode() for number in (1, 2, 3))
            files[name] = ChangedFile(os.fsdecode(name), old, new, blob, 0, 0)
        elif counts := _COUNTS.fullmatch(token):
            added, removed, name = counts.groups()
            numbers = (None, None) if added == b"-" else (int(added), int(removed))
            files[name] = replace(files[name], added=numbers[0], removed=numbers[1])
        elif token.strip():
            yield _change(fields, files)
            fields, files = [token.lstrip(b"\n")], {}
    if len(fields) == _FIELDS:
        yield _change(fields, files)


def _change(fields: list[bytes], files: dict[bytes, ChangedFile]) -> Change:
    commit, parents, seconds, author, email, message = (field.decode(errors="replace") for field in fields)
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return Change(commit, tuple(parents.split()), moment, author, email, message, tuple(files.values()))
