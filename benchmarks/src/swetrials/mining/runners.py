"""Which runner a project's tests have, and how it is started: as the project does, with our reporter."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Self

from swetrials.mining.candidates import CODE, SCRIPTS
from swetrials.mining.project_files import ProjectFiles
from swetrials.records.argv import Argv
from swetrials.records.dataset import ReportFormat

_NODE_RUNNERS: Mapping[str, ReportFormat] = {
    "vitest": "junit",
    "jest": "junit",
    "mocha": "junit",
    "node --test": "node-test",
}
_REPORTERS = re.compile(
    r"(?:--reporters?|-R|--test-reporter(?:-destination)?)(?:=|\s+)\S+|--(?:coverage|coverage=\S+|watch|verbose)\b"
)
_STOPS = re.compile(r"(?:^|\s)(?:--bail(?:=\d+)?|-b|--ci|--forbid-only)(?=\s|$)")
_WRAPPERS = re.compile(r"^(?:(?:nyc|c8|istanbul cover)\s+(?:--?[\w-]+(?:=\S+)?\s+)*|cross-env\s+|npx\s+)+")
_NO_BUILD = re.compile(
    r"\b(eslint|standard|xo|prettier|lint|jshint|jscs|tsd|typecheck|biome|audit|coverage|size-limit)\b|--noEmit"
)
_TEST_FOLDERS = ("tests", "test", "testing")


@dataclass(frozen=True)
class Runner:
    """How a project's tests are run.

    Attributes:
        name: of the program.
        commands: each writes a report.
        report: its format.
        setup: what builds first, after the change.
    """

    name: str
    commands: tuple[Argv, ...]
    report: ReportFormat
    setup: tuple[Argv, ...] = ()

    def inside(self, folder: str) -> Self:
        """Return the runner of a project that is in a folder of its repository."""
        if not folder:
            return self
        into = f"cd {shlex.quote(folder)} && "

        def moved(argv: Argv) -> Argv:
            return ("sh", "-c", into + (argv[2] if argv[:2] == ("sh", "-c") else f"exec {shlex.join(argv)}"))

        return replace(self, commands=tuple(map(moved, self.commands)), setup=tuple(map(moved, self.setup)))


def asked_runner(command: str, report: ReportFormat) -> Runner:
    """Return the runner that a person has named: a line for a shell, and how it reports."""
    plain = not re.search(r"[|&;<>$`*?(]", command) and not re.match(r"\w+=", command)
    argv = tuple(shlex.split(command)) if plain else ("sh", "-c", command)
    known = next(
        (name for name in ("pytest", "unittest") if re.search(rf"(?<![\w-]){name}(?![\w-])", command)), argv[0]
    )
    return Runner(known, (argv,), report)


def runner_of(project: ProjectFiles, tests: Iterable[tuple[str, bytes]]) -> Runner | None:
    """Return what runs some tests of a project; ``None``: nothing tells.

    Args:
        project: the files of the commit, manifests as the change leaves them.
        tests: path and content of the tests' files.
    """
    files = list(tests)
    suffixes = {PurePosixPath(path).suffix for path, _ in files}
    if ".py" in suffixes:
        return _python_runner(project, [data for path, data in files if path.endswith(".py")])
    if suffixes & SCRIPTS:
        return _node_runner(project)
    if any(CODE.fullmatch(suffix) for suffix in suffixes):
        return None
    # Data of tests alone: whatever runs the tests that there are.
    return _node_runner(project) or (_python_runner(project, []) if project.is_python else None)


def _python_runner(project: ProjectFiles, tests: list[bytes]) -> Runner:
    uses_pytest = project.names_pytest or any(
        PurePosixPath(path).name in {"conftest.py", "pytest.ini"} for path in project.paths
    )
    by_functions = any(re.search(rb"^(async )?def test_", data, re.MULTILINE) for data in tests)
    by_classes = any(b"unittest" in data for data in tests)
    if uses_pytest or by_functions or not by_classes:
        return Runner("pytest", (("python", "-m", "pytest", *_pytest_places(project)),), "junit")
    return Runner("unittest", (("python", "-m", "unittest", "discover", *_unittest_places(project)),), "unittest")


def _pytest_places(project: ProjectFiles) -> tuple[str, ...]:
    if re.search(r"^\s*testpaths\s*=", "\n".join(project.texts.values()), re.MULTILINE):
        return ()
    return tuple(folder for folder in _TEST_FOLDERS if any(path.startswith(f"{folder}/") for path in project.paths))[:1]


def _unittest_places(project: ProjectFiles) -> tuple[str, ...]:
    for folder in _TEST_FOLDERS:
        if any(path.startswith(f"{folder}/") for path in project.paths):
            return () if f"{folder}/__init__.py" in project.paths else ("-s", folder)
    return ()


def _node_runner(project: ProjectFiles) -> Runner | None:
    scripts = project.package.get("scripts")
    scripts = (
        {name: line for name, line in scripts.items() if isinstance(line, str)} if isinstance(scripts, dict) else {}
    )
    before: list[str] = [scripts[name] for name in ("pretest",) if name in scripts]
    segments = _segments(scripts.get("test", ""), scripts)
    for number, segment in enumerate(segments):
        for name, report in _NODE_RUNNERS.items():
            if re.search(rf"(?:^|[\s/]){name}\b", segment):
                builds = [one for line in before for one in _segments(line, scripts)] + segments[:number]
                setup = tuple(_in_shell(one) for one in builds if not _NO_BUILD.search(one))
                return Runner(name, (_in_shell(_plain(segment)),), report, setup)
    return None


def _segments(line: str, scripts: Mapping[str, str], depth: int = 0) -> list[str]:
    """Return the commands of a script one after another, other scripts of the package in their place."""
    found: list[str] = []
    for segment in re.split(r"\s*(?:&&|;)\s*", line.strip()):
        named = re.fullmatch(r"(?:npm|yarn|pnpm) (?:run )?([\w:.-]+)(?: --)?(.*)", segment)
        if named and named[1] in scripts and depth < 5:
            inner = _segments(scripts[named[1]], scripts, depth + 1)
            found += [*inner[:-1], inner[-1] + named[2]]
        elif segment:
            found.append(segment)
    return found or [""]


def _plain(segment: str) -> str:
    """Return a runner's command without coverage around it, other reporters, and what stops it at the first failure."""
    bare = _WRAPPERS.sub("", segment.strip())
    return " ".join(_STOPS.sub("", _REPORTERS.sub("", bare)).split())


def _in_shell(line: str) -> Argv:
    return ("sh", "-c", f'PATH="$PWD/node_modules/.bin:$PATH" {line}')
