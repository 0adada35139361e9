"""What lies in a working folder between two runs, how large it is, and how it goes without hurting work under way."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from swetrials.workspace.processes import stop_marked
from swetrials.workspace.repositories import MIRRORS
from swetrials.workspace.space import KEPT, LOCK, PARTS, remove_tree

Kind = Literal["mirror", "attempt"]


@dataclass(frozen=True)
class Leftover:
    """Something that may be taken away. ``in_use``: somebody is at work with it at this moment."""

    kind: Kind
    path: Path
    size_bytes: int
    in_use: bool


def leftovers(root: Path) -> list[Leftover]:
    """Return the mirrors and the attempts' folders (checkout, home, documents) in a working folder.

    Anything else in it is somebody else's. While any attempt is under way, all mirrors are in use: patches are made
    against them.
    """
    attempts = [
        Leftover("attempt", folder, size_of(folder), is_held(_lock_of(folder))) for folder in sorted(_attempts(root))
    ]
    busy = any(is_held(lock) for lock in root.glob(f"*{LOCK}"))
    places = sorted((root / MIRRORS).glob("*.git")) if (root / MIRRORS).is_dir() else []
    mirrors = [Leftover("mirror", p, size_of(p), busy or is_held(p.with_suffix(LOCK))) for p in places]
    return [*mirrors, *attempts]


def clear(leftover: Leftover) -> bool:
    """Take something away; return whether it could be, since work may have begun with it.

    Raises:
        SpaceError: something of it cannot be removed.
    """
    lock = leftover.path.with_suffix(LOCK) if leftover.kind == "mirror" else _lock_of(leftover.path)
    try:
        with FileLock(lock, timeout=0):
            if leftover.kind == "attempt":
                stop_marked(leftover.path.name)
            remove_tree(leftover.path)
            lock.with_suffix(KEPT).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
    except Timeout:
        return False
    return True


def is_held(lock: Path) -> bool:
    """Whether somebody holds a lock file; one that is not there is held by nobody."""
    if not lock.is_file():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True


def size_of(path: Path) -> int:
    """Return the bytes that a file, or everything below a folder, takes on the disk; what cannot be seen counts 0."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for entry in _entries(path):
        try:
            status = entry.lstat()
        except OSError:
            continue
        if (inode := (status.st_dev, status.st_ino)) not in seen:
            seen.add(inode)
            total += status.st_blocks * 512
    return total


def _entries(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        for folder, folders, files in os.walk(path):
            for name in (*folders, *files):
                yield Path(folder, name)


def _attempts(root: Path) -> Iterator[Path]:
    """Return what looks like an attempt's folder, or has its lock beside it."""
    folders = (path for path in root.iterdir() if path.is_dir() and not path.is_symlink() and path.name != MIRRORS)
    for folder in folders:
        if _lock_of(folder).is_file() or all((folder / part).is_dir() for part in PARTS):
            yield folder


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{LOCK}")
