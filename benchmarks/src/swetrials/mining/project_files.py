"""What a project says of itself in its manifests, as far as tests and their environment depend on it."""

import posixpath
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from swetrials.mining.mirror_reader import MirrorReader

_READ = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "noxfile.py",
    "package.json",
    "Pipfile",
    "Makefile",
)
_OF_A_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", "package.json")
_REQUIREMENTS = re.compile(
    r"(?:requirements/)?[\w.-]*(?:test|dev|ci)[\w.-]*\.(?:txt|in)|requirements(?:\.txt|/[\w.-]+\.txt)"
    r"|tests?/[\w.-]*requirements[\w.-]*\.txt"
)


@dataclass(frozen=True)
class ProjectFiles:
    """The files of one commit, and the text of its manifests.

    Attributes:
        paths: blob ids of all files, by path from the project's folder.
        texts: of the manifests in that folder.
        folder: of the project in the repository; empty: the top.
        names_pytest: whether any file of the repository does.
    """

    paths: Mapping[str, str]
    texts: Mapping[str, str]
    folder: str = ""
    names_pytest: bool = False

    @cached_property
    def pyproject(self) -> Mapping[str, Any]:
        """The tables of ``pyproject.toml``; empty where there is none, or none that can be read."""
        try:
            found = tomllib.loads(self.texts.get("pyproject.toml", ""))
        except tomllib.TOMLDecodeError:
            return {}
        return {name: table for name, table in found.items() if isinstance(table, dict)}

    @cached_property
    def package(self) -> Mapping[str, Any]:
        """``package.json``, likewise."""
        try:
            found = orjson.loads(self.texts.get("package.json", "{}"))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def is_python(self) -> bool:
        """Whether something says how Python installs it, or it is of Python alone."""
        named = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini")
        return any(name in self.texts for name in named) or any(path.endswith(".py") for path in self.paths)

    @property
    def can_be_installed(self) -> bool:
        """Whether Python can install it."""
        return (
            "setup.py" in self.texts
            or "project" in self.pyproject
            or "build-system" in self.pyproject
            or ("poetry" in self.pyproject.get("tool", {}))
        )

    def requirement_files(self) -> tuple[str, ...]:
        """The files of requirements at the top, in ``requirements/``, or among the tests."""
        return tuple(sorted(path for path in self.paths if _REQUIREMENTS.fullmatch(path)))


def project_files(mirror: MirrorReader, commit: str, touched: Iterable[str]) -> ProjectFiles:
    """Read what a commit says of the project that some files belong to.

    That is the lowest folder with a manifest that all of them lie below; else the repository.

    Args:
        mirror: of the repository.
        commit: the full id.
        touched: paths of files that a change touches.

    Raises:
        GitError: the commit cannot be read.
    """
    everything = mirror.paths(commit)
    folder = _project_folder(everything, touched)
    paths = {path.removeprefix(folder): blob for path, blob in everything.items() if path.startswith(folder)}
    there = [path for path in paths if path in _READ or _REQUIREMENTS.fullmatch(path)]
    contents = mirror.blobs([paths[path] for path in there])
    texts = {path: data.decode(errors="replace") for path, data in zip(there, contents, strict=True)}
    return ProjectFiles(paths, texts, folder.rstrip("/"), bool(mirror.words_there(commit, ["pytest"])))


def _project_folder(paths: Mapping[str, str], touched: Iterable[str]) -> str:
    """Return the folder with its slash; empty for the top."""
    common = posixpath.commonprefix([f"{posixpath.dirname(path)}/" for path in touched]).split("/")[:-1]
    for depth in range(len(common), 0, -1):
        folder = "/".join(common[:depth]) + "/"
        if any(f"{folder}{name}" in paths for name in _OF_A_PROJECT):
            return folder
    return ""
