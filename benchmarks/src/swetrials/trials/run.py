"""Many trials: as many at a time as asked for, each leaving its record whatever becomes of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from swetrials.records.metrics import Metrics
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import RecordError, sha256_of
from swetrials.store.results import TrialFolder, state_of
from swetrials.trials.crew import Crew
from swetrials.trials.plan import Plan, Trial
from swetrials.trials.trial import Observer, run_trial


@dataclass(frozen=True)
class Standing:
    """A planned trial and what is on disk of it already.

    ``differs`` is what makes a record on disk that of another run: the name of the first field, else empty.
    """

    trial: Trial
    state: Metrics | RecordError | None
    differs: str = ""

    @property
    def finished(self) -> bool:
        """Whether its record says something about model or agent, so that running it again would pay twice."""
        return self._says_something and not self.differs

    @property
    def foreign(self) -> bool:
        """Whether it holds the finished trial of another run, which this one can neither keep nor take away unasked."""
        return self._says_something and bool(self.differs)

    @property
    def _says_something(self) -> bool:
        return isinstance(self.state, Metrics) and self.state.outcome.valid

    @property
    def stale(self) -> bool:
        """Whether its folder holds something that a new run would have to clear."""
        return self.state is not None

    @property
    def folder(self) -> TrialFolder:
        """The trial's folder."""
        return self.trial.folder


def standings(plan: Plan) -> list[Standing]:
    """Look up what is on disk for each planned trial. The record decides, not the folder's being there."""
    found = [(trial, state_of(trial.folder)) for trial in plan.trials]
    return [
        Standing(trial, state, _difference(plan, trial, state) if isinstance(state, Metrics) else "")
        for trial, state in found
    ]


def _difference(plan: Plan, trial: Trial, earlier: Metrics) -> str:
    pairs = {
        "provider": (earlier.provider, plan.config.provider),
        "model": (earlier.model, plan.config.model),
        "dataset": (earlier.trial.dataset, plan.dataset.dataset.name),
        "task_sha256": (earlier.trial.task_sha256, plan.dataset.task_sha256(trial.task)),
        "skill_sha256": (earlier.provenance.skill_sha256, sha256_of(plan.skill.text)),
    }
    return next((name for name, (was, now) in pairs.items() if was != now), "")


async def run_trials(
    crew: Crew, dataset: LoadedDataset, trials: Sequence[Trial], concurrency: int, observe: Observer
) -> list[Metrics]:
    """Run trials, at most ``concurrency`` at a time, and return their records in the order of ``trials``.

    Cancelling it stops every agent, leaves an ``interrupted`` record for each trial that had started, and
    goes on to the caller.
    """
    planned_at = datetime.now(UTC)
    slots = anyio.CapacityLimiter(concurrency)
    records: dict[int, Metrics] = {}

    async def one(index: int, trial: Trial) -> None:
        async with slots:
            records[index] = await run_trial(crew, dataset, trial, planned_at, observe)

    async with anyio.create_task_group() as group:
        for index, trial in enumerate(trials):
            group.start_soon(one, index, trial)
    return [records[index] for index in sorted(records)]
