"""What a hosting path has to offer: a route for each attempt, and what it can prove about it."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import SecretStr

from swetrials.records.config import RunnerConfig
from swetrials.records.usage import UsageReport

Dialect = Literal["anthropic", "openai-chat", "openai-responses"]


@dataclass(frozen=True)
class Route:
    """Everything an agent needs to reach one model.

    ``base_url`` is the origin (and path prefix) below which the dialect's own paths start, so without
    ``/v1``. ``environment`` holds what the route needs in the agent's environment beyond URL and key.
    """

    dialects: frozenset[Dialect]
    base_url: str
    api_key: SecretStr
    model: str
    context_window: int | None = None
    region: str | None = None


@dataclass(frozen=True)
class Check:
    """One line of the pre-flight: what was looked at, what was found, and the command that mends it."""

    name: str
    status: Literal["ok", "warning", "failed", "skipped"]
    detail: str
    mend: str = ""


class Hosting(Protocol):
    """A provider at work, between opening and closing."""

    async def checks(self) -> Sequence[Check]:
        """Look at the endpoint without spending a token."""

    def route(self, attempt_id: str) -> Route:
        """Return the way to the model for one attempt."""

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return what the server itself counted for an attempt; ``None`` where it cannot tell them apart."""


class Provider(Protocol):
    """A hosting path. ``open`` starts what has to run and stops it again."""

    name: str
    serving: str
    free: bool

    def open(self, config: RunnerConfig) -> AbstractAsyncContextManager[Hosting]:
        """Return the provider at work for one run.

        Raises:
            ConfigError: the configuration lacks what this provider needs.
        """
