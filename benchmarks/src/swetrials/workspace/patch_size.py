"""A patch that is too large: its largest parts are left out until it is not."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from swetrials.workspace.git import GitError

_HEADER = b"diff --git "
_LAST_TO_GO = {b"A": 0, b"M": 1, b"T": 1, b"D": 2}
# What was added goes first, and a deletion after everything else: a file may stand where a folder was deleted.

Part = tuple[int, int]
"""Where a part of a patch begins and ends, in bytes."""


def fitting(patch: BinaryIO, changes: Mapping[bytes, bytes], most_bytes: int) -> tuple[bytes, list[bytes]]:
    """Return a patch without its largest files, and their paths.

    Args:
        patch: the whole one, as git prints it without renames.
        changes: what became of its files (``A``, ``M``, ``T`` or ``D``) by their paths, in the patch's order.
        most_bytes: what it may have.

    Raises:
        GitError: the files in the patch are not those.
    """
    parts = _by_file(_parts(patch), changes)
    sizes = {name: sum(end - start for start, end in own) for name, own in parts.items()}
    left_out: list[bytes] = []
    total = sum(sizes.values())
    for name in sorted(parts, key=lambda name: (_LAST_TO_GO[changes[name]], -sizes[name])):
        if total <= most_bytes:
            break
        total -= sizes[name]
        left_out.append(name)
    for name in left_out:
        del parts[name]
    return b"".join(_read(patch, part) for own in parts.values() for part in own), left_out


def _by_file(parts: Iterator[Part], changes: Mapping[bytes, bytes]) -> dict[bytes, list[Part]]:
    """Tell the parts apart by file. A file that becomes a link is deleted in one and made in the next."""
    found: dict[bytes, list[Part]] = defaultdict(list)
    names = [name for name, status in changes.items() for _ in range(2 if status == b"T" else 1)]
    try:
        for name, part in zip(names, parts, strict=True):
            found[name].append(part)
    except ValueError:
        raise GitError("cannot tell the files of the patch apart, which is too large to be kept whole") from None
    return found


def _parts(patch: BinaryIO) -> Iterator[Part]:
    """Yield the part of each file. No line of a content begins like a header: it has a sign before it, or no space."""
    patch.seek(0)
    start, at = None, 0
    for line in patch:
        if line.startswith(_HEADER):
            if start is not None:
                yield start, at
            start = at
        at += len(line)
    if start is not None:
        yield start, at


def _read(patch: BinaryIO, part: Part) -> bytes:
    patch.seek(part[0])
    return patch.read(part[1] - part[0])
