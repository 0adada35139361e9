"""What lies in a work tree that an agent has left: looked at and read by nobody but us, whatever it is."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from swetrials.workspace.commit_files import Blob
from swetrials.workspace.safe_read import kind_of, open_plain

LINK = b"120000"
"""Mode of a symbolic link, as git writes it."""

_FILE = b"100644"
_PROGRAM = b"100755"

_REFUSED = re.compile(rb"(?:^|[/\\])(?:\.git|git~1)[ .]*(?:[/\\:]|\Z)", re.IGNORECASE)
_REFUSED_OF_A_LINK = re.compile(rb"(?:^|[/\\])(?:\.gitmodules|git?mod~|gi[0-9a-z]*~)", re.IGNORECASE)
# What git takes for the folder of a repository or for its list of submodules on any disk, by `verify_path` of its
# read-cache.c. They refuse a few names more than git does, which nobody gives: short names of NTFS, and some with a
# backslash.

_CHUNK_BYTES = 1024 * 1024


class CannotKeepError(Exception):
    """A file cannot be kept; the message completes "src/main.py: ..."."""


@dataclass(frozen=True)
class WorkTree:
    """All that lies in a work tree, but for what is in a folder ``.git``.

    Attributes:
        root: the work tree.
        found: what there is, by its path; folders are only the way to it, and links are not followed.
        closed: folders that could not be looked into, with a slash at their end, and why.
    """

    root: Path
    found: Mapping[bytes, os.stat_result] = field(repr=False)
    closed: Mapping[bytes, str]

    @classmethod
    def of(cls, root: Path) -> "WorkTree":
        """Look through a work tree.

        Raises:
            OSError: it cannot be looked into at all.
        """
        found: dict[bytes, os.stat_result] = {}
        closed: dict[bytes, str] = {}
        start, waiting = os.fsencode(root) + b"/", [b""]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(start + folder) as entries:
                    for entry in entries:
                        if entry.name == b".git":
                            continue
                        name, status = folder + entry.name, entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(status.st_mode):
                            waiting.append(name + b"/")
                        else:
                            found[name] = status
            except OSError as error:
                if not folder:
                    raise
                closed[folder] = f"the folder cannot be looked into: {error.strerror}"
        return cls(root, found, closed)

    def is_closed(self, path: bytes) -> bool:
        """Whether nobody knows what is at a path."""
        return bool(self.closed) and any(folder + b"/" in self.closed for folder in folders_of(path))

    def is_file(self, path: bytes) -> bool:
        """Whether there is a plain file at a path."""
        return stat.S_ISREG(self.found[path].st_mode)

    def is_content(self, path: bytes) -> bool:
        """Whether there is a file or a link at a path, which git keeps; pipes, sockets and devices it does not."""
        mode = self.found[path].st_mode
        return stat.S_ISREG(mode) or stat.S_ISLNK(mode)

    def mode(self, path: bytes) -> bytes:
        """Return the mode of a file or link, as git writes it."""
        mode = self.found[path].st_mode
        if stat.S_ISLNK(mode):
            return LINK
        return _PROGRAM if mode & stat.S_IXUSR else _FILE

    def read(self, path: bytes) -> bytes:
        """Return the content of a file, or where a link leads.

        Raises:
            CannotKeepError: it is something else, cannot be read, or has a name that git refuses.
        """
        mode = self.found[path].st_mode
        if _REFUSED.search(path) or (stat.S_ISLNK(mode) and _REFUSED_OF_A_LINK.search(path)):
            raise CannotKeepError("git refuses the name")
        if not self.is_content(path):
            raise CannotKeepError(f"is {kind_of(mode)}")
        try:
            if stat.S_ISLNK(mode):
                return os.readlink(self._start + path)  # noqa: PTH115 - the target may be no text
            with self._opened(path) as file:
                return file.read()
        except OSError as error:
            raise CannotKeepError(f"cannot be read: {error.strerror}") from None

    def oid_of_large(self, path: bytes) -> bytes | None:
        """Return the id of a file's content without holding all of it; ``None`` where it cannot be read."""
        try:
            with self._opened(path) as file:
                digest = hashlib.sha1(b"blob %d\0" % os.fstat(file.fileno()).st_size, usedforsecurity=False)
                while chunk := file.read(_CHUNK_BYTES):
                    digest.update(chunk)
        except OSError:
            return None
        return digest.hexdigest().encode()

    def _opened(self, path: bytes) -> BinaryIO:
        folder, _, name = path.rpartition(b"/")
        return open_plain(self._start + folder, name)

    @cached_property
    def _start(self) -> bytes:
        return os.fsencode(self.root) + b"/"


def blob_of(data: bytes, mode: bytes) -> Blob:
    """Return what git keeps some content as (``gitformat-loose(5)``; ``hash-object`` in ``git-hash-object(1)``)."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return Blob(mode, digest.hexdigest().encode())


def folders_of(path: bytes) -> list[bytes]:
    """Return the folders that a path lies in, the topmost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]
