"""A row of a CSV of figures that somebody else published, and what marks a record made of one."""

from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from swetrials.records.cost import SELF_HOSTED
from swetrials.records.evaluation import UNITS, task_score_of
from swetrials.records.record import PathPart, Record, fault_at

Tokens = int | None
Total = int | None

_MOST_TOKENS, _MOST_STARTS, _MOST_SECONDS, _MOST_USD = 10**12, 10**6, 10**8, 10**6
"""Of one trial: what is beyond them is a slip, and would outweigh everything else in a mean."""

TASK_SCORE_ROUNDING = 0.05 + 1e-9
"""Task scores are printed with one decimal at least."""


class Imported(Record):
    """Where a record's figures are from, when this harness did not run the trial."""

    file: str = Field(description="name of the file, or of the tree")
    sha256: str = Field(description="of the file; of a tree, of the trial's own file")
    line: int | None = Field(None, ge=2, description="of the row in a CSV, whose first line is the header")
    place: str | None = Field(
        None, exclude_if=lambda place: place is None, description="of a trial in a tree or a summary: file and field"
    )
    source: str | None = Field(None, description="who published the figures, in the importer's words")
    hosting_instance: str | None = Field(None, description="the machine of a self-hosted model")
    agent_invocations: int | None = Field(None, ge=0, description="how often the agent was started")
    row: dict[str, str] = Field({}, description="of a CSV: every column as printed")
    record: dict[str, JsonValue] | None = Field(
        None, exclude_if=lambda record: record is None, description="of a JSON file: the trial's record as it was"
    )


class PublishedRun(Record):
    """One trial as the CSV prints it, an empty cell as ``None``. The names are the columns."""

    model: str = Field(min_length=1)
    provider: Literal["bedrock", "endpoint"]
    hosting_instance: str | None
    task: PathPart
    complexity: str = Field(min_length=1)
    ref: str
    artifacts_produced: int = Field(ge=0)
    artifacts_expected: int = Field(ge=1)
    num_turns: int | None = Field(ge=0, le=_MOST_STARTS)
    input_tokens: Tokens = Field(ge=0, le=_MOST_TOKENS, description="endpoint: with the cached ones; bedrock: without")
    output_tokens: Tokens = Field(ge=0, le=_MOST_TOKENS)
    total_tokens: Tokens = Field(ge=0, le=_MOST_TOKENS)
    cache_read_tokens: Tokens = Field(ge=0, le=_MOST_TOKENS)
    cache_write_tokens: Tokens = Field(ge=0, le=_MOST_TOKENS)
    latency_seconds: float | None = Field(ge=0, le=_MOST_SECONDS)
    total_cost_usd: float | None = Field(
        ge=0, le=_MOST_USD, description="the sum of the agent's CLI; empty or 0 on an endpoint: unknown"
    )
    task_score: float | None = Field(ge=0, le=100, description="mean of the units; 0 when the trial failed")
    is_error: bool
    failed: bool
    agent_invocations: int | None = Field(ge=0, le=_MOST_STARTS)
    github_issue: Total = Field(ge=0, le=100)
    lld: Total = Field(ge=0, le=100)
    review: Total = Field(ge=0, le=100)
    testing: Total = Field(ge=0, le=100)
    implementation: Total = Field(ge=0, le=100)
    cost_usd: float | None = Field(ge=0, le=_MOST_USD)
    cost_basis: Literal["metered", "hardware_derived"] | None
    agent: PathPart | None = None
    skill: PathPart | None = None
    scope: PathPart | None = None
    source: str | None = None

    @property
    def self_hosted(self) -> bool:
        """Whether the model ran on a rented machine: its cached tokens are then counted as input, too."""
        return self.provider in SELF_HOSTED

    @property
    def units(self) -> dict[str, int] | None:
        """The units' totals by name; ``None``: not scored."""
        totals = {unit: getattr(self, unit) for unit in UNITS}
        return None if None in totals.values() else totals

    @model_validator(mode="after")
    def _scores_agree(self) -> Self:
        told = [name for name in (*UNITS, "task_score") if getattr(self, name) is not None]
        if told and len(told) <= len(UNITS):
            missing = next(name for name in (*UNITS, "task_score") if name not in told)
            raise fault_at(f"empty, although there is a {told[0]}: give all scores or none", missing)
        if self.units is None or self.task_score is None:
            return self
        mean = task_score_of(self.units.values())
        if abs(self.task_score - mean) > TASK_SCORE_ROUNDING:
            raise fault_at(f"{self.task_score:g} is not the mean of the five units, {mean:g}", "task_score")
        return self

    @model_validator(mode="after")
    def _a_cost_has_a_basis(self) -> Self:
        if self.cost_usd is not None and self.cost_basis is None:
            raise fault_at("empty, although there is a cost_usd: metered or hardware_derived", "cost_basis")
        return self
