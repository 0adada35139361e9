"""JSON records of another harness of this kind: the parts of them that are read.

Its results are a tree ``<model>/<agent>/<skill>/<scope>/<task>/`` with ``metrics.json`` and ``eval.json`` in each
task's folder, and a ``run-summary.json`` above them (github.com/aarora79/agentic-coding-harness-benchmarks,
summarize_run.py and run-swe-headless.py, August 2026). What differs from records of this project: the counts of
artifacts are numbers, ``serving`` is an object, the scores of ``eval.json`` lie at its top, and nothing names the
trial or the dataset.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from swetrials.records.record import PathPart, none_for_zero

_MOST_TOKENS, _MOST_SECONDS, _MOST_USD = 10**12, 10**8, 10**6
"""Of one trial: what is beyond them is a slip, and would outweigh everything else in a mean."""


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")
    return value


Count = Annotated[int, BeforeValidator(_no_boolean), Field(ge=0, le=_MOST_TOKENS)] | None
Dollars = Annotated[float, BeforeValidator(_no_boolean), Field(ge=0, le=_MOST_USD)] | None
Seconds = Annotated[float, BeforeValidator(_no_boolean), Field(ge=0, le=_MOST_SECONDS)] | None
Score = Annotated[float, BeforeValidator(_no_boolean), Field(ge=0, le=100)] | None
Criterion = Annotated[int, BeforeValidator(_no_boolean), Field(ge=0, le=25)] | None
Size = Annotated[Annotated[int, BeforeValidator(_no_boolean), Field(ge=1)] | None, BeforeValidator(none_for_zero)]
Text = str | None


class PublishedPart(BaseModel):
    """A part of a foreign record: what else there is in it is passed over, and kept as it was elsewhere."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=(), allow_inf_nan=False)


class PublishedServing(PublishedPart):
    """Of ``serving``: how the model was hosted."""

    instance_type: Text = None
    tensor_parallel_size: Size = None
    precision: Text = None
    context_window: Size = None


class PublishedTokens(PublishedPart):
    """Tokens, money and time, as they stand at the top of a record, in a summary's row and in a block of their own."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_tokens: Count = None
    cache_write_tokens: Count = None
    cache_creation_tokens: Count = None
    total_tokens: Count = None
    total_cost_usd: Dollars = None
    latency_seconds: Seconds = None
    num_turns: Count = None


class PublishedBlock(PublishedTokens):
    """Of ``metrics``, formerly ``metrics_that_matter``: the same figures, each with its source."""

    sources: Mapping[str, str] = {}


class PublishedUnit(PublishedPart):
    """One unit that the judge scored."""

    completeness: Criterion = None
    correctness: Criterion = None
    specificity: Criterion = None
    risk_awareness: Criterion = None
    total: Annotated[int, BeforeValidator(_no_boolean), Field(ge=0, le=100)] | None = None
    notes: Text = None

    @model_validator(mode="after")
    def _has_a_score(self) -> Self:
        if self.total is None and None in self.criteria.values():
            raise ValueError("neither a total nor all four criteria")
        return self

    @property
    def criteria(self) -> dict[str, int | None]:
        """The four criteria by name."""
        return {
            "completeness": self.completeness,
            "correctness": self.correctness,
            "specificity": self.specificity,
            "risk_awareness": self.risk_awareness,
        }


class PublishedJudgeTokens(PublishedPart):
    """Of ``judge.token_usage``: codex's convention, the whole prompt with its cached parts inside."""

    input_tokens: Count = None
    cached_input_tokens: Count = None
    cache_write_input_tokens: Count = None
    output_tokens: Count = None
    reasoning_output_tokens: Count = None


class PublishedJudge(PublishedPart):
    """Of ``judge``: who scored."""

    model: Text = None
    provider: Text = None
    repo_grounded: bool | None = None
    evaluated_at: Text = None
    repo_ref: Text = None
    reasoning_effort: Text = None
    token_usage: PublishedJudgeTokens | None = None
    duration_ms: Annotated[float, BeforeValidator(_no_boolean), Field(ge=0)] | None = None


class PublishedEvaluation(PublishedPart):
    """``eval.json``, and the block ``evaluation`` of ``metrics.json``, which is a copy of it."""

    scores: dict[str, PublishedUnit] | None = None
    task_score: Score = None
    verdict: Text = None
    judge: PublishedJudge | None = None


class PublishedIdentity(PublishedPart):
    """What ran, as a trial's record and a run's summary tell it."""

    model: str = Field(min_length=1)
    agent: PathPart | None = None
    skill: PathPart | None = None
    scope: PathPart | None = None
    provider: str = Field("unknown", min_length=1)
    ref: Text = None
    serving: PublishedServing | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_told(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("provider") is None:
            return {name: value for name, value in data.items() if name != "provider"}
        return data


class PublishedOutcome(PublishedTokens):
    """What a trial's record and a summary's row have in common."""

    task: PathPart
    complexity: Text = None
    artifacts_produced: Count = None
    artifacts_expected: Count = None
    is_error: bool | None = None
    result_subtype: Text = None
    agent_invocations: Count = None
    token_accounting_repair: object = None


class PublishedMetrics(PublishedIdentity, PublishedOutcome):
    """``metrics.json`` of a trial."""

    repo: Text = None
    tags: tuple[str, ...] | None = None
    endpoint: Text = None
    aws_region: Text = None
    metrics: PublishedBlock | None = None
    metrics_that_matter: PublishedBlock | None = None
    evaluation: PublishedEvaluation | None = None
    token_accounting_warning: object = None
    run_started_at: Text = None
    run_ended_at: Text = None
    session_id: Text = None

    @property
    def block(self) -> PublishedBlock:
        """The block of figures with their sources, under either of its names."""
        return self.metrics or self.metrics_that_matter or PublishedBlock()


class PublishedRow(PublishedOutcome):
    """One of ``tasks`` of a ``run-summary.json``."""

    ref: Text = None
    task_score: Score = None
    eval_scores: dict[str, PublishedUnit] | None = None
    failed: bool | None = None


class PublishedSummary(PublishedIdentity):
    """``run-summary.json`` of a run."""

    judge: PublishedJudge | None = None
    tasks: tuple[PublishedRow, ...]


class PublishedNeed(PublishedPart):
    """What judgments of one task come to, in judged inputs."""

    floor: Score = None
    tier: Text = None
    base_floor: Count = None
    adjustment: Count = None
    attempts: Count = None
    floors_seen: tuple[float, ...] = ()
    tiers_seen: dict[str, int] = {}


class PublishedJudging(PublishedPart):
    """Of ``judged_by``."""

    harness: Text = None
    model: Text = None
    provider: Text = None
    skill: Text = None
    dataset: Text = None
    repeats: Count = None
    started_at: Text = None
    finished_at: Text = None
    judging_cost_usd: Dollars = None
    runs_ok: Count = None
    runs_failed: Count = None


class PublishedJudgedInputs(PublishedPart):
    """Judged inputs, whose tasks are an object by their ids."""

    judged_by: PublishedJudging
    tasks: dict[str, PublishedNeed]


def tree_of(path: PurePath, data: object) -> PurePath:
    """Return the top of the tree that a foreign record lies in: above the folder that is named like its model."""
    slug = data.get("model_slug") if isinstance(data, dict) else None
    above = next((folder.parent for folder in path.parents if folder.name == slug), None)
    return above or path.parent


ForeignKind = Literal["metrics", "evaluation", "summary", "judged inputs"]


def kind_of(data: object) -> ForeignKind | None:
    """Return which record of the other harness this is, by its shape; ``None``: none of them."""
    if not isinstance(data, dict) or "schema_version" in data:
        return None
    if isinstance(data.get("judged_by"), dict) and isinstance(data.get("tasks"), dict):
        return "judged inputs"
    if isinstance(data.get("tasks"), list) and "model" in data:
        return "summary"
    if "task" not in data or "trial" in data or "trial_id" in data:
        return None
    if "artifacts_produced" in data or "metrics_that_matter" in data or isinstance(data.get("serving"), dict):
        return "metrics"
    return "evaluation" if "scores" in data or "task_score" in data else None
