"""What is on disk of each planned trial, and so what a run has to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from swetrials.records.fingerprint import Fingerprint
from swetrials.records.metrics import Finding, Metrics
from swetrials.store.files import RecordError, sha256_of, write_record
from swetrials.store.results import TrialFolder, state_of
from swetrials.trials.earlier import Earlier
from swetrials.trials.identity import given_sha256
from swetrials.trials.plan import Plan, Trial, prompt_sha256

_COMMIT_LETTERS = 12
_PREPARED_DIFFERENTLY = "prepared_differently"

Commits = Mapping[tuple[str, str], str]
"""What the refs of a run stand for, by the repository's address and the ref; one that cannot be found is not there."""


@dataclass(frozen=True)
class Standing:
    """A planned trial and what is on disk of it already.

    ``differs`` names what makes a record on disk that of another run; it is empty for one of this run. ``commit`` is
    what the trial's ref stands for now. ``prepared_differently``: its commands ran in something else than the dataset
    asks for by now, which makes it no other trial.
    """

    trial: Trial
    state: Metrics | RecordError | None = None
    differs: tuple[str, ...] = ()
    commit: str | None = None
    prepared_differently: bool = False

    @property
    def finished(self) -> bool:
        """Whether its record says something about model or agent, so that running it again would pay twice."""
        return self._says_something and not self.differs

    def stays(self, *, force: bool) -> bool:
        """Whether a run that is resumed leaves it as it is; ``force`` repeats what was prepared differently."""
        return self.finished and not (force and self.prepared_differently)

    @property
    def foreign(self) -> bool:
        """Whether it holds the finished trial of another run, which this one can neither keep nor take away unasked."""
        return self._says_something and bool(self.differs)

    @property
    def earlier(self) -> Earlier:
        """What sessions before this one have left of the trial, if it is to be run now.

        Attempts of the same trial go on being its own, whichever session paid for them. A finished trial that is run
        once more is another trial, and so is one of which something else was asked: what they cost is kept apart. So is
        what can be told of a trial whose record cannot be read.
        """
        if isinstance(self.state, RecordError):
            return Earlier.of_unreadable(self.folder)
        if self.state is None:
            return Earlier()
        if self.differs or self._says_something:
            return Earlier.of_another(self.state)
        beside = self.state.spent_elsewhere_usd, self.state.spent_elsewhere_is_lower_bound
        return Earlier(self.state.attempts, *beside)

    @property
    def _says_something(self) -> bool:
        return isinstance(self.state, Metrics) and self.state.outcome.valid

    @property
    def stale(self) -> bool:
        """Whether its folder holds something that a new trial would have to clear."""
        return self.state is not None

    @property
    def told(self) -> str:
        """The trial, and in which of its facts the record on disk is that of another run."""
        facts = [name for name in self.differs if name != "commit"]
        if "commit" in self.differs and isinstance(self.state, Metrics):
            now = f"{self.trial.task.ref} is {_short(self.commit)} now"
            facts.append(f"commit: it ran at {_short(self.state.provenance.commit)}, {now}")
        return f"{self.trial.label} (another {', '.join(facts)})"

    @property
    def folder(self) -> TrialFolder:
        """The trial's folder."""
        return self.trial.folder


def marked(standing: Standing) -> Metrics | None:
    """Return the record of a trial that stays; it says from now on whether it was prepared differently.

    Raises:
        OSError: the disk is full or not writable.
    """
    metrics = standing.state
    if not isinstance(metrics, Metrics):
        return None
    others = tuple(finding for finding in metrics.findings if finding.code != _PREPARED_DIFFERENTLY)
    if standing.prepared_differently is (len(others) < len(metrics.findings)):
        return metrics
    if standing.prepared_differently:
        message = "its commands ran in another environment than the dataset asks for by now (repeat: --resume --force)"
        finding = Finding(code=_PREPARED_DIFFERENTLY, severity="warning", message=message)
        others = (*others, finding)
    metrics = metrics.model_copy(update={"findings": others})
    write_record(standing.folder.metrics_file, metrics)
    return metrics


def _short(commit: str | None) -> str:
    return (commit or "unknown")[:_COMMIT_LETTERS]


def standings(plan: Plan, agent_version: str | None, commits: Commits) -> list[Standing]:
    """Look up what is on disk for each planned trial. The record decides, not the folder's being there.

    Args:
        plan: the run.
        agent_version: of the agent that would run; ``None`` where it is not installed.
        commits: what the refs stand for.
    """
    return [_standing(plan, trial, agent_version, commits) for trial in plan.trials]


def _standing(plan: Plan, trial: Trial, agent_version: str | None, commits: Commits) -> Standing:
    state = state_of(trial.folder)
    expected = fingerprint(plan, trial, agent_version, commits)
    if not isinstance(state, Metrics):
        return Standing(trial, state, commit=expected.commit)
    ran_in = state.environment
    asked = plan.dataset.dataset.environment_of(trial.task).sha256
    return Standing(
        trial,
        state,
        expected.trial_differences(Fingerprint.of(state)),
        expected.commit,
        prepared_differently=ran_in is not None and ran_in.spec_sha256 != asked,
    )


def fingerprint(plan: Plan, trial: Trial, agent_version: str | None, commits: Commits) -> Fingerprint:
    """Return the fingerprint that the record of a planned trial will have."""
    config, skill, task = plan.config, plan.skill, trial.task
    skill_sha256 = sha256_of(skill.text)
    commit = commits.get((plan.dataset.repo_address(task), task.ref))
    return Fingerprint(
        provider=config.provider,
        model=config.model,
        agent=plan.agent.folder,
        agent_version=agent_version,
        skill=skill.name,
        skill_sha256=skill_sha256,
        dataset=plan.dataset.dataset.name,
        task_sha256=plan.dataset.task_sha256(task),
        limits=plan.limits,
        given_sha256=given_sha256(task, commit, skill_sha256, skill.artifacts, plan.limits) if commit else None,
        prompt_sha256=prompt_sha256(task, skill.artifacts),
        commit=commit,
    )
