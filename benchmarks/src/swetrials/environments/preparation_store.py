"""Where preparations are kept: each whole or not there, made once, held while it is used, the oldest gone first."""

import fcntl
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from swetrials.records.preparation import PreparationRecord
from swetrials.store.files import RecordError, read_record
from swetrials.store.project import Project
from swetrials.workspace.space import SpaceError, remove_tree, sweep

PREPARATIONS = "preparations"
"""The store's folder among the project's tools."""

RECORD = "preparation.json"
"""What makes a folder a preparation. It is written last and removed first."""

_LOCKS = "locks"
_MAKING = "making"
_LOGS = "logs"
_BESIDE = frozenset({_LOCKS, _MAKING, _LOGS})
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Stored:
    """A preparation on disk, which may be in use."""

    folder: Path
    record: PreparationRecord
    used_at: float


@dataclass(frozen=True)
class PreparationStore:
    """A folder of preparations, each in a folder by its hash.

    Processes and threads may share it: one makes a preparation, the others wait for it. Whoever uses one holds it by a
    lock that any number may share, and that ends with the process.

    Attributes:
        root: the folder; made when it is first needed.
    """

    root: Path

    @classmethod
    def of(cls, project: Project) -> "PreparationStore":
        """Return the store of a project, which lies in its own folder and not in a working folder, which may go."""
        return cls(project.tools / PREPARATIONS)

    @property
    def making(self) -> Path:
        """The folder for what is not finished. It is on the same disk, and for the owner alone."""
        folder = self.root / _MAKING
        folder.mkdir(parents=True, exist_ok=True)
        # Without a group that others' files would be given, which an overlay could not show to a user.
        for path in (self.root, folder):
            path.chmod(0o700)
        return folder

    def folder(self, sha256: str) -> Path:
        """Return where a preparation is, or would be."""
        return self.root / sha256

    def log(self, sha256: str) -> Path:
        """Return where the output is of a preparation that failed."""
        return self.logs / f"{sha256}.log"

    @property
    def logs(self) -> Path:
        """The folder for what failed preparations have printed."""
        return self.root / _LOGS

    def find(self, sha256: str) -> PreparationRecord | None:
        """Return the record of a preparation that is there and whole."""
        try:
            return read_record(self.folder(sha256) / RECORD, PreparationRecord)
        except RecordError:
            return None

    @asynccontextmanager
    async def holding(self, sha256: str, make: Callable[[], Awaitable[None]]) -> AsyncIterator[Stored]:
        """Hold a preparation for as long as the block runs, and let it be made first where it is not there.

        Args:
            sha256: its hash.
            make: makes it, and puts it in place with :meth:`put`. Nobody else is making it meanwhile.
        """
        while True:
            with self._locked(sha256, exclusive=False) as held:
                record = self.find(sha256) if held else None
                if record is not None:
                    os.utime(self.folder(sha256))
                    yield self._stored(sha256, record)
                    return
            with self._locked(sha256, exclusive=True) as held:
                if held and self.find(sha256) is None:
                    await run_sync(self._clear, sha256)
                    await make()
                    continue
            await anyio.sleep(_LOOK_SECONDS)

    def put(self, made: Path, sha256: str) -> None:
        """Put a folder, which has its record, in place as a preparation. The maker alone calls it."""
        made.rename(self.folder(sha256))
        self.log(sha256).unlink(missing_ok=True)

    def stored(self) -> list[Stored]:
        """Return what is there and whole, that which was not used for longest first."""
        names = (path.name for path in self.root.iterdir() if path.is_dir()) if self.root.is_dir() else ()
        found = ((name, self.find(name)) for name in names if name not in _BESIDE)
        whole = (self._stored(name, record) for name, record in found if record is not None)
        return sorted(whole, key=lambda stored: stored.used_at)

    def in_use(self, sha256: str) -> bool:
        """Whether somebody holds a preparation, or is making it."""
        with self._locked(sha256, exclusive=True) as held:
            return not held

    def remove(self, sha256: str) -> bool:
        """Remove a preparation unless it is in use; return whether it is gone.

        Raises:
            SpaceError: something of it cannot be removed.
        """
        with self._locked(sha256, exclusive=True) as held:
            if held:
                self._clear(sha256)
                self._lock(sha256).unlink(missing_ok=True)
            return held

    def make_room(self, most_bytes: float) -> None:
        """Remove what is broken, and of the rest what was not used for longest, until it takes no more than a limit.

        What is in use stays, whatever it takes.
        """
        sweep(self.making)
        for path in self.root.iterdir():
            if path.is_dir() and path.name not in _BESIDE and self.find(path.name) is None:
                self._try_to_remove(path.name)
        stored = self.stored()
        total = sum(each.record.size_bytes for each in stored)
        for each in stored:
            if total <= most_bytes:
                return
            if self._try_to_remove(each.folder.name):
                total -= each.record.size_bytes

    def _try_to_remove(self, sha256: str) -> bool:
        try:
            return self.remove(sha256)
        except SpaceError:
            return False  # a next look tries again, and what is left of it is used by nobody

    def _clear(self, sha256: str) -> None:
        folder = self.folder(sha256)
        (folder / RECORD).unlink(missing_ok=True)
        if folder.exists():
            remove_tree(folder)

    def _stored(self, sha256: str, record: PreparationRecord) -> Stored:
        folder = self.folder(sha256)
        try:
            return Stored(folder, record, folder.stat().st_mtime)
        except OSError:
            return Stored(folder, record, 0.0)

    def _lock(self, sha256: str) -> Path:
        return self.root / _LOCKS / sha256

    @contextmanager
    def _locked(self, sha256: str, *, exclusive: bool) -> Iterator[bool]:
        """Take a lock if it is free, and say whether it was (``flock(2)``: it is let go when the process ends)."""
        path = self._lock(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            try:
                fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            # Whoever removed the preparation has removed its lock: another one would not know of this one.
            yield _is_at(file.fileno(), path)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
