"""What cannot be sealed is refused before money is spent."""

from collections.abc import Iterator, Sequence

from swetrials.agents.base import Agent
from swetrials.environments.base import Environment
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.sealing import NetworkAllowed


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
        detail = f"require_sealed: the dataset allows more than the model to {_listed(wider)}"
        yield Check("sealing", "failed", detail, "network: model in its environment, or --no-require-sealed")


def _opened(tasks: Sequence[str]) -> str:
    return f"network: open in the dataset's environment of {_listed(tasks)}"


def _tool(allowed: str) -> str:
    """Return the name of a tool without what it is allowed for: ``WebFetch(domain:example.com)``."""
    return allowed.partition("(")[0].strip()


def _listed(tasks: Sequence[str]) -> str:
    return ", ".join(tasks[:3]) + (f" and {len(tasks) - 3} more" if len(tasks) > 3 else "")
