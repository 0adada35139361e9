"""Where the tests of a command lie: the folders that tests of ours have to stand in to share their configuration."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from swetrials.judging.guards.pytest_settings import PytestSettings
from swetrials.judging.guards.runner_commands import RunnerCommand
from swetrials.records.dataset import Verify
from swetrials.workspace.safe_read import open_left

_NODE = r"[cm]?js"
_SCRIPT = r"[cm]?[jt]sx?"
_NO_TESTS = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", "build", "dist"})
_MOST_SEEN = 20_000
_MOST_FOLDERS = 8
_MOST_BYTES = 200_000


@dataclass(frozen=True)
class TestPlace:
    """A folder with tests, seen from the checkout.

    Attributes:
        folder: the folder.
        last: the name of the test file there that comes last; ``None``: there is none.
        text: what the test files say that decide the task, or else the last one.
    """

    __test__ = False

    folder: PurePosixPath
    last: str | None
    text: str


def python_patterns(command: RunnerCommand, settings: PytestSettings) -> tuple[str, ...]:
    """Return the patterns that names of Python's test files match, those a project has chosen first."""
    if command.discovery is not None:
        return (command.discovery.pattern,)
    usual = ("test_*.py", "*_test.py") if command.runner == "pytest" else ("test*.py",)
    return settings.python_files or usual


def test_places(
    command: RunnerCommand, verify: Verify, checkout: Path, settings: PytestSettings
) -> tuple[TestPlace, ...]:
    """Return the folders of the tests that decide a task, so far as a command names them; else that of its last tests.

    Args:
        command: the command.
        verify: names hidden files and the tests that count.
        checkout: where it is started, with the hidden files in place.
        settings: pytest's, in that checkout.
    """
    names = _names(command, checkout, settings)
    patterns = python_patterns(command, settings)
    found = sorted({file for name in names for file in _tests_at(checkout, name, command, patterns)})
    decisive = [file for file in found if _decides(file, verify)]
    chosen = decisive or found[-1:]
    folders = list(dict.fromkeys(file.parent for file in chosen))[:_MOST_FOLDERS]
    places = []
    for folder in folders:
        here = [file for file in found if file.parent == folder]
        read = [file for file in here if file in chosen] or here[-1:]
        places.append(TestPlace(folder, here[-1].name, "\n".join(_text(checkout, file) for file in read)))
    return tuple(places) or (TestPlace(_folder(checkout, names[0]), None, ""),)


test_places.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test


def _names(command: RunnerCommand, checkout: Path, settings: PytestSettings) -> Sequence[str]:
    """Return the files and folders that a command looks into."""
    if command.runner == "unittest" and command.discovery is None:
        named: Iterable[str] = (_module_file(checkout, name) for name in command.named)
    else:
        named = (name.partition("::")[0] for name in command.named)
    there = [name for name in named if (checkout / name).exists()]
    if not there and command.runner == "pytest" and not command.named:
        there = [name for name in settings.testpaths if (checkout / name).exists()]
    return there or ["."]


def _module_file(checkout: Path, name: str) -> str:
    """Return the file of the module that unittest is given, which may be followed by a class and a method."""
    if name.endswith(".py"):
        return name
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end])
        if (checkout / f"{path}.py").is_file():
            return f"{path}.py"
        if (checkout / path).is_dir():
            return path
    return name


def _tests_at(checkout: Path, name: str, command: RunnerCommand, patterns: Sequence[str]) -> Iterable[PurePosixPath]:
    path = checkout / name
    if not path.resolve().is_relative_to(checkout.resolve()):
        return
    if not path.is_dir():
        yield PurePosixPath(os.path.normpath(name))
        return
    seen = 0
    for folder, folders, files in os.walk(path):
        here = Path(folder)
        folders[:] = sorted(
            sub
            for sub in folders
            if sub not in _NO_TESTS and (command.discovery is None or (here / sub / "__init__.py").exists())
        )
        for file in files:
            if _is_test(here / file, command, patterns):
                yield PurePosixPath(os.path.normpath((here / file).relative_to(checkout)))
        seen += 1 + len(files)
        if seen > _MOST_SEEN:
            return


def _is_test(path: Path, command: RunnerCommand, patterns: Sequence[str]) -> bool:
    if command.runner in {"pytest", "unittest"}:
        return any(fnmatchcase(path.name, pattern) for pattern in patterns)
    suffix = _NODE if command.runner == "node" else _SCRIPT
    if re.fullmatch(rf".+[._-](test|spec)\.{suffix}|test-.+\.{suffix}", path.name):
        return True
    return path.parent.name in {"test", "__tests__"} and re.fullmatch(rf".+\.{suffix}", path.name) is not None


def _decides(file: PurePosixPath, verify: Verify) -> bool:
    if any(file == PurePosixPath(hidden) or PurePosixPath(hidden) in file.parents for hidden in verify.hidden_files):
        return True
    dotted = str(file.with_suffix("")).replace("/", ".")
    starts = (f"{file}::", f"{file} > ", f"{dotted}.")
    return any(one.startswith(starts) for one in verify.fail_to_pass)


def _folder(checkout: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(os.path.normpath(name))
    return path if (checkout / path).is_dir() else path.parent


def _text(checkout: Path, file: PurePosixPath) -> str:
    opened = open_left(checkout / file.parent, file.name)
    if opened is None:
        return ""
    with opened:
        return opened.read(_MOST_BYTES).decode(errors="replace")
