"""What the attempts of a run share, and what one of them is asked for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from swetrials.agents.base import Agent, Skill
from swetrials.agents.events import Event
from swetrials.agents.install import Installed
from swetrials.agents.session import AgentSession
from swetrials.environments.base import View
from swetrials.environments.door import Door
from swetrials.environments.work_context import WorkContext
from swetrials.hosting.base import Hosting, Provider
from swetrials.pricing.book import PriceBook
from swetrials.records.config import RunnerConfig
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.limits import Limits
from swetrials.trials.backoff import Backoff
from swetrials.trials.budget import Budget
from swetrials.trials.plan import Trial
from swetrials.wire.route import Route

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
    place: WorkContext
    keep_checkouts: bool = False
    backoff: Backoff = field(default_factory=Backoff)
    budget: Budget = field(default_factory=Budget)
    listen: Listener = nobody

    def hiding(self, secrets: Iterable[str]) -> Self:
        """Return a context that masks further secrets in whatever is written."""
        return replace(self, place=self.place.hiding(secrets))

    def agent_session(
        self,
        view: View,
        prompt: str,
        route: Route,
        writable: Sequence[Path],
        *,
        skill: Skill | None,
        door: Door | None,
    ) -> AgentSession:
        """Return the agent, ready to be run on a prompt.

        Args:
            view: its folders.
            prompt: what it is asked.
            route: its way to the model.
            writable: those of its folders that it may change.
            skill: what it follows.
            door: seals it; ``None``: it is not.
        """
        return AgentSession.of(
            self.agent,
            self.installed,
            view,
            prompt=prompt,
            skill=skill,
            route=route,
            config=self.config,
            environment=self.place.environment,
            writable=writable,
            door=door,
        )


@dataclass(frozen=True)
class Order:
    """One attempt to make: the trial, the pinned commit, what it runs in, and what an earlier attempt left to build on.

    ``queued_seconds`` is how long it had to wait for its start, since the attempt before it ended.
    """

    trial: Trial
    repo: str
    commit: str
    number: int
    reason: Literal["first", "topup", "retry"]
    environment: EnvironmentSpec = field(default_factory=EnvironmentSpec)
    only: tuple[str, ...] = ()
    earlier: dict[str, bytes] = field(default_factory=dict)
    queued_seconds: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the attempt's logs go."""
        return self.trial.folder.attempt_folder(self.number)
