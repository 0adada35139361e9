"""Whether anything in a folder has changed: files of every kind, those that git ignores as well."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

Snapshot = dict[Path, tuple[int, int, int]]
"""Mode, size in bytes and time of the last change in nanoseconds of each file, link and folder, by relative path."""


def snapshot(folder: Path) -> Snapshot:
    """Look at everything below a folder but what git keeps in ``.git``, where also reading commands leave traces.

    The time is that of the last change of any kind (``ctime``), which a program cannot set back. A folder's own is
    left out: what has come or gone in it is seen anyway, and what came and went is no change.

    Raises:
        OSError: a folder cannot be read.
    """
    return dict(_entries(folder, folder))


def changed(before: Snapshot, after: Snapshot) -> tuple[Path, ...]:
    """Return what was changed, made or removed between two looks at a folder, in the order of the paths."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _entries(root: Path, folder: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    for entry in os.scandir(folder):
        if entry.name == ".git":
            continue
        path, found = Path(entry.path), entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            yield path.relative_to(root), (found.st_mode, 0, 0)
            yield from _entries(root, path)
        else:
            yield path.relative_to(root), (found.st_mode, found.st_size, found.st_ctime_ns)
