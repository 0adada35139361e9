"""What an agent did in an attempt: kept as its trajectory, and looked through for doubtful doings."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from swetrials.agents.events import Tally
from swetrials.agents.integrity import Bounds, scan
from swetrials.agents.package_downloads import MANIFESTS, published_names
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.environments.base import View
from swetrials.records.cost import Cost
from swetrials.records.dataset import repository_name
from swetrials.records.metrics import Finding
from swetrials.records.outcome import Outcome
from swetrials.records.trajectory import Trajectory, TrajectoryAgent
from swetrials.records.usage import UsageBlock
from swetrials.store.files import write_record
from swetrials.trials.run_context import Order, RunContext
from swetrials.workspace.variables import search_path, toolchain_roots

TRAJECTORY = "trajectory.json"

_NOTES = (
    "Attempt {number} of trial {trial}. Every attempt has such a file in attempts/<n>/; that of the last one stands "
    "in the trial's folder as well. Long texts are cut, secrets masked."
)
_PROGRAM_FOLDERS = {"bin", "sbin", "shims"}


def told(
    context: RunContext,
    order: Order,
    recorder: TrajectoryRecorder,
    tally: Tally,
    outcome: Outcome,
    usage: UsageBlock,
    cost: Cost,
) -> Trajectory:
    """Return an attempt's trajectory: what was recorded, and what it came to."""
    trial = order.trial
    return recorder.trajectory(
        TrajectoryAgent(
            name=context.agent.folder,
            version=tally.agent_version or context.installed.version or "unknown",
            model_name=context.config.model,
        ),
        session_id=tally.session_id,
        usage=usage.headline,
        cost_usd=cost.amount_usd,
        notes=_NOTES.format(number=order.number, trial=trial.label),
        extra={
            "task": trial.task.id,
            "repeat": trial.repeat,
            "attempt": order.number,
            "skill": context.skill.name,
            "provider": context.config.provider,
            "outcome": outcome.kind.value,
        },
    )


def keep(order: Order, trajectory: Trajectory) -> None:
    """Write an attempt's trajectory into its folder."""
    with suppress(OSError):  # on a full disk the attempt's record is what has to survive
        write_record(order.folder / TRAJECTORY, trajectory)


def doubtful_doings(context: RunContext, order: Order, view: View, trajectory: Trajectory) -> tuple[Finding, ...]:
    """Return what the agent did that an honest attempt has no need of."""
    task, config = order.trial.task, context.config
    private = (context.place.work_root, Path(config.output_dir), Path(config.dataset).parent)
    return scan(
        trajectory,
        Bounds(
            checkout=view.inside.checkout,
            allowed=(*view.inside.folders, context.installed.folder, *context.place.environment.readable, *_tools()),
            forbidden=tuple(folder.absolute() for folder in private),
            commit=order.commit,
            upstream=tuple(filter(None, (order.repo, task.ground_truth.reference_url))),
            told=task.problem_issue_url,
            packages=_packages(context, order),
        ),
    )


def _packages(context: RunContext, order: Order) -> frozenset[str]:
    """Return what the repository is published as, where the agent could ask a registry for it."""
    if order.environment.network == "model":
        return frozenset()
    read = context.place.repositories.read
    found = {name: read(order.repo, order.commit, name) for name in MANIFESTS}
    texts = {name: data.decode(errors="replace") for name, data in found.items() if data is not None}
    return published_names(texts, repository_name(order.repo))


def _tools() -> Iterator[Path]:
    """Yield the folders that hold the machine's programs, wherever they are installed; system folders need no word."""
    for name in search_path(os.environ.get("PATH", os.defpath)).split(os.pathsep):
        folder = Path(name)
        installed = folder.parent if folder.name in _PROGRAM_FOLDERS else folder
        if name and installed != Path("/"):
            yield installed
    yield from map(Path, toolchain_roots(os.environ).values())
