"""What cannot be sealed is refused before money is spent, and what will miss its network is named."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from swetrials.agents.base import Agent
from swetrials.environments.base import Environment
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Task
from swetrials.records.sealing import NetworkAllowed
from swetrials.records.words import listed

_INSTALLS = re.compile(r"\b(pip3?|uv|poetry|pdm|npm|pnpm|yarn|cargo|bundle) (\S+ )*?(install|sync|ci|add|fetch)\b")


def installs_without_network(tasks: Iterable[Task], networks: Mapping[str, NetworkAllowed]) -> Iterator[Check]:
    """Warn of tasks whose ``verify.setup`` looks as if it fetched packages, for which it has no network.

    Args:
        tasks: of a run.
        networks: what the dataset allows each of them, by its id.
    """
    for task in tasks:
        setup = map(" ".join, task.verify.setup if task.verify and networks[task.id] == "model" else ())
        if found := next(filter(_INSTALLS.search, setup), None):
            fix = "move it to the setup of the dataset's environment, which has one"
            yield Check("tests", "warning", f"{task.id}: verify.setup runs without network: `{found}`", fix)


def sealing_refusals(
    config: RunnerConfig, agent: Agent, environment: Environment, networks: Sequence[tuple[str, NetworkAllowed]]
) -> Iterator[Check]:
    """Yield what stands against a run's sealing; nothing where nothing does.

    Args:
        config: of the run.
        agent: whose vendor runs some of the tools.
        environment: what its commands are going to run in.
        networks: each task by its id, with the network that the dataset allows it.
    """
    sealed = [task for task, network in networks if network == "model"]
    wider = [task for task, network in networks if network != "model"]
    if config.require_sealed:
        yield from _required(environment, wider)
    closed = [task for task, network in networks if network != "open"]
    if closed and environment.seals and not config.meter:
        detail = "without the meter nothing leads from a sealed environment to the model"
        yield Check("sealing", "failed", detail, f"leave --no-meter out, or {_opened(closed)}")
    if sealed and (tools := sorted(agent.server_tools.intersection(map(_tool, config.allowed_tools)))):
        detail = f"allowed_tools: {', '.join(tools)} is run by the model's vendor, and reaches further through any seal"
        yield Check("sealing", "failed", detail, f"leave it out, or {_opened(sealed)}")


def _required(environment: Environment, wider: Sequence[str]) -> Iterator[Check]:
    if not environment.seals:
        detail = f"require_sealed: environment {environment.kind} keeps nothing from the network"
        yield Check("sealing", "failed", detail, "--environment bubblewrap, where it works, or --no-require-sealed")
    if wider:
        detail = f"require_sealed: the dataset allows more than the model to {listed(wider, most=3)}"
        yield Check("sealing", "failed", detail, "network: model in its environment, or --no-require-sealed")


def _opened(tasks: Sequence[str]) -> str:
    return f"network: open in the dataset's environment of {listed(tasks, most=3)}"


def _tool(allowed: str) -> str:
    """Return the name of a tool without what it is allowed for: ``WebFetch(domain:example.com)``."""
    return allowed.partition("(")[0].strip()
