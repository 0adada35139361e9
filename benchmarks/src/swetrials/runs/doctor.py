"""Looking at one combination of agent, provider and model without a dataset, and at all combinations on paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents import AGENTS
from swetrials.environments import environment_for
from swetrials.hosting import PROVIDERS
from swetrials.hosting.base import ProviderError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.runs.defaults import check_model_named
from swetrials.runs.preflight import machine_checks, no_common_dialect, route_checks
from swetrials.runs.prepared_run import members_of
from swetrials.store.project import find_project
from swetrials.workspace.space import private_root


async def examine(config: RunnerConfig) -> Sequence[Check]:
    """Return the findings on a configuration's agent, provider and model; no token is spent.

    Raises:
        UsageError: agent or provider are unknown.
        UnnamedError: the provider has no default model, and none is named.
    """
    project = find_project()
    agent, provider, _ = members_of(config)
    check_model_named(config)
    work_root = private_root(Path(config.clone_dir) if config.clone_dir else None)
    checks = list(machine_checks(agent, project, environment_for(config.environment, project), work_root))
    try:
        async with provider.open(config) as hosting:
            checks += [check async for check in route_checks(agent, hosting)]
    except ProviderError as error:
        checks.append(Check("provider", "failed", str(error), "see: swetrials run --help"))
    return checks


@dataclass(frozen=True)
class Combination:
    """Whether an agent can use a provider, over which dialects, and why not."""

    agent: str
    provider: str
    dialects: tuple[str, ...]
    reason: str = ""

    @property
    def possible(self) -> bool:
        """Whether there is a dialect that both sides speak."""
        return bool(self.dialects)


def matrix() -> list[Combination]:
    """Return every agent x provider combination, computed from the dialects that each side speaks."""
    cells = []
    for agent in AGENTS.values():
        for provider in PROVIDERS.values():
            common = tuple(sorted(agent.dialects & provider.dialects))
            reason = "" if common else no_common_dialect(agent, provider.dialects)
            cells.append(Combination(agent.name, provider.name, common, reason))
    return cells
