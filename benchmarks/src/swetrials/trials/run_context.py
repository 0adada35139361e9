"""What the attempts of a run share, and what one of them is asked for."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from swetrials.agents.base import Agent, Skill
from swetrials.agents.events import Event
from swetrials.agents.install import Installed
from swetrials.hosting.base import Hosting, Provider
from swetrials.pricing.book import PriceBook
from swetrials.records.config import RunnerConfig
from swetrials.records.limits import Limits
from swetrials.store.redaction import Redactor
from swetrials.trials.backoff import Backoff
from swetrials.trials.budget import Budget
from swetrials.trials.plan import Trial
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.sandbox import NOT_WANTED, Absence, Bubblewrap


@dataclass(frozen=True)
class Sandbox:
    """Bubblewrap, what it hides from an agent, and what it shows again; without it, why there is no sandbox."""

    bwrap: Bubblewrap | None
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    missing: Absence = NOT_WANTED

    @property
    def as_root(self) -> str:
        """Why a program in it has the rights of root on this machine's files; empty when it has not."""
        if os.geteuid() != 0:
            return ""
        return self.bwrap.as_root if self.bwrap else self.missing.why

    @property
    def name(self) -> str:
        """What the record calls it."""
        return "bubblewrap" if self.bwrap else "none"


Listener = Callable[[Trial, Sequence[Event]], None]
"""Called with what the agent of a trial has just said and done; secrets are not masked in it."""


def nobody(trial: Trial, events: Sequence[Event]) -> None:
    """Listen to nothing."""


@dataclass(frozen=True)
class RunContext:
    """What every attempt of a run shares."""

    config: RunnerConfig
    agent: Agent
    installed: Installed
    skill: Skill
    limits: Limits
    provider: Provider
    hosting: Hosting
    prices: PriceBook
    repositories: Repositories
    work_root: Path
    sandbox: Sandbox
    redactor: Redactor
    keep_checkouts: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    budget: Budget = field(default_factory=Budget)
    listen: Listener = nobody

    def hiding(self, secrets: Iterable[str]) -> Self:
        """Return a context that masks further secrets in whatever is written."""
        return replace(self, redactor=self.redactor.and_also(secrets))


@dataclass(frozen=True)
class Order:
    """One attempt to make: the trial, the pinned commit, and what an earlier attempt left to build on.

    ``queued_seconds`` is how long it had to wait for its start, since the attempt before it ended.
    """

    trial: Trial
    repo: str
    commit: str
    number: int
    reason: Literal["first", "topup", "retry"]
    only: tuple[str, ...] = ()
    earlier: dict[str, bytes] = field(default_factory=dict)
    queued_seconds: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the attempt's logs go."""
        return self.trial.folder.attempt_folder(self.number)
