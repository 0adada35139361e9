"""Where attempts and judgings are made."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from swetrials.environments.base import Environment
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories


@dataclass(frozen=True)
class WorkContext:
    """Where an agent, or a judge, works.

    Attributes:
        repositories: what checkouts are made from.
        work_root: the folder that holds the private folders of each attempt and judging.
        environment: what commands are run in.
        redactor: masks secrets in whatever is written.
    """

    repositories: Repositories
    work_root: Path
    environment: Environment
    redactor: Redactor

    def hiding(self, secrets: Iterable[str]) -> Self:
        """Return a place that masks further secrets."""
        return replace(self, redactor=self.redactor.and_also(secrets))
