"""What a program has made and changed in a checkout, told from how it was before."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from swetrials.workspace.git import run_git, sealed_environment

_MADE_AGAIN = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Folders that a tool makes anew wherever it misses them."""

_FOLDER = "folder"
_SPECIAL = frozenset("\\*?[]!#")

Contents = dict[str, str]
"""What each path of a checkout is, as far as git can tell it from another."""


@dataclass(frozen=True)
class Made:
    """What a program did in a checkout.

    Attributes:
        folders: folders that were not there, the topmost alone.
        files: files and links that were not there, in folders that were.
        changed: files that were there, and were changed or removed.
    """

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All that it made."""
        return (*self.folders, *self.files)


def contents(checkout: Path) -> Contents:
    """Look at every file of a checkout but those of git's own.

    Raises:
        OSError: a file cannot be read.
    """
    return dict(_contents(checkout, "", None))


def made_since(before: Contents, checkout: Path) -> Made:
    """Return what was made and changed in a checkout since a look at it.

    Raises:
        OSError: a file cannot be read.
    """
    after = dict(_contents(checkout, "", before))
    new = [name for name in after if name not in before and name.rpartition("/")[2] not in _MADE_AGAIN]
    changed = [name for name, content in before.items() if content != _FOLDER and after.get(name) != content]
    return Made(
        folders=tuple(sorted(name for name in new if after[name] == _FOLDER)),
        files=tuple(sorted(name for name in new if after[name] != _FOLDER)),
        changed=tuple(sorted(changed)),
    )


def exclude(checkout: Path, names: Iterable[str]) -> None:
    """Let git pass over files and folders of a checkout, as new files, for whoever works in it.

    Raises:
        OSError: git's list cannot be written.
    """
    lines = [f"/{_quoted(name)}\n" for name in names if "\n" not in name]
    if lines:
        listed = checkout / ".git" / "info" / "exclude"
        listed.parent.mkdir(parents=True, exist_ok=True)
        with listed.open("ab") as file:
            file.writelines(map(os.fsencode, lines))


def put_back(checkout: Path, names: Iterable[str]) -> None:
    """Write files of a checkout as they are in its commit.

    Raises:
        GitError: git could not.
    """
    git_dir = checkout.absolute() / ".git"
    words = ("checkout-index", "--force", "--index", "-z", "--stdin")
    listed = b"".join(os.fsencode(name) + b"\0" for name in names)
    environment = sealed_environment(git_dir, checkout.absolute())
    run_git(*words, purpose="put back what setup changed", environment=environment, cwd=checkout, stdin=listed)


def _contents(checkout: Path, folder: str, known: Contents | None) -> Iterator[tuple[str, str]]:
    """Yield what there is; of what is not known, no more than its name and its kind."""
    with os.scandir(checkout / folder) as entries:
        for entry in entries:
            name, mode = f"{folder}{entry.name}", entry.stat(follow_symlinks=False).st_mode
            if name == ".git":
                continue
            new = known is not None and name not in known
            if stat.S_ISDIR(mode):
                yield name, _FOLDER
                if not new:
                    yield from _contents(checkout, f"{name}/", known)
            elif stat.S_ISLNK(mode):
                yield name, f"link {os.readlink(entry.path)}"  # noqa: PTH115 - as it is written
            elif stat.S_ISREG(mode):
                digest = "" if new else _digest(entry.path)
                yield name, f"{'program' if mode & stat.S_IXUSR else 'file'} {digest}"


def _digest(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _quoted(name: str) -> str:
    """Return a path as git reads it where it expects a pattern (``gitignore(5)``)."""
    text = "".join(f"\\{letter}" if letter in _SPECIAL else letter for letter in name)
    return f"{text[:-1]}\\ " if text.endswith(" ") else text
