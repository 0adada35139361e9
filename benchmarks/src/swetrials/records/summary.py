"""``run-summary.json``: the trials of one run, and what they come to."""

from typing import Literal

from pydantic import Field

from swetrials.records.cost import Cost
from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import Estimate, ResolveStanding
from swetrials.records.record import SCHEMA_VERSION, Record
from swetrials.records.usage import UsageReport


class SummaryTask(Record):
    """One trial's row."""

    task: str
    repeat: int
    folder: str = Field(description="relative to the summary")
    complexity: str
    outcome: str
    blame: str | None
    valid: bool
    artifacts_produced: int
    artifacts_expected: int
    num_turns: int | None
    usage: UsageReport
    cost: Cost
    latency_seconds: float | None
    tests_passed: bool | None
    tests_fraction: float | None
    tests_report: str | None = Field(None, description="how tests told it; exit-code, null: exit codes only")
    resolved: bool | None = Field(None, description="of each test; of exit-code: tests_passed; null: no verdict")
    doubtful: bool = Field(
        False, exclude_if=lambda doubtful: not doubtful, description="the patch could have forged the verdict"
    )
    void_reason: str = Field(
        "", exclude_if=lambda reason: not reason, description="why the verification says nothing of the patch"
    )
    task_score: float | None
    score_status: Literal["scored", "unscored", "not_judged"]
    score_reason: str = ""
    repo_grounded: bool | None = None
    sealing: str | None = Field(None, description="proven, declared, open; null: the record does not tell")
    findings: tuple[str, ...] = ()


class ScoreMean(Record):
    """A mean score with the trials it stands on."""

    mean_task_score: float | None
    num_scored: int
    num_trials: int


class RunSummary(Record):
    """All trials of one model x agent x skill over one dataset."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    generated_at: str
    dataset: str
    scope: str
    model: str
    model_slug: str
    agent: str
    skill: str
    provider: str
    rehearsal: bool
    num_tasks: int = Field(description="trials in this run")
    num_scored: int = Field(description="trials that a judge gave points to, failed ones too")
    num_failed: int = Field(description="trials that did not complete, whatever the reason")
    failed_tasks: tuple[str, ...]
    mean_task_score_excl_failed: float | None = Field(description="over completed trials; each task has one weight")
    mean_cost_usd_excl_failed: float | None = Field(description="likewise; None when one of them has no price")
    score_estimate: Estimate = Field(Estimate(), description="the same mean score, with its interval")
    cost_usd_estimate: Estimate = Field(Estimate(), description="the same mean cost, with its interval")
    mean_cost_is_lower_bound: bool = Field(False, description="the mean cost is at least so much")
    score_failures_as_zero_estimate: Estimate = Field(
        Estimate(), description="over valid trials, one that failed counts 0; each task has one weight"
    )
    valid_trials: ScoreMean = Field(description="the same mean score; num_scored counts those with a score or failed")
    all_trials: ScoreMean = Field(description="every trial, one without a score or failed counts 0; likewise")
    outcomes: dict[str, int] = Field(description="trials by outcome kind")
    infrastructure_failures: dict[str, int] = Field(description="invalid trials by outcome kind")
    rank_by: RankBy = Field("rubric", description="what its dataset ranks by, or was asked for; mixed tells of several")
    resolve: ResolveStanding | None = Field(
        None, exclude_if=lambda resolve: resolve is None, description="absent: no trial has a verdict of the tests"
    )
    tests_passed: int = Field(description="valid trials whose tests passed")
    tests_run: int = Field(description="valid trials on whose patch the tests gave a verdict")
    tests_passed_share: float | None = Field(None, description="of these; each task has one weight")
    mixed: tuple[str, ...] = Field((), description="what the figures are over several of: judges, commits of a task")
    sealing: dict[str, int] = Field({}, description="trials by the state of their sealing; unknown: not told")
    ran_in: str = Field("", description="environment and sealing of the trials that count, in words")
    usage: UsageReport
    cost: Cost
    spent_elsewhere_usd: float | None = Field(
        None, exclude_if=lambda usd: usd is None, description="what other trials in these folders cost; no part of cost"
    )
    spent_elsewhere_is_lower_bound: bool = Field(
        False,
        exclude_if=lambda bound: not bound,
        description="more was spent on them, and nobody knows how much; absent: spent_elsewhere_usd is all",
    )
    latency_seconds: float | None
    tasks: tuple[SummaryTask, ...]
