"""What a program has made and changed in a checkout, told from how it was before."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MADE_AGAIN = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
"""Folders that a tool makes anew wherever it misses them."""

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


_FOLDER = "folder"


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
