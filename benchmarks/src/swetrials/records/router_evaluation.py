"""Whether taking the router's advice pays: what its picks really scored and cost, against one model on everything."""

from typing import Literal

from pydantic import Field

from swetrials.records.dataset import Complexity, RankBy
from swetrials.records.leaderboard import Estimate
from swetrials.records.record import SCHEMA_VERSION, Record

RouterStatus = Literal["ok", "nothing_clears_floor", "no_candidates"]
FloorPolicy = Literal["judged", "fixed"]
PolicyName = Literal[
    "baseline",
    "router",
    "router_in_sample",
    "cheapest",
    "best_single_model",
    "single_model",
    "single_model_as_good",
    "random_at_router_mix",
    "oracle",
]


class EvaluationConfig(Record):
    """What was asked for; paths as they were given."""

    data: str
    harness: str = Field(description="the agent whose trials are looked up")
    skill: str
    scope: str
    dataset: str | None = Field(None, description="the file that tasks and tiers are from; None: the trials' own")
    judged_inputs: str | None = None
    floors: tuple[float, ...] = Field((), description="one run each, in place of judged floors; empty: the judged ones")
    holdout: bool = Field(description="each task is routed by means that its own trials are not in")
    allow_list: Literal["own", "given", "none"] = Field(
        description="own: the skill's; none: every measured model is allowed"
    )
    allowed_file: str | None = Field(None, description="where one was given")
    available: tuple[str, ...] | None = Field(None, description="None: every model is available")
    baseline: str
    baseline_chosen: Literal["given", "highest_mean_score"]
    rank_by: RankBy = Field(
        "rubric",
        exclude_if=lambda ranked: ranked == "rubric",
        description="what every score here is: of a rubric; or in percent how many trials resolved their task",
    )
    rank_by_given: bool = Field(False, exclude_if=lambda given: not given, description="else what the trials say")
    tie_band: float
    tie_band_given: bool = Field(description="else the rule's own")
    seed: int
    resamples: int


class EvaluationProvenance(Record):
    """What the figures were made of. There is no date: equal inputs make equal files."""

    harness_version: str
    trials: int
    models: tuple[str, ...] = Field(description="that were measured, by name")
    sources: tuple[str, ...] = Field(description="where imported figures are from; empty: measured by this harness")
    rehearsal: bool = Field(description="scripted model: figures of the harness, nothing about any model")
    trials_sha256: str = Field(description="of the figures of all trials that were looked at")
    route_sha256: str = Field(description="of the rule: route.py")
    judged_inputs_sha256: str | None = None
    dataset_sha256: str | None = None


class EvaluatedTask(Record):
    """One task: what the router said, and what came of it.

    A figure of a task is the mean over its repeats. Scores leave failed repeats out, costs have them in: the money
    was spent. A task all of whose repeats failed has no score, and has not met its floor.
    """

    task: str
    complexity: Complexity = Field(description="the tier it was routed by")
    floor: float
    baseline_model: str
    baseline_score: float | None
    baseline_cost_usd: float | None
    baseline_failed: bool | None = Field(description="None: not measured on this task")
    router_status: RouterStatus
    recommended_model: str | None = Field(description="None: the router named none, and the baseline was kept")
    predicted_score: float | None = Field(description="what the router expected of the model that was used")
    actual_score: float | None
    actual_cost_usd: float | None
    actual_failed: bool | None = Field(description="None: the model that was used was not measured on this task")
    switched: bool = Field(description="another model than the baseline was used")
    score_delta: float | None = Field(description="points above the baseline; None unless both have a score")
    cost_delta_usd: float | None
    cost_saving_pct: float | None = Field(description="of the baseline's cost of this task")
    met_floor: bool | None = Field(description="None: neither scored nor failed")
    cost_basis: str | None
    dataset_complexity: Complexity
    tier_matches_dataset: bool

    used_model: str = Field(description="what the router recommended, else the baseline")
    tied_with: tuple[str, ...] = Field(description="dearer models whose expected score is within the tie band")
    baseline_met_floor: bool | None
    cost_is_lower_bound: bool = Field(description="the cost of either arm is known to be at least so much")
    oracle_model: str = Field(description="the cheapest that really reached the floor; where none did, the baseline")
    oracle_score: float | None
    oracle_cost_usd: float | None
    in_sample_model: str | None = Field(None, description="used had the task's own trials counted; None: they did")


class EvaluationTotals(Record):
    """What the tasks of one run come to. Percentages and points; a saving is positive."""

    tasks: int
    tasks_switched: int
    tasks_scored_both_arms: int = Field(description="the mean scores are over these")
    baseline_model: str
    baseline_total_cost_usd: float | None = Field(description="over the tasks whose cost is known in both arms")
    routed_total_cost_usd: float | None
    cost_saving_usd: float | None
    cost_saving_pct: float | None = Field(description="of the totals")
    baseline_mean_score: float | None
    routed_mean_score: float | None
    mean_score_delta: float | None
    tasks_below_floor_routed: int = Field(description="failed ones among them")
    tasks_below_floor_baseline: int
    tasks_failed_routed: int
    tasks_failed_baseline: int
    models_used: tuple[str, ...] = Field(description="the most used first")
    model_counts: dict[str, int]
    quality_delta_pct: float | None = Field(description="the change of the mean score, of the baseline's")
    mean_per_task_saving_pct: float | None = Field(description="mean of each task's percentage")

    tasks_costed_both_arms: int
    tasks_kept_on_baseline: dict[RouterStatus, int] = Field(description="where the router named no model, by why")
    cost_saving_pct_estimate: Estimate = Field(description="with its interval over tasks, picks as they are")
    mean_score_delta_estimate: Estimate
    baseline_mean_score_failures_as_zero: float | None
    routed_mean_score_failures_as_zero: float | None
    cost_is_lower_bound: bool


class PolicyTotals(Record):
    """One way to choose models, over the same tasks and against the same baseline. One line of the table."""

    policy: PolicyName
    model: str | None = Field(description="where it is one model on everything")
    hindsight: bool = Field(description="chosen by the very results that it is looked up in: nobody could have")
    total_cost_usd: float | None
    cost_saving_pct: Estimate
    mean_score: float | None = Field(description="over the tasks scored in this arm and by the baseline")
    mean_score_delta: Estimate
    tasks_scored_both_arms: float = Field(description="of a random policy: expected, as the two below")
    tasks_below_floor: float
    tasks_failed: float
    model_counts: dict[str, float]


class Regret(Record):
    """What the router lost against the oracle: the cheapest model that really reached each task's floor."""

    cost_usd: float | None = Field(description="paid beyond what the oracle pays; less than 0: it paid less")
    mean_score: float | None = Field(description="points below the oracle's mean; less than 0: above it")
    tasks_missed: int = Field(description="below the floor, though some model reached it")
    tasks_beyond_all: int = Field(description="whose floor no model reached")
    tasks_right: int = Field(description="the oracle's very pick")


class ChanceTest(Record):
    """Whether it matters which task gets which model: the router's own picks dealt out to the tasks at random."""

    deals: int
    share_as_good: float = Field(description="of the deals, those with at least the router's mean score")
    share_as_cheap: float = Field(description="of the deals, those that cost no more than the router")


class UnreachableFloor(Record):
    """A need that no model is expected to meet, told before anything is routed."""

    complexity: Complexity
    floor: float
    tasks: tuple[str, ...]
    status: RouterStatus
    nearest_model: str | None
    nearest_score: float | None


class EvaluationRun(Record):
    """All tasks under one floor policy."""

    floor_policy: FloorPolicy
    floor: float | None = Field(description="None: each task has its own")
    holdout: bool
    unreachable: tuple[UnreachableFloor, ...]
    rows: tuple[EvaluatedTask, ...]
    totals: EvaluationTotals
    in_sample_totals: EvaluationTotals | None = Field(None, description="None: the totals are in sample themselves")
    policies: tuple[PolicyTotals, ...]
    fixed_models: tuple[PolicyTotals, ...] = Field(description="each measured model on everything, the cheapest first")
    regret: Regret
    chance: ChanceTest | None = Field(description="None: one model was used for everything, or a figure is missing")


class CurvePoint(Record):
    """One floor for all tasks, and what following the router comes to."""

    floor: float
    holdout: bool
    total_cost_usd: float | None
    cost_saving_pct: float | None
    mean_score: float | None
    mean_score_delta: float | None
    tasks_below_floor: int
    tasks_failed: int
    tasks_kept_on_baseline: int


class JudgingCost(Record):
    """What it took to find out what each task needs."""

    judgments: int
    cost_usd: float | None = Field(description="None: unknown")
    cost_is_lower_bound: bool
    net_saving_usd: float | None = Field(description="what is saved less this")
    net_saving_pct: float | None


class RouterEvaluation(Record):
    """The whole evaluation, as ``--out-json`` writes it."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    config: EvaluationConfig
    provenance: EvaluationProvenance
    runs: tuple[EvaluationRun, ...]
    curve: tuple[CurvePoint, ...]
    judging: JudgingCost | None = Field(None, description="None: no judgments, or a file that tells no cost")
    tasks_left_out: dict[str, str] = Field({}, description="tasks that are in no figure, each with its reason")
    caveats: tuple[str, ...] = ()
