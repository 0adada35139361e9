"""Where the project's own folders are: tools, skills, datasets and example configuration."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swetrials.errors import KnownError

HOME_VARIABLE = "SWETRIALS_HOME"
"""Names the project's working folder when it is not the one that holds this package's source."""


class ProjectError(KnownError):
    """The project's working folder cannot be found; the text is one line that says what mends it."""


@dataclass(frozen=True)
class Project:
    """The project's working folder (``benchmarks/``) and what lies in fixed places around it."""

    root: Path

    @property
    def tools(self) -> Path:
        """Programs and caches that setup installs; git ignores it."""
        return (self.root / ".tools").resolve()

    @property
    def config(self) -> Path:
        """The example runner configuration, price and model tables."""
        return self.root / "config"

    @property
    def dataset(self) -> Path:
        """The datasets that come with the project."""
        return self.root / "dataset"

    @property
    def docs(self) -> Path:
        """The pages and figures that come with the project, at the root of the repository."""
        return self.root.parent / "docs"

    @property
    def skills(self) -> Path:
        """The skills that come with the project, one folder each, at the root of the repository."""
        return self.root.parent / ".claude" / "skills"


def find_project(environment: Mapping[str, str] = os.environ) -> Project:
    """Return the project that ``SWETRIALS_HOME`` names, else the one this package's source lies in.

    Raises:
        ProjectError: the folder is not the project's, which is what an installation from a wheel looks like.
    """
    named = environment.get(HOME_VARIABLE)
    root = Path(named).expanduser().resolve() if named else Path(__file__).resolve().parents[3]
    if (root / "pyproject.toml").is_file() and (root / "src" / "swetrials").is_dir():
        return Project(root)
    if named:
        raise ProjectError(f"{HOME_VARIABLE}={named} is not the benchmarks/ folder of a swetrials clone")
    raise ProjectError(
        f"swetrials is not installed from a clone: set {HOME_VARIABLE} to the clone's benchmarks/ folder"
    )
