"""A solution without one of its hunks: what is left when a part of the change is not made."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from swetrials.checking.file_kinds import kind_of_file
from swetrials.workspace.patch_sections import PatchSection, patch_sections

MOST_HUNKS = 6
"""Hunks of a solution that are tried; the largest ones."""

_AT = re.compile(rb"@@ (\S+ \S+) @@")
_WITHOUT_EFFECT = re.compile(
    r"""
      (\#(?!\s*(include|define|if|ifdef|ifndef|else|endif|undef)\b)|//|/\*|\*/?(\s|$)|<!--|--\s|;;).*  # comments
    | \#\s*include\b.*
    | (import|from|export\s+\*|using|use|package|require|require_relative)\b.*                            # imports
    | (const|let|var)\s+[\w{},:\s]+=\s*require\(.*\)\s*;?
    | \}?\s*from\s+['"].*
    | ['"]?(__version__|version|VERSION)['"]?\s*[:=]\s*['"]v?\d[\w.+-]*['"]\s*[,;]?                       # versions
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class SourceHunk:
    """A hunk of a patch, and the patch without it.

    Attributes:
        file: that it changes.
        at: its lines before and after, as the patch has them.
        changed: lines that it adds and takes away.
        without: the patch without the hunk; a file that it is all of is left as it was.
        without_file: the patch without all that it does to the file.
    """

    file: str
    at: str
    changed: int
    without: bytes
    without_file: bytes


def telling_hunks(patch: bytes) -> tuple[SourceHunk, ...]:
    """Return the hunks of a patch whose absence tests should notice, the largest first.

    That is each of source that is more than comments, blank lines, imports and version strings. A change that has none
    of source, such as one of documents, is asked for what it has; tests it would never have.
    """
    sections = patch_sections(patch)
    found = list(_hunks(sections))
    source = [hunk for hunk in found if kind_of_file(hunk.file) == "source"]
    other = [hunk for hunk in found if kind_of_file(hunk.file) != "test"]
    return tuple(sorted(source or other, key=lambda hunk: -hunk.changed))


def _hunks(sections: tuple[PatchSection, ...]) -> Iterator[SourceHunk]:
    for number, section in enumerate(sections):
        before, after = (b"".join(one.data for one in part) for part in (sections[:number], sections[number + 1 :]))
        for index, hunk in enumerate(section.hunks):
            lines = _changed_lines(hunk)
            at = _AT.match(hunk)
            if at is None or not section.paths or not any(map(_has_effect, lines)):
                continue
            others = section.hunks[:index] + section.hunks[index + 1 :]
            left = section.header + b"".join(others) if others else b""
            yield SourceHunk(section.paths[-1], at[1].decode(), len(lines), before + left + after, before + after)


def _changed_lines(hunk: bytes) -> list[str]:
    lines = hunk.split(b"\n")[1:]
    return [line[1:].decode(errors="replace").strip() for line in lines if line.startswith((b"+", b"-"))]


def _has_effect(line: str) -> bool:
    return bool(line) and not _WITHOUT_EFFECT.fullmatch(line)
