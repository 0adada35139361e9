"""What a router has to be told of each task, as an agent judged it: every judgment, and what they come to."""

from typing import Literal, Self

from pydantic import Field, model_validator

from swetrials.records.cost import Cost
from swetrials.records.dataset import Complexity
from swetrials.records.outcome import Outcome
from swetrials.records.published_run import Imported
from swetrials.records.record import SCHEMA_VERSION, Record, fault_at
from swetrials.records.usage import UsageReport

BASE_FLOORS = (55, 65, 70, 75)
"""By the consequence of being wrong: throwaway; internal tool, test fixture or docs; production; auth, payments, data
deletion or security."""

ADJUSTMENTS = (0, 5)
"""5 when the task turns on one specific thing."""

LOWEST_FLOOR, HIGHEST_FLOOR = 55, 80


class RouterInputs(Record):
    """What one judgment says that a task needs. A floor is a score, 0 to 100, that a model has to reach."""

    base_floor: Literal[55, 65, 70, 75]
    adjustment: Literal[0, 5]
    floor: int = Field(ge=LOWEST_FLOOR, le=HIGHEST_FLOOR)
    tier: Complexity
    consequence: str = Field(min_length=1, description="what happens when the change is wrong")
    reason: str = Field(min_length=1, description="why this base floor, adjustment and tier")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.floor != self.base_floor + self.adjustment:
            raise fault_at(f"{self.floor} is not base_floor {self.base_floor} + adjustment {self.adjustment}", "floor")
        return self


class InputJudgment(Record):
    """One reading of one task by the agent, whatever came of it."""

    task: str
    repeat: int = Field(ge=1)
    inputs: RouterInputs | None = Field(None, description="None: the judgment failed and counts for nothing")
    failure: str = Field("", description="why there are no inputs; empty when there are")
    outcome: Outcome = Field(description="how the agent ended; a completed one may have answered with nonsense")
    agent_version: str | None = None
    models_served: tuple[str, ...] = Field((), description="as the endpoint calls what answered")
    commit: str | None = Field(None, description="what was looked at; None: there was no checkout")
    prompt_sha256: str = Field(description="of what the agent was told of the task, with the places left open")
    started_at: str
    seconds: float | None = Field(None, ge=0, description="wall time of the agent; None: it was never started")
    num_turns: int | None = None
    usage: UsageReport = UsageReport()
    cost: Cost = Cost()
    stream_log: str = Field("", description="what the agent said; relative to the results tree")

    @model_validator(mode="after")
    def _counts_or_says_why_not(self) -> Self:
        if (self.inputs is None) != bool(self.failure):
            raise fault_at("a judgment has either inputs or the reason of its failure", "failure")
        return self

    @property
    def settled(self) -> bool:
        """Whether judging again would only ask the same twice: it counts, or it failed through model or agent."""
        return self.outcome.valid


class TaskInputs(Record):
    """What the judgments of one task come to. Without one that counts, floor and tier are ``None``."""

    task: str
    floor: float | None = Field(None, ge=LOWEST_FLOOR, le=HIGHEST_FLOOR, description="median; of two, their mean")
    tier: Complexity | None = Field(None, description="the most frequent; of several, the hardest")
    base_floor: int | None = Field(None, description="None where the median lies between two floors")
    adjustment: int | None = Field(None, description="None where the median lies between two floors")
    floors_seen: tuple[int, ...] = Field((), description="ascending")
    tiers_seen: dict[Complexity, int] = Field({}, description="how often each was judged")
    spread: int | None = Field(None, ge=0, description="highest floor less lowest")
    failed: int = Field(0, ge=0, description="judgments that count for nothing")


class JudgedInputs(Record):
    """All judgments by one agent and model over one dataset."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    dataset: str = Field(description="its name")
    rehearsal: bool = Field(description="scripted model: says nothing of the tasks")
    agent: str
    model: str
    provider: str
    aws_region: str | None = None
    skill: str
    skill_sha256: str | None = Field(
        None, description="of its first step, which is all that the agent was given; None: imported, and not told"
    )
    allowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = Field(None, description="None: imported, and not told; likewise below")
    sandbox: str | None = None
    harness_version: str | None = None
    repeats: int | None = Field(None, ge=1, description="judgments asked for of each task")
    started_at: str | None = None
    ended_at: str | None = Field(None, description="None: not all that was asked for has been judged")
    seconds: float | None = Field(None, ge=0, description="wall time of all judgments added up")
    usage: UsageReport = UsageReport()
    cost: Cost = Field(Cost(), description="of all judgments, the failed ones as well")
    imported: Imported | None = Field(
        None, exclude_if=lambda block: block is None, description="judgments of somebody else: where they are from"
    )
    judged: int = Field(0, ge=0, description="judgments made")
    failed: int = Field(0, ge=0, description="of these, those that count for nothing")
    tasks: tuple[TaskInputs, ...] = ()
    judgments: tuple[InputJudgment, ...] = Field(
        (), description="in the order of their ends; one whose failure was not the model's is made again"
    )
