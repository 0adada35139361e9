"""A git patch file by file, without applying it: which files it touches, what it adds, and what is left of it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

_START = b"diff --git "
_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_OLD_PLACE = re.compile(rb"@@ -(\d+)(?:,(\d+))? ")
_MODE = re.compile(rb"^(?:new file mode|new mode|index [0-9a-f]+\.\.[0-9a-f]+) (\d{6})$", re.MULTILINE)
_INDEX = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+", re.MULTILINE)
_SIGNATURE = re.compile(rb"\n-- ?\n\d+\.\d[^\n]*\s*\Z")
_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True)
class PatchSection:
    """What a patch does to one file.

    Attributes:
        data: the section's own bytes, from ``diff --git`` on.
        old_path: where the file was; ``None``: it is new.
        new_path: where it is; ``None``: it is deleted.
    """

    data: bytes
    old_path: str | None
    new_path: str | None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that it touches: two of a file that is renamed."""
        return tuple(dict.fromkeys(path for path in (self.old_path, self.new_path) if path is not None))

    @property
    def header(self) -> bytes:
        """What stands before the first hunk; all of it, where there is none."""
        found = next(_hunk_starts(self.data), None)
        return self.data if found is None else self.data[:found]

    @property
    def hunks(self) -> tuple[bytes, ...]:
        """Each hunk with its ``@@`` line; none of a binary file, of a mode, or of an empty file."""
        starts = [*_hunk_starts(self.data), len(self.data)]
        return tuple(self.data[start:end] for start, end in pairwise(starts))

    @property
    def added_lines(self) -> tuple[str, ...]:
        """The lines that it adds, as text; what is no UTF-8 is replaced."""
        return tuple(_lines_of(self.hunks, b"+"))

    @property
    def removed_lines(self) -> tuple[str, ...]:
        """The lines that it takes away, likewise."""
        return tuple(_lines_of(self.hunks, b"-"))

    @property
    def mode(self) -> str | None:
        """The mode that it gives the file, such as ``100755``; ``None``: it says none."""
        found = _MODE.search(self.header)
        return found[1].decode("ascii") if found else None

    @property
    def change(self) -> bytes:
        """What it does, without the ids of blobs, which two tools abbreviate to other lengths."""
        return _INDEX.sub(b"", self.data)

    def after(self, before: bytes) -> bytes:
        """Return what a text file holds when its hunks are applied, as far as they fit."""
        old, new, position = before.split(b"\n"), [], 0
        for hunk in self.hunks:
            head, *lines = hunk.split(b"\n")
            place = _OLD_PLACE.match(head)
            start = int(place[1]) - (place[2] != b"0") if place else position
            new += old[position:start]
            position = start
            for line in lines:
                if line.startswith(b"+"):
                    new.append(line[1:])
                elif line.startswith((b" ", b"-")):
                    new += old[position : position + 1] if line.startswith(b" ") else []
                    position += 1
        return b"\n".join((*new, *old[position:]))


def patch_sections(patch: bytes) -> tuple[PatchSection, ...]:
    """Return each file's part of a patch as ``git diff`` writes it; what stands before the first belongs to none.

    The format is that of git-diff's "Generating patch text with -p". A patch without ``diff --git`` lines has no
    sections, and no file is known of a section whose paths cannot be told. The signature that ``git format-patch``
    puts at the end is none of the last file's.
    """
    patch = _SIGNATURE.sub(b"\n", patch)
    starts = [match.start() for match in re.finditer(rb"^diff --git ", patch, re.MULTILINE)]
    return tuple(_section(patch[start:end]) for start, end in pairwise([*starts, len(patch)]))


def only(patch: bytes, wanted: Callable[[PatchSection], bool]) -> bytes:
    """Return a patch with those of its sections that are wanted, and nothing else."""
    return b"".join(section.data for section in patch_sections(patch) if wanted(section))


def _section(data: bytes) -> PatchSection:
    old, new = _both(data)
    header = PatchSection(data, None, None).header
    for line in header.split(b"\n"):
        for key, is_old in ((b"--- ", True), (b"rename from ", True), (b"+++ ", False), (b"rename to ", False)):
            if line.startswith(key):
                path = _path(line.removeprefix(key), prefixed=key.endswith((b"- ", b"+ ")))
                old, new = (path, new) if is_old else (old, path)
        if line.startswith(b"new file mode"):
            old = None
        elif line.startswith(b"deleted file mode"):
            new = None
    return PatchSection(data, old, new)


def _both(data: bytes) -> tuple[str | None, str | None]:
    """Return the paths of a section's first line, which tells them apart only where both are the same."""
    rest = data.split(b"\n", 1)[0].removeprefix(_START)
    half = len(rest) // 2
    old, new = _path(rest[:half], prefixed=True), _path(rest[half + 1 :], prefixed=True)
    return (old, new) if old == new else (None, None)


def _path(written: bytes, *, prefixed: bool) -> str | None:
    quoted = written.startswith(b'"')
    name = _ESCAPE.sub(_unescaped, written.rpartition(b'"')[0][1:]) if quoted else written.partition(b"\t")[0]
    name = name.rstrip(b"\r")
    if name == b"/dev/null":
        return None
    if prefixed:
        name = name.partition(b"/")[2]
    return name.decode(errors="surrogateescape") or None


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _LETTERS.get(code, code)


def _hunk_starts(data: bytes) -> Iterator[int]:
    position = 0
    for line in data.split(b"\n"):
        if _HUNK.match(line):
            yield position
        position += len(line) + 1


def _lines_of(hunks: tuple[bytes, ...], sign: bytes) -> Iterator[str]:
    for hunk in hunks:
        for line in hunk.split(b"\n")[1:]:
            if line.startswith(sign):
                yield line[1:].decode(errors="replace")
