"""What a commit's tests ran in on its day: several ways to make it, the most faithful first.

uv leaves out what was released later (``--exclude-newer``; uv's reference, "Reproducible resolutions"). Build back-ends
are taken out of that, since those of the day often cannot install editable (``--exclude-newer-package NAME=false``).
npm does likewise by ``--before``, which fails where a registry tells upload times of its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from swetrials.environments.toolchain import ToolMissingError, find_tools
from swetrials.mining.project_files import ProjectFiles
from swetrials.mining.runners import Runner
from swetrials.records.argv import Argv
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.mined import MiningMark
from swetrials.store.project import Project

_RELEASED = {
    "3.14": "2025-10-07",
    "3.13": "2024-10-07",
    "3.12": "2023-10-02",
    "3.11": "2022-10-24",
    "3.10": "2021-10-04",
    "3.9": "2020-10-05",
    "3.8": "2019-10-14",
}
# First release of each version, by its own page at the Python Software Foundation.

_BACK_ENDS = (
    "setuptools",
    "wheel",
    "flit-core",
    "hatchling",
    "poetry-core",
    "pdm-backend",
    "setuptools-scm",
    "hatch-vcs",
)
_EXTRAS = ("test", "tests", "testing", "dev", "develop", "async", "all")
_GROUPS = ("test", "tests", "testing", "dev")
_PLUGINS = {
    r"--cov\b": "pytest-cov",
    r"(?:^|\s)-n[ =]?(?:auto|\d)|--numprocesses": "pytest-xdist",
    r"asyncio_mode|pytest\.mark\.asyncio|pytest[-_]asyncio": "pytest-asyncio",
    r"--timeout\b": "pytest-timeout",
    r"--benchmark": "pytest-benchmark",
    r"pytest[-_]mock\b": "pytest-mock",
}
_INTO = {"uv": "--directory", "npm": "--prefix"}
_VARIABLES = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "CI": "1"}


@dataclass(frozen=True)
class EnvironmentWay:
    """One way to make an environment.

    Attributes:
        spec: what is prepared.
        marks: what one should know of it.
    """

    spec: EnvironmentSpec
    marks: tuple[MiningMark, ...] = ()

    def inside(self, folder: str) -> Self:
        """Return the way for a project that is in a folder of its repository."""
        if not folder:
            return self
        setup = tuple((argv[0], _INTO[argv[0]], folder, *argv[1:]) for argv in self.spec.setup)
        return replace(self, spec=self.spec.model_copy(update={"setup": setup}))


def ways_to_prepare(
    project: ProjectFiles, runner: Runner, day: datetime, tests: str, machine: Project
) -> Iterator[EnvironmentWay]:
    """Yield ways to make what a project's tests run in; each is tried where those before it failed.

    Args:
        project: the files of the commit that the change starts from.
        runner: of its tests.
        day: nothing that was released later is installed where nothing is locked.
        tests: the text of tests, which names packages that they need.
        machine: whose tools there are.

    Raises:
        ToolMissingError: this machine has no interpreter for it.
    """
    if runner.name in {"pytest", "unittest"} or (project.is_python and "package.json" not in project.texts):
        ways = _python_ways(project, runner, day, machine)
    elif "package.json" in project.texts:
        ways = _node_ways(project, runner, day, tests)
    else:
        ways = iter((EnvironmentWay(EnvironmentSpec(env=_VARIABLES)),))
    yield from (way.inside(project.folder) for way in ways)


def _python_ways(project: ProjectFiles, runner: Runner, day: datetime, machine: Project) -> Iterator[EnvironmentWay]:
    version = _python_version(project, day, machine)
    date = (day + timedelta(days=1)).strftime("%Y-%m-%d")
    dated = ("uv", "pip", "install", "--exclude-newer", date)
    lifted = tuple(f"--exclude-newer-package={name}=false" for name in _BACK_ENDS)
    needed = _test_packages(project, runner)
    lists = tuple(word for file in project.requirement_files() for word in ("-r", file))
    scm = (
        {"SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.1"}
        if "setuptools_scm" in _said(project) or "vcs" in _said(project)
        else {}
    )
    variables = {**_VARIABLES, **scm}
    extras, groups = _declared(project)
    if "uv.lock" in project.paths:
        chosen = (*(f"--extra={name}" for name in extras), *(f"--group={name}" for name in groups))
        sync: Argv = ("uv", "sync", "--active", "--frozen", "--inexact", *chosen)
        beside: tuple[Argv, ...] = ((*dated, *needed),) if needed else ()
        yield EnvironmentWay(EnvironmentSpec(python=version, setup=(sync, *beside), env=variables))
    if project.can_be_installed:
        itself = ("-e", f".[{','.join(extras)}]" if extras else ".")
        grouped = tuple(word for group in groups for word in ("--group", group))
        install: Argv = (*dated, *lifted, *itself, *grouped, *lists, *needed)
        yield EnvironmentWay(EnvironmentSpec(python=version, setup=(install,), env=variables))
        plain: Argv = (*dated, *lifted, "-e", ".", *needed)
        if plain != install:
            yield EnvironmentWay(EnvironmentSpec(python=version, setup=(plain,), env=variables), ("drifted",))
    path = {"PYTHONPATH": "src"} if any(name.startswith("src/") for name in project.paths) else {"PYTHONPATH": "."}
    dependencies = tuple(
        one for one in project.pyproject.get("project", {}).get("dependencies", ()) if isinstance(one, str)
    )
    bare: tuple[Argv, ...] = ((*dated, *lists, *dependencies, *needed),) if (*lists, *dependencies, *needed) else ()
    marks: tuple[MiningMark, ...] = ("drifted",) if project.can_be_installed else ()
    yield EnvironmentWay(EnvironmentSpec(python=version, setup=bare, env={**variables, **path}), marks)


def _python_version(project: ProjectFiles, day: datetime, machine: Project) -> str:
    """Return the newest version that this machine has of those that were there on the day, else the oldest it has."""
    asked = re.search(r"(?:requires-python|python_requires)\s*=\s*[\"'][^\"']*>=\s*3\.(\d+)", _said(project))
    least = int(asked[1]) if asked else 0
    fitting = [version for version in _RELEASED if int(version.split(".")[1]) >= least]
    known = [version for version in fitting if _RELEASED[version] <= day.strftime("%Y-%m-%d")]
    later = [version for version in reversed(fitting) if version not in known]
    missing: ToolMissingError | None = None
    for version in (*known, *later):
        try:
            find_tools(EnvironmentSpec(python=version), machine)
        except ToolMissingError as error:
            missing = missing or error
        else:
            return version
    raise missing or ToolMissingError("no version of Python fits what the project asks for")


def _declared(project: ProjectFiles) -> tuple[list[str], list[str]]:
    extras = set(project.pyproject.get("project", {}).get("optional-dependencies", {}))
    legacy = "\n".join(project.texts.get(name, "") for name in ("setup.py", "setup.cfg"))
    if "extras_require" in legacy:
        section = legacy.partition("extras_require")[2]
        extras |= {name for name in _EXTRAS if re.search(rf"[\"']?\b{name}\b[\"']?\s*[:=]", section)}
    groups = project.pyproject.get("dependency-groups", {})
    return [name for name in _EXTRAS if name in extras], [name for name in _GROUPS if name in groups]


def _test_packages(project: ProjectFiles, runner: Runner) -> tuple[str, ...]:
    if runner.name != "pytest":
        return ()
    said = _said(project)
    return ("pytest", *(name for pattern, name in _PLUGINS.items() if re.search(pattern, said, re.MULTILINE)))


def _said(project: ProjectFiles) -> str:
    return "\n".join(project.texts.values())


def _node_ways(project: ProjectFiles, runner: Runner, day: datetime, tests: str) -> Iterator[EnvironmentWay]:
    date = (day + timedelta(days=1)).strftime("%Y-%m-%d")
    quiet = ("--no-audit", "--no-fund", "--no-progress", "--ignore-scripts")
    package = project.package
    developers = package.get("devDependencies")
    tools: dict[str, object] = developers if isinstance(developers, dict) else {}
    named = set(re.findall(r"[\"']((?:@[\w.-]+/)?[\w.-]+)[\"'/]", tests))
    runtime = any(
        isinstance(package.get(name), dict) and package[name] for name in ("dependencies", "peerDependencies")
    )
    locked = any(name in project.paths for name in ("package-lock.json", "npm-shrinkwrap.json"))
    if not (tools or runtime or locked):
        yield EnvironmentWay(EnvironmentSpec(env=_VARIABLES))
        return

    def way(*setup: Argv, marks: tuple[MiningMark, ...] = ()) -> EnvironmentWay:
        return EnvironmentWay(EnvironmentSpec(setup=setup, env=_VARIABLES), marks)

    if locked:
        yield way(("npm", "ci", *quiet))
    yield way(("npm", "install", *quiet, "--no-package-lock", "--before", date))
    yield way(("npm", "install", *quiet, "--no-package-lock"), marks=("drifted",))
    # A tool of developers that was withdrawn since, such as a linter, keeps none of them from being installed.
    needed = [f"{name}@{of}" for name, of in tools.items() if name == runner.name or name in named]
    if needed:
        without: Argv = ("npm", "pkg", "delete", "devDependencies")
        alone: Argv = ("npm", "install", *quiet, "--no-package-lock", "--no-save", *needed)
        yield way(without, alone, marks=("drifted",))
