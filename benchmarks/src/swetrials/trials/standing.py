"""What is on disk of each planned trial, and so what a run has to do about it."""

from dataclasses import dataclass

from swetrials.records.fingerprint import Fingerprint
from swetrials.records.metrics import Metrics
from swetrials.store.files import RecordError, sha256_of
from swetrials.store.results import TrialFolder, state_of
from swetrials.trials.plan import Plan, Trial


@dataclass(frozen=True)
class Standing:
    """A planned trial and what is on disk of it already.

    ``differs`` names what makes a record on disk that of another run; it is empty for one of this run.
    """

    trial: Trial
    state: Metrics | RecordError | None = None
    differs: tuple[str, ...] = ()

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
        """Whether its folder holds something that a new trial would have to clear."""
        return self.state is not None

    @property
    def folder(self) -> TrialFolder:
        """The trial's folder."""
        return self.trial.folder


def standings(plan: Plan, agent_version: str | None) -> list[Standing]:
    """Look up what is on disk for each planned trial. The record decides, not the folder's being there.

    Args:
        plan: the run.
        agent_version: of the agent that would run; ``None`` where it is not installed.
    """
    return [_standing(plan, trial, agent_version) for trial in plan.trials]


def _standing(plan: Plan, trial: Trial, agent_version: str | None) -> Standing:
    state = state_of(trial.folder)
    if not isinstance(state, Metrics):
        return Standing(trial, state)
    return Standing(trial, state, fingerprint(plan, trial, agent_version).differences(Fingerprint.of(state)))


def fingerprint(plan: Plan, trial: Trial, agent_version: str | None) -> Fingerprint:
    """Return the fingerprint that the record of a planned trial will have."""
    config = plan.config
    return Fingerprint(
        provider=config.provider,
        model=config.model,
        agent=plan.agent.folder,
        agent_version=agent_version,
        skill=config.skill,
        skill_sha256=sha256_of(plan.skill.text),
        dataset=plan.dataset.dataset.name,
        task_sha256=plan.dataset.task_sha256(trial.task),
        limits=plan.limits,
    )
