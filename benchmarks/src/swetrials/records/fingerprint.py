"""What two records of a task must share, so that one can stand for the other or beside it in one mean."""

from typing import Self

from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics
from swetrials.records.record import Record

_GIVEN = frozenset(
    {"skill_sha256", "repo_instructions", "permission_mode", "allowed_tools", "settings_sha256", "commit"}
)
_OF_ONE_TASK = ("given_sha256", "prompt_sha256", "commit")


class Fingerprint(Record):
    """What was asked, of whom, and within which limits. ``None``: an older or an imported record does not tell.

    ``given_sha256``, ``prompt_sha256`` and ``commit`` are of one task at one moment, and so no facts of a run.
    """

    provider: str
    model: str
    agent: str
    agent_version: str | None
    skill: str
    skill_sha256: str | None
    dataset: str
    task_sha256: str | None
    limits: Limits | None
    origin: str = "run here"
    """Figures that were imported are never beside measured ones in one mean."""
    given_sha256: str | None = None
    prompt_sha256: str | None = None
    commit: str | None = None

    @classmethod
    def of(cls, metrics: Metrics) -> Self:
        """Return the fingerprint of a trial that has run."""
        imported = metrics.imported
        return cls(
            provider=metrics.provider,
            model=metrics.model,
            agent=metrics.agent,
            agent_version=metrics.provenance.agent_version,
            skill=metrics.skill,
            skill_sha256=metrics.provenance.skill_sha256,
            dataset=metrics.trial.dataset,
            task_sha256=metrics.trial.task_sha256,
            limits=metrics.provenance.limits,
            origin=f"imported from {imported.file}" if imported else "run here",
            given_sha256=metrics.trial.given_sha256,
            prompt_sha256=metrics.provenance.prompt_sha256,
            commit=metrics.provenance.commit,
        )

    @property
    def facts(self) -> dict[str, object]:
        """What is told of a run and the wording of a task, by name; each limit by its own."""
        apart = {"limits", *_OF_ONE_TASK}
        told = {name: getattr(self, name) for name in type(self).model_fields if name not in apart}
        limits = dict(self.limits) if self.limits is not None else {}
        return {name: value for name, value in told.items() if value is not None} | limits

    def differences(self, other: Self) -> tuple[str, ...]:
        """Return the names of the facts that differ; what one of the two does not tell is no difference."""
        others = other.facts
        return tuple(name for name, value in self.facts.items() if name in others and others[name] != value)

    def trial_differences(self, other: Self) -> tuple[str, ...]:
        """Return the names of the facts for which one trial cannot stand for the other.

        Two trials that know ``given_sha256`` are compared by it: what scores a trial, which ``task_sha256`` holds as
        well, makes no other trial. A record of before there was one is what its prompt, its skill and its commit say,
        and where its prompt has changed, its ``task_sha256`` as ever.
        """
        found = self.differences(other)
        differs = [name for name in found if name != "task_sha256"]
        if None not in (self.commit, other.commit) and self.commit != other.commit:
            differs.append("commit")
        if self.given_sha256 is not None and other.given_sha256 is not None:
            if self.given_sha256 != other.given_sha256 and not _GIVEN.intersection(differs):
                differs.append("wording of the task")
        elif self.prompt_sha256 is None or self.prompt_sha256 != other.prompt_sha256:
            differs += [name for name in found if name == "task_sha256"]
        return tuple(differs)
