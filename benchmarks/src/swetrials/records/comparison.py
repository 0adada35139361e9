"""Two runs side by side: what may be claimed, what differs, and on how many trials each figure stands."""

from typing import Literal

from pydantic import Field

from swetrials.records.claim import Claim
from swetrials.records.record import SCHEMA_VERSION, Record

Unit = Literal["points", "share", "USD", "turns", "tokens", "seconds"]


class Mean(Record):
    """A mean over tasks; ``None`` when no trial has the figure, or a cost is not known of all."""

    value: float | None = None
    trials: int = Field(0, description="trials that the mean stands on")
    lower_bound: bool = Field(False, description="part of it is known to be at least so much")


class Measure(Record):
    """One line: the same figure of both runs."""

    name: str
    unit: Unit
    first: Mean
    second: Mean

    @property
    def difference(self) -> float | None:
        """Second less first; ``None`` when one of the two is unknown or a lower bound."""
        if self.first.value is None or self.second.value is None or self.first.lower_bound or self.second.lower_bound:
            return None
        return self.second.value - self.first.value


class ComparedRun(Record):
    """One of the two runs."""

    folder: str
    model: str
    agent: str
    agent_version: str | None
    skill: str
    provider: str
    trials: int = Field(description="of the tasks that both runs have")
    valid_trials: int = Field(description="of these, those that say something about model or agent")
    outcomes: dict[str, int]
    ran_in: str = Field("", description="environment and sealing, in words")
    sealing: str = Field("", description="the same, with why what is not sealed is not")


class Comparison(Record):
    """What two runs over the same tasks come to."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    rehearsal: bool
    dataset: str
    first: ComparedRun
    second: ComparedRun
    differs: tuple[str, ...] = Field(
        description="what was asked or allowed differently: agent, model, a limit, environment, sealing, network"
    )
    tasks: tuple[str, ...] = Field(description="that both runs have; the others are in no figure")
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = Field((), description="how far a run has come that is not finished: 12 of 21 trials")
    claim: Claim | None = Field(None, description="what may be said of score and cost, with intervals")
    measures: tuple[Measure, ...]
