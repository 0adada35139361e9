"""Where the project's own folders are: what comes along with the package, and what is installed for it."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swetrials.errors import KnownError

HOME_VARIABLE = "SWETRIALS_HOME"
"""Names the project's working folder: the ``benchmarks/`` folder of a clone, or any folder for an installed package."""

_PACKAGE = Path(__file__).resolve().parents[1]
_BROUGHT_ALONG = _PACKAGE / "data"
"""What the wheel holds of the files that a clone has beside the package; ``pyproject.toml`` lists them."""


class ProjectError(KnownError):
    """The project's working folder cannot be found; the text is one line that says what mends it."""


@dataclass(frozen=True)
class Project:
    """The project's working folder, and what lies in fixed places around it.

    Attributes:
        root: the working folder: ``benchmarks/`` of a clone; for an installed package, a folder in the user's home.
        brought_along: what an installed package has of a clone's other folders; ``None`` in a clone.
    """

    root: Path
    brought_along: Path | None = None

    @property
    def private(self) -> Path:
        """All that is the project's own, answers of datasets and results among it: a sandbox covers it."""
        return self.root if self.brought_along else self.root.parent

    @property
    def tools(self) -> Path:
        """Programs and caches that setup installs; git ignores it."""
        return (self.root / ".tools").resolve()

    @property
    def config(self) -> Path:
        """The example runner configuration, price and model tables."""
        return (self.brought_along or self.root) / "config"

    @property
    def dataset(self) -> Path:
        """The datasets that come with the project."""
        return (self.brought_along or self.root) / "dataset"

    @property
    def metrics(self) -> Path:
        """The published figures that come with the project."""
        return (self.brought_along or self.root.parent / "docs") / "metrics"

    @property
    def skills(self) -> Path:
        """The skills that come with the project, one folder each."""
        return self.brought_along / "skills" if self.brought_along else self.root.parent / ".claude" / "skills"

    @property
    def uv(self) -> str:
        """The program ``uv``: a clone has a script that installs it where it is missing; else the one on the PATH."""
        script = self.root / "scripts" / "uv.sh"
        return str(script) if script.is_file() else shutil.which("uv") or "uv"


def find_project(environment: Mapping[str, str] = os.environ) -> Project:
    """Return the project: the clone that holds this package's source, or what the installed package needs of one.

    ``SWETRIALS_HOME`` names another clone. For an installed package it names the folder that agents are installed
    into, which is ``swetrials`` in the user's data folder otherwise (``XDG_DATA_HOME``, else ``~/.local/share``; XDG
    Base Directory Specification).

    Raises:
        ProjectError: the folder that is named is no clone, and the package has not brought its files along.
    """
    named = environment.get(HOME_VARIABLE)
    root = Path(named).expanduser().resolve() if named else _PACKAGE.parents[1]
    if (root / "pyproject.toml").is_file() and (root / "src" / "swetrials").is_dir():
        return Project(root)
    if _BROUGHT_ALONG.is_dir():
        return Project(root if named else _data_home(environment) / "swetrials", _BROUGHT_ALONG)
    if named:
        raise ProjectError(f"{HOME_VARIABLE}={named} is not the benchmarks/ folder of a swetrials clone")
    raise ProjectError(
        f"swetrials was installed without its data: install its wheel, or set {HOME_VARIABLE} to a clone's benchmarks/"
    )


def _data_home(environment: Mapping[str, str]) -> Path:
    named = Path(environment.get("XDG_DATA_HOME") or "")
    return named if named.is_absolute() else Path(environment.get("HOME") or Path.home()) / ".local" / "share"
