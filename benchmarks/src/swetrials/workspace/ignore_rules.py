"""Which files some ``.gitignore`` name: rules that are laid out apart from the files that they are asked about."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from swetrials.workspace.git import run_git, sealed_environment
from swetrials.workspace.safe_read import read_left
from swetrials.workspace.work_tree import WorkTree, folders_of

GITIGNORE = b".gitignore"

_LARGEST_RULES_BYTES = 1024 * 1024

Rules = Mapping[bytes, bytes]
"""The files ``.gitignore`` of a tree: what each one says, by its path."""


def is_rules(path: bytes) -> bool:
    """Whether a path is that of a ``.gitignore``."""
    return path.rpartition(b"/")[2] == GITIGNORE


def rules_left(tree: WorkTree) -> Rules:
    """Return the rules in a work tree. What is no plain file, or of a size that no rules have, has no say."""
    return dict(_rules_left(tree))


def ignored_by(rules: Rules, names: Sequence[bytes], git_dir: Path, scratch: Path) -> set[bytes]:
    """Return those of some files that rules ignore.

    git is shown a folder that holds the rules and nothing else. The files themselves do not have to be there: it looks
    at no more than their names.

    Args:
        rules: those that hold.
        names: paths of files.
        git_dir: a repository of ours.
        scratch: a folder to make, for the rules.

    Raises:
        GitError: git failed.
    """
    if not rules or not names:
        return set()
    scratch.mkdir()
    for path, text in rules.items():
        place = scratch / os.fsdecode(path)
        with suppress(OSError):  # too long a path, here as for git there
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
    told = run_git(
        "check-ignore",
        "--no-index",
        "--verbose",
        "--non-matching",
        "-z",
        "--stdin",
        purpose="tell ignored files apart",
        environment=sealed_environment(git_dir, scratch),
        cwd=scratch,
        # A name that begins with a colon would be a pattern.
        stdin=b"".join(b"./" + name + b"\0" for name in names),
        good_exit_codes=(0, 1),
    )
    patterns = told.split(b"\0")[2::4]
    return {name for name, pattern in zip(names, patterns, strict=True) if pattern and not pattern.startswith(b"!")}


def _rules_left(tree: WorkTree) -> Iterator[tuple[bytes, bytes]]:
    for path in filter(is_rules, tree.found):
        place = tree.root / os.fsdecode(path)
        if (text := read_left(place.parent, place.name, _LARGEST_RULES_BYTES)) is not None:
            yield path, text


def collapsed(names: Collection[bytes], kept: Iterable[bytes]) -> list[bytes]:
    """Return files by the topmost folders that hold nothing which is kept; such a folder ends with a slash."""
    needed = {folder + b"/" for folder in _all_folders(kept)}
    tops: dict[bytes, bytes | None] = {}
    for folder in {name.rpartition(b"/")[0] for name in names}:
        way = [above + b"/" for above in folders_of(folder + b"/")]
        tops[folder] = next((above for above in way if above not in needed), None)
    return sorted({tops[name.rpartition(b"/")[0]] or name for name in names})


def _all_folders(names: Iterable[bytes]) -> set[bytes]:
    direct = {name.rpartition(b"/")[0] for name in names}
    return {above for folder in direct for above in folders_of(folder + b"/")}
