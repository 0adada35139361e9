"""Private working folders: one for each attempt, locked while it is in use, gone afterwards."""

import errno
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio
from anyio.to_thread import run_sync
from filelock import FileLock, Timeout

from swetrials.errors import KnownError
from swetrials.records.record import safe_path_part
from swetrials.workspace.processes import stop_marked

LOCK = ".lock"
"""Suffix of the file beside an attempt's folder that is locked while the attempt is under way."""

PARTS = ("checkout", "home", "artifacts", "tmp")
"""The folders in an attempt's folder, in the order of :class:`Space`."""

KEPT = ".kept"
"""Suffix of the file that says that the folder is to be kept."""

BYTES_NEEDED = 2_000_000_000
"""Free disk space that a run wants before it begins."""

_BYTES_TO_GO_ON = 500_000_000

_REMOVAL_TRIES = 3


class SpaceError(KnownError):
    """A working folder cannot be used or removed; the message is one line."""


@dataclass(frozen=True)
class Space:
    """The folders of one attempt.

    Attributes:
        root: holds all the others; whoever may write it may write them.
        checkout: the agent's working directory.
        home: its private HOME.
        artifacts: where it leaves its documents.
        temporary: its TMPDIR.
    """

    root: Path
    checkout: Path
    home: Path
    artifacts: Path
    temporary: Path

    @property
    def folders(self) -> tuple[Path, Path, Path, Path]:
        """All but the root."""
        return self.checkout, self.home, self.artifacts, self.temporary

    @classmethod
    def at(cls, root: Path, attempt_id: str) -> Self:
        """Return where an attempt's folders are below :func:`private_root`; makes nothing.

        Raises:
            ValueError: the id cannot name a folder.
        """
        folder = root / safe_path_part(attempt_id)
        return cls(folder, *(folder / part for part in PARTS))


def private_root(configured: Path | None) -> Path:
    """Return the folder that working folders are made in, made with access for its owner alone.

    The agent sees its name, so the default one says nothing about who made it.

    Args:
        configured: the folder a person chose; by default ``work-<uid>`` in the folder for temporary files.

    Raises:
        SpaceError: the folder is a link, no folder, somebody else's, or open to be written by others.
    """
    root = (configured or Path(tempfile.gettempdir(), f"work-{os.getuid()}")).absolute()
    fix = "choose another with clone_dir"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.lstat()
    except OSError as error:
        raise SpaceError(f"{root} cannot be the working folder: {error.strerror}; {fix}") from None
    if root.is_symlink():
        raise SpaceError(f"{root} cannot be the working folder: it is a symbolic link; {fix}")
    if found.st_uid != os.getuid():
        raise SpaceError(f"{root} cannot be the working folder: it belongs to user {found.st_uid}; {fix}")
    if found.st_mode & 0o022:
        raise SpaceError(f"{root} cannot be the working folder: others may write to it; chmod go-w it, or {fix}")
    return root.resolve()


@contextmanager
def attempt_space(root: Path, attempt_id: str, *, keep: bool = False) -> Iterator[Space]:
    """Make the folders of an attempt, hold them for as long as the block runs, and remove them.

    What cannot be removed, for a disk that fails, say, is left to the next :func:`sweep`.

    Args:
        root: from :func:`private_root`.
        attempt_id: also the mark of the attempt's processes.
        keep: leave the folders where they are, for a person to look at.

    Raises:
        ValueError: the id cannot name a folder.
        SpaceError: there is such an attempt already.
        OSError: the folders cannot be made.
    """
    space = Space.at(root, attempt_id)
    folder, lock = space.root, root / f"{attempt_id}{LOCK}"
    with FileLock(lock, thread_local=False):
        if folder.exists():
            raise SpaceError(f"{folder} is there already; every attempt needs an id of its own")
        try:
            folder.mkdir(mode=0o700)
            for part in PARTS:
                (folder / part).mkdir(mode=0o700)
            if keep:
                # Beside the folder, where the agent cannot write.
                lock.with_suffix(KEPT).touch()
            yield space
        finally:
            _close(folder, lock)


@asynccontextmanager
async def attempt_space_aside(root: Path, attempt_id: str, *, keep: bool = False) -> AsyncIterator[Space]:
    """Do what :func:`attempt_space` does, and remove the folders in a thread of their own.

    A checkout has many folders, whose removal would keep everything else waiting that goes on meanwhile.
    """
    folders = attempt_space(root, attempt_id, keep=keep)
    space = folders.__enter__()
    try:
        yield space
    finally:
        with anyio.CancelScope(shield=True):
            await run_sync(folders.__exit__, None, None, None)


def sweep(root: Path) -> list[str]:
    """Stop and remove the attempts of harnesses that are dead, and return their ids.

    An attempt whose lock is held is somebody's work and not touched; a folder that was to be kept stays, without
    its processes.
    """
    swept = []
    for path in sorted(root.glob(f"*{LOCK}")):
        try:
            with FileLock(path, timeout=0):
                stop_marked(path.stem)
                _close(path.with_suffix(""), path)
                swept.append(path.stem)
        except Timeout:
            continue
    return swept


def free_bytes(path: Path) -> int:
    """Return the bytes that are free on the disk where a path is, or will be."""
    place = path.absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def require_room(*places: Path) -> None:
    """Make sure that there is room for one more attempt on the disks of some folders.

    An agent that fills a disk takes all other attempts with it, and what they have spent.

    Raises:
        OSError: there is not.
    """
    for place in places:
        free = free_bytes(place)
        if free < _BYTES_TO_GO_ON:
            detail = f"{free / 1e9:.2f} GB left on the disk, {_BYTES_TO_GO_ON / 1e9:.1f} GB wanted to begin"
            raise OSError(errno.ENOSPC, detail, str(place))


def remove_tree(path: Path) -> None:
    """Remove a folder with everything in it, whatever modes an agent has left there.

    Raises:
        SpaceError: something of it is still there after several tries.
    """
    for _ in range(_REMOVAL_TRIES):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
        _open_up(path)
    raise SpaceError(f"{path} cannot be removed; remove it by hand")


def _close(folder: Path, lock: Path) -> None:
    """Remove an attempt's folder unless it is to be kept, then its lock: a lock that is left marks unfinished work."""
    kept = lock.with_suffix(KEPT)
    if not kept.exists():
        try:
            remove_tree(folder)
        except SpaceError:
            return
    lock.unlink(missing_ok=True)
    kept.unlink(missing_ok=True)


def _open_up(path: Path) -> None:
    """Give the owner access to every folder below a path, from the top down, and follow no link."""
    if path.is_symlink() or not path.is_dir():
        return
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in names:
            below = Path(folder, name)
            if not below.is_symlink():
                below.chmod(0o700)
