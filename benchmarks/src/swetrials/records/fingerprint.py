"""What two records of a task must share, so that one can stand for the other or beside it in one mean."""

from typing import Self

from swetrials.records.base import Record
from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics


class Fingerprint(Record):
    """What was asked, of whom, and within which limits. ``None``: an older record does not tell."""

    provider: str
    model: str
    agent: str
    agent_version: str | None
    skill: str
    skill_sha256: str
    dataset: str
    task_sha256: str
    limits: Limits | None

    @classmethod
    def of(cls, metrics: Metrics) -> Self:
        """Return the fingerprint of a trial that has run."""
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
        )

    def differences(self, other: Self) -> tuple[str, ...]:
        """Return the names of what differs, single limits by their own; what one of the two does not tell is equal."""
        mine, others = _flat(self), _flat(other)
        return tuple(name for name, value in mine.items() if name in others and others[name] != value)


def _flat(fingerprint: Fingerprint) -> dict[str, object]:
    told = {name: getattr(fingerprint, name) for name in Fingerprint.model_fields if name != "limits"}
    limits = dict(fingerprint.limits) if fingerprint.limits is not None else {}
    return {name: value for name, value in told.items() if value is not None} | limits
