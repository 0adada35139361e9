"""Where attempts and judgings are made."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from swetrials.environments.base import Environment
from swetrials.records.config import PREPARATIONS_MAX_GB
from swetrials.store.project import Project, find_project
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories

_LAST_WORDS = 300


@dataclass(frozen=True)
class WorkContext:
    """Where an agent, or a judge, works.

    Attributes:
        repositories: what checkouts are made from.
        work_root: the folder that holds the private folders of each attempt and judging.
        environment: what commands are run in.
        redactor: masks secrets in whatever is written.
        project: whose tools prepare an environment, and keep it.
        preparations_max_gb: disk space for all preparations that are kept.
    """

    repositories: Repositories
    work_root: Path
    environment: Environment
    redactor: Redactor
    project: Project = field(default_factory=find_project)
    preparations_max_gb: float = PREPARATIONS_MAX_GB

    def last_words(self, stderr: Path) -> str:
        """Return the end of what a command wrote to standard error, without secrets.

        Raises:
            OSError: the file cannot be read.
        """
        return self.redactor.bytes(stderr.read_bytes()).decode(errors="replace").strip()[-_LAST_WORDS:]

    def hiding(self, secrets: Iterable[str]) -> Self:
        """Return a place that masks further secrets."""
        return replace(self, redactor=self.redactor.and_also(secrets))
