"""Which changes may become tasks, told by the files that they touch alone."""

import fnmatch
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from swetrials.checking.file_kinds import kind_of_file
from swetrials.mining.history import Change, ChangedFile
from swetrials.records.mined import MiningRefusal
from swetrials.records.record import relative_file

MOST_SOURCE_LINES = 1000
"""Added and removed. Beyond, a change is several tasks."""

MOST_FILES = 60
"""Of source and tests together."""

_BOT = re.compile(
    r"\[bot\]|^(dependabot|renovate|greenkeeper|pre-commit-ci|github-actions|pyup|snyk|imgbot|allcontributors)\b",
    re.IGNORECASE,
)
CODE = re.compile(
    r"\.(pyx?|pyi|pxd|[cm]?jsx?|[cm]?tsx?|vue|svelte|go|rs|[ch]|cc|cpp|cxx|hh|hpp|mm?|java|kts?|scala|groovy|clj|cs|fs|vb|rb"
    r"|php|p[lm]|lua|r|jl|exs?|erl|hs|mli?|swift|dart|sh|bash|zsh|ps1|sql|s?css|less|html|jinja2?|j2|tmpl|proto|graphql"
    r"|nim|zig|cu|f90)"
)
"""Suffixes of files that are programs."""

SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts"})
"""Suffixes of files in JavaScript and TypeScript."""

_CONFIGURATION = re.compile(r"(\.?\w+rc|.+\.config)\.[cm]?[jt]s|noxfile\.py|[gG]runtfile\.js|[gG]ulpfile\.js|tasks\.py")


@dataclass(frozen=True)
class Split:
    """The files of a change by what they are for.

    Attributes:
        tests: those that tests need: hidden from who makes the change.
        source: code that is no test.
        manifests: what says what there is to install, locks among it.
        docs: documents.
        other: everything else, such as the configuration of a forge.
    """

    tests: tuple[ChangedFile, ...]
    source: tuple[ChangedFile, ...]
    manifests: tuple[ChangedFile, ...]
    docs: tuple[ChangedFile, ...]
    other: tuple[ChangedFile, ...]

    @property
    def hidden(self) -> tuple[ChangedFile, ...]:
        """The tests' files that are there after the change."""
        return tuple(file for file in self.tests if not file.is_deleted)


@dataclass(frozen=True)
class Filters:
    """Which changes a person wants looked at.

    Attributes:
        since: none that was committed before.
        until: none that was committed after.
        paths: none whose source lies elsewhere: folders, files, or patterns with ``*``.
    """

    since: datetime | None = None
    until: datetime | None = None
    paths: tuple[str, ...] = ()

    def want(self, change: Change, split: Split) -> bool:
        """Whether a change is among them."""
        early = self.since is not None and change.committed < self.since
        late = self.until is not None and change.committed > self.until
        if early or late:
            return False
        return not self.paths or any(_lies_in(file.path, path) for file in split.source for path in self.paths)


def split_of(change: Change) -> Split:
    """Return the files of a change by what they are for."""
    kinds: dict[str, list[ChangedFile]] = {"test": [], "source": [], "manifest": [], "docs": [], "other": []}
    for file in change.files:
        kinds[_kind(file.path)].append(file)
    return Split(
        tests=tuple(kinds["test"]),
        source=tuple(kinds["source"]),
        manifests=tuple(kinds["manifest"]),
        docs=tuple(kinds["docs"]),
        other=tuple(kinds["other"]),
    )


def why_no_candidate(change: Change, split: Split) -> MiningRefusal | None:
    """Return why a change can be no task; ``None``: it may be one."""
    if not change.parents:
        return "root"
    if _BOT.search(change.author) or "[bot]" in change.email:
        return "bot"
    if not change.files:
        return "empty"
    if any(file.is_submodule for file in change.files):
        return "submodule"
    if why := _why_not_both(split):
        return why
    touched = (*split.tests, *split.source)
    if any(file.is_binary for file in change.files):
        return "binary-or-lfs"
    if any(map(_is_unusual, split.hidden)):
        return "file-unusual"
    lines = sum(file.changed_lines for file in split.source)
    return "too-large" if lines > MOST_SOURCE_LINES or len(touched) > MOST_FILES else None


def _why_not_both(split: Split) -> MiningRefusal | None:
    if not split.source:
        return "tests-only" if split.tests else "no-source"
    if not split.tests:
        return "no-tests"
    return None if split.hidden else "tests-removed"


def touches_manifests(files: Iterable[ChangedFile]) -> bool:
    """Whether what there is to install may be another after a change."""
    return any(kind_of_file(file.path) == "manifest" for file in files)


def _kind(path: str) -> str:
    kind = kind_of_file(path)
    if kind != "source":
        return kind
    pure = PurePosixPath(path)
    hidden = any(part.startswith(".") for part in pure.parts)
    return (
        "other"
        if hidden or not CODE.fullmatch(pure.suffix.lower()) or _CONFIGURATION.fullmatch(pure.name)
        else "source"
    )


def _is_unusual(file: ChangedFile) -> bool:
    try:
        os.fsencode(file.path).decode()
        relative_file(file.path)
    except ValueError:
        return True
    return file.is_link or not file.path.isprintable()


def _lies_in(path: str, wanted: str) -> bool:
    plain = wanted.strip("/").removeprefix("./")
    return path == plain or path.startswith(f"{plain}/") or fnmatch.fnmatchcase(path, plain)
