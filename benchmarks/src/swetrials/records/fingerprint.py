"""What two records of a task must share, so that one can stand for the other or beside it in one mean."""

from typing import Self

from swetrials.records.base import Record
from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics


class Fingerprint(Record):
    """What was asked, of whom, and within which limits. ``None``: an older or an imported record does not tell."""

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
        )

    @property
    def facts(self) -> dict[str, object]:
        """What is told, by name; each limit by its own."""
        told = {name: getattr(self, name) for name in type(self).model_fields if name != "limits"}
        limits = dict(self.limits) if self.limits is not None else {}
        return {name: value for name, value in told.items() if value is not None} | limits

    def differences(self, other: Self) -> tuple[str, ...]:
        """Return the names of the facts that differ; what one of the two does not tell is no difference."""
        others = other.facts
        return tuple(name for name, value in self.facts.items() if name in others and others[name] != value)
