"""What a pre-flight says of sealing: what is asked for and cannot be had is refused before money is spent."""

from collections.abc import Iterator, Sequence

from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.environment import EnvironmentKind
from swetrials.records.sealing import NetworkAllowed

SERVER_TOOLS = frozenset({"WebSearch", "WebFetch"})
"""Names in ``allowed_tools`` by which an agent reaches further than its model's route, through any seal.

``WebSearch`` is run by the vendor's server in Claude Code and Codex, and sent out by the agent itself in opencode and
omp; ``WebFetch`` likewise in Claude Code and opencode. The drivers name what they map them to.
"""


def sealing_checks(
    config: RunnerConfig, kind: EnvironmentKind, networks: Sequence[tuple[str, NetworkAllowed]]
) -> Iterator[Check]:
    """Yield what stands against a run's sealing; nothing where nothing does.

    Args:
        config: of the run.
        kind: what its commands are going to run in.
        networks: each task by its id, with the network that the dataset allows it.
    """
    sealed = [task for task, network in networks if network == "model"]
    wider = [task for task, network in networks if network != "model"]
    if config.require_sealed:
        yield from _required(kind, wider)
    if sealed and kind != "host" and not config.meter:
        detail = "without the meter nothing leads from a sealed environment to the model"
        yield Check("sealing", "failed", detail, f"leave --no-meter out, or {_opened(sealed)}")
    if sealed and (tools := sorted(SERVER_TOOLS.intersection(map(_tool, config.allowed_tools)))):
        detail = f"allowed_tools: {', '.join(tools)} reaches further than the model, through any seal"
        yield Check("sealing", "failed", detail, f"leave it out, or {_opened(sealed)}")


def _required(kind: EnvironmentKind, wider: Sequence[str]) -> Iterator[Check]:
    if kind == "host":
        detail = "require_sealed: environment host keeps nothing from the network"
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
