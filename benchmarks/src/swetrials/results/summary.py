"""What the trials of one run come to: means with both denominators, failures by kind, totals."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from swetrials.errors import KnownError
from swetrials.records.cost import Cost
from swetrials.records.dataset import RankBy
from swetrials.records.evaluation import Evaluation, RubricEvaluation
from swetrials.records.fingerprint import Fingerprint
from swetrials.records.known import known_sum
from swetrials.records.metrics import Metrics
from swetrials.records.summary import RunSummary, ScoreMean, SummaryTask
from swetrials.records.usage import UsageReport
from swetrials.results.evaluation_parts import EvaluationPart
from swetrials.results.figures import Figures
from swetrials.results.mixtures import MixtureError, mixed, refuse_other_wordings
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.results_tree import chosen_judge, row_of
from swetrials.results.sealing_words import sealing_words
from swetrials.results.trial_reading import MetricsPart, TrialReading
from swetrials.results.trial_row import TrialRow
from swetrials.store.clock import utc_now
from swetrials.store.results import none_in, trial_folders


class SummaryError(KnownError):
    """The trials cannot be summarised together, or there are none; the message says which differ in what."""


@dataclass(frozen=True)
class ScoredTrial:
    """A trial's record, its scores, and its folder relative to the summary."""

    folder: str
    metrics: Metrics
    evaluation: Evaluation | None
    judge: str | None = None
    """Whose scores are asked for, by full name; ``None``: the headline's."""

    rank_by: RankBy | None = None
    """What is asked for to rank by; ``None``: what the trial's own record says."""

    @cached_property
    def reading(self) -> TrialReading:
        """The same as all other figures read it."""
        scores = self.evaluation
        return TrialReading(
            self.folder,
            MetricsPart.model_validate(self.metrics, from_attributes=True),
            EvaluationPart.model_validate(scores, from_attributes=True) if scores else None,
            self.judge,
            self.rank_by,
        )

    @cached_property
    def row(self) -> TrialRow:
        """What the figures are made of."""
        return row_of(self.reading)

    @property
    def rubric(self) -> RubricEvaluation | None:
        """The word of the judge whose scores are taken."""
        if self.evaluation is None:
            return None
        judgment = self.evaluation.judgments.get(self.judge or self.evaluation.headline or "")
        return judgment.rubric if judgment else None

    @property
    def score(self) -> float | None:
        """That judge's task score, when there is one, whatever became of the trial."""
        return self.row.judged_score


def read_trials(scope: Path, judge: str | None = None, rank_by: RankBy | None = None) -> list[ScoredTrial]:
    """Read every trial of a scope folder, the trials of which lie right in it.

    Args:
        scope: the folder.
        judge: take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's.
        rank_by: rank by this, whatever the trials' datasets rank by.

    Raises:
        SummaryError: there is no trial, or the folder is not a run's.
        ResultsTreeError: no judge, or several, are of that name.
        RecordError: a record cannot be read.
    """
    trials = []
    for folder in trial_folders(scope):
        metrics = folder.metrics()
        name, scores = str(folder.path.relative_to(scope)), folder.evaluation(metrics)
        trials.append(ScoredTrial(name, metrics, scores, rank_by=rank_by))
    if not trials:
        raise SummaryError(f"{none_in(scope)}; run one with: swetrials run")
    runs = dict.fromkeys(str((scope / trial.folder).parent) for trial in trials)
    if list(runs) != [str(scope)]:
        raise SummaryError(f"{scope} is not the folder of a run; give one of: {', '.join(runs)}")
    if judge is None:
        return trials
    names = {name for trial in trials if trial.evaluation for name in trial.reading.judges}
    chosen = chosen_judge(judge, names, str(scope))
    return [replace(trial, judge=chosen) for trial in trials]


def summarize(trials: Sequence[ScoredTrial]) -> RunSummary:
    """Add up the trials of one run.

    Raises:
        SummaryError: the trials are of different runs, datasets or wordings of a task.
    """
    _refuse_mixtures(trials)
    # numpy takes its time to load, and a run needs it for nothing but the intervals at its end.
    from swetrials.results.resampling import mean_over_tasks, mean_with_zeros, total_over_tasks
    from swetrials.results.resolve_standing import resolve_standing

    rows = settled([trial.row for trial in trials])
    first, of = trials[0].metrics, Figures(rows)
    score = mean_over_tasks(of.scores, low=0, high=100)
    cost = total_over_tasks(of.known_costs)
    return RunSummary(
        generated_at=utc_now(),
        dataset=first.trial.dataset,
        scope=first.trial.scope,
        model=first.model,
        model_slug=first.model_slug,
        agent=first.agent,
        skill=first.skill,
        provider=first.provider,
        rehearsal=first.trial.rehearsal,
        num_tasks=of.trials,
        num_scored=of.judged,
        num_failed=of.trials - len(of.completed),
        failed_tasks=tuple(t.folder for t in trials if not t.row.completed),
        mean_task_score_excl_failed=score.value,
        mean_cost_usd_excl_failed=cost.value,
        score_estimate=score,
        cost_usd_estimate=cost,
        mean_cost_is_lower_bound=of.cost_is_lower_bound,
        score_failures_as_zero_estimate=mean_with_zeros(
            of.scores_failures_as_zero, of.scored_of_valid, of.scores, most=100
        ),
        valid_trials=_valid_mean(of),
        all_trials=ScoreMean(mean_task_score=of.mean_score_all_trials, num_scored=of.scored, num_trials=of.trials),
        outcomes=of.outcomes,
        infrastructure_failures=of.infrastructure_failures,
        rank_by=rank_by_of(rows),
        resolve=resolve_standing(of),
        tests_passed=of.tests_passed,
        tests_run=of.tests_run,
        tests_passed_share=of.tests_passed_share,
        mixed=tuple(mixed(of.rows)),
        sealing=dict(Counter(row.sealing or "unknown" for row in of.rows)),
        ran_in=sealing_words(of.rows),
        usage=UsageReport.sum(trial.metrics.usage.headline for trial in trials),
        cost=Cost.sum(trial.metrics.cost for trial in trials),
        spent_elsewhere_usd=known_sum(trial.metrics.spent_elsewhere_usd for trial in trials),
        spent_elsewhere_is_lower_bound=any(trial.metrics.spent_elsewhere_is_lower_bound for trial in trials),
        latency_seconds=None if of.total_latency_seconds is None else round(of.total_latency_seconds, 3),
        tasks=tuple(_row(t) for t in trials),
    )


def _valid_mean(of: Figures) -> ScoreMean:
    scored = of.scored + of.failed if of.scores_failures_as_zero else 0
    return ScoreMean(mean_task_score=of.mean_score_failures_as_zero, num_scored=scored, num_trials=len(of.valid))


def _refuse_mixtures(trials: Sequence[ScoredTrial]) -> None:
    found: dict[str, dict[str, str]] = {}
    for trial in trials:
        for name, value in Fingerprint.of(trial.metrics).facts.items():
            if name not in OF_A_TASK:
                found.setdefault(name, {}).setdefault(f"{value!r}", trial.folder)
    differing = [
        f"in {name}: {', '.join(f'{value} in {folder}' for value, folder in values.items())}"
        for name, values in found.items()
        if len(values) > 1
    ]
    if differing:
        raise SummaryError(f"these trials differ {'; '.join(differing)}. Summarise each run's own folder")
    try:
        refuse_other_wordings([trial.row for trial in trials])
    except MixtureError as error:
        raise SummaryError(str(error)) from None


OF_A_TASK = {"task_sha256", "given_sha256", "commit"}
"""Facts that differ from task to task."""


def _row(trial: ScoredTrial) -> SummaryTask:
    metrics, evaluation, rubric = trial.metrics, trial.evaluation, trial.rubric
    tests = evaluation.tests if evaluation else None
    return SummaryTask(
        task=metrics.task,
        repeat=metrics.trial.repeat,
        folder=trial.folder,
        complexity=metrics.complexity,
        outcome=metrics.outcome.kind,
        blame=metrics.outcome.blame,
        valid=metrics.outcome.valid,
        artifacts_produced=len(metrics.artifacts_produced),
        artifacts_expected=len(metrics.artifacts_expected),
        num_turns=metrics.num_turns,
        usage=metrics.usage.headline,
        cost=metrics.cost,
        latency_seconds=metrics.latency_seconds,
        tests_passed=tests.passed if tests else None,
        tests_fraction=tests.fraction if tests else None,
        tests_report=trial.row.tests_report,
        resolved=trial.row.resolved,
        doubtful=trial.row.doubtful,
        void_reason=trial.row.void_reason,
        task_score=rubric.task_score if rubric else None,
        score_status=rubric.status if rubric else "not_judged",
        score_reason=rubric.reason if rubric else "",
        repo_grounded=rubric.judge.grounding.repo_grounded if rubric and rubric.judge else None,
        sealing=trial.row.sealing,
        findings=(
            *(f"{f.severity}: {f.message}" for f in metrics.findings),
            *(f"tests: {f.line}" for f in (tests.findings if tests else ())),
        ),
    )
