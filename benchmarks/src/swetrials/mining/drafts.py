"""A candidate as a task that nobody has tried yet: its statement, its hidden files and its solution."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from swetrials.mining.candidates import Split, touches_manifests
from swetrials.mining.history import Change
from swetrials.mining.mirror_reader import MirrorReader
from swetrials.mining.statement import Statement, judged, statement_of
from swetrials.mining.untold_names import identifiers, names_used, signatures_of, test_names
from swetrials.records.mined import MiningMark, MiningRefusal
from swetrials.workspace.patch_sections import patch_sections

HIDDEN, GOLD = "hidden", "gold"
"""Folders beside the dataset: what tests need, and the changes that people made."""

_LFS = "version https://git-lfs.github.com/spec/"
_MOST_HIDDEN_BYTES = 5_000_000
_MOST_OF_A_SLUG = 48
_LETTERS_OF_A_PARENT = 8


@dataclass(frozen=True)
class MiningCandidate:
    """A change that may become a task, by its files.

    Attributes:
        change: the commit.
        split: its files by what they are for.
        day: when what it starts from said last what there is to install.
    """

    change: Change
    split: Split
    day: datetime

    @property
    def parent(self) -> str:
        """The commit that the task starts from."""
        return self.change.parents[0]

    @property
    def task_id(self) -> str:
        """A name out of the subject and the parent, which an agent may know; never out of the commit."""
        words = re.sub(r"\(?#\d+\)?", "", self.change.subject).lower()
        slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:_MOST_OF_A_SLUG].strip("-")
        return f"{slug or 'change'}-{self.parent[:_LETTERS_OF_A_PARENT]}"


@dataclass(frozen=True)
class HiddenFile:
    """A file that tests need, as the change leaves it."""

    data: bytes
    executable: bool


@dataclass(frozen=True)
class Draft:
    """A candidate with all that its task is made of.

    Attributes:
        candidate: whose.
        statement: what the task asks for.
        hidden: files that are kept from who makes the change, by path.
        solution: the rest of the change, as a patch.
        marks: what one should know of it.
    """

    candidate: MiningCandidate
    statement: str
    hidden: Mapping[str, HiddenFile]
    solution: bytes
    marks: tuple[MiningMark, ...] = ()

    def lay_out(self, folder: Path) -> dict[str, Path]:
        """Write the hidden files below a folder, and return where each one is, by its path in the repository.

        Raises:
            OSError: one cannot be written.
        """
        places = {}
        for path, file in self.hidden.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.data)
            place.chmod(0o755 if file.executable else 0o644)
            places[path] = place
        return places


@dataclass(frozen=True)
class Refused:
    """Why a candidate is no task, and what was seen."""

    reason: MiningRefusal
    told: str = ""


def draft_of(candidate: MiningCandidate, mirror: MirrorReader, texts: Mapping[int, str]) -> Draft | Refused:
    """Return a candidate with what its task is made of, or why there can be none.

    Args:
        candidate: a change.
        mirror: of the repository.
        texts: of issues and requests, by number.

    Raises:
        GitError: the repository is broken.
    """
    parent, commit = candidate.parent, candidate.change.commit
    hidden_files = candidate.split.hidden
    contents = mirror.blobs([file.blob for file in hidden_files])
    hidden = {
        file.path: HiddenFile(data, file.is_executable) for file, data in zip(hidden_files, contents, strict=True)
    }
    if sum(map(len, contents)) > _MOST_HIDDEN_BYTES:
        return Refused("too-large", f"its tests have {sum(map(len, contents)):,} bytes")
    solution = mirror.patch(parent, commit, hidden)
    source = {file.path for file in candidate.split.source}
    sections = patch_sections(solution)
    added = [line for section in sections if source.intersection(section.paths) for line in section.added_lines]
    if _LFS.encode() in solution or any(data.startswith(_LFS.encode()) for data in contents):
        return Refused("binary-or-lfs", "git LFS keeps it")
    tests = {path: file.data for path, file in hidden.items()}
    told = _statement(candidate, mirror, tests, added, texts)
    if told.reason:
        return Refused(told.reason, told.evidence)
    return _with_interface(candidate, mirror, told.text, tests, hidden, solution, added)


def _statement(
    candidate: MiningCandidate,
    mirror: MirrorReader,
    tests: Mapping[str, bytes],
    added: list[str],
    texts: Mapping[int, str],
) -> Statement:
    text = statement_of(candidate.change.message, texts)
    names = sorted(test_names(tests))
    known = mirror.words_there(candidate.parent, names)
    return judged(text, added, [name for name in names if name not in known])


def _with_interface(
    candidate: MiningCandidate,
    mirror: MirrorReader,
    text: str,
    tests: Mapping[str, bytes],
    hidden: Mapping[str, HiddenFile],
    solution: bytes,
    added: list[str],
) -> Draft | Refused:
    brought = identifiers("\n".join(added))
    said = {name.lower() for name in identifiers(text)}
    used = names_used(tests)
    wanted = sorted(name for name in (used.names | used.values) & brought if name.lower() not in said)
    untold = set(wanted) - mirror.words_there(candidate.parent, wanted)
    sources = [file for file in candidate.split.source if not file.is_deleted]
    contents = mirror.blobs([file.blob for file in sources])
    texts = dict(zip((file.path for file in sources), contents, strict=True))
    found = signatures_of(untold & used.names, sorted(untold & used.values), texts)
    if found.unknown:
        return Refused("names-untold", ", ".join(found.unknown[:5]))
    marks: list[MiningMark] = ["interface-added"] if found.signatures else []
    if touches_manifests(candidate.change.files):
        marks.append("manifest-touched")
    return Draft(candidate, text + found.section, hidden, solution, tuple(marks))
