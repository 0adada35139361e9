"""What the trials of one run come to: means with both denominators, failures by kind, totals."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from swetrials.records.cost import Cost
from swetrials.records.errors import KnownError
from swetrials.records.evaluation import Evaluation
from swetrials.records.fingerprint import Fingerprint
from swetrials.records.leaderboard import Estimate
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary, ScoreMean, SummaryTask
from swetrials.records.usage import UsageReport
from swetrials.store.results import trial_folders


class SummaryError(KnownError):
    """The trials cannot be summarised together, or there are none; the message says which differ in what."""


@dataclass(frozen=True)
class ScoredTrial:
    """A trial's record, its scores, and its folder relative to the summary."""

    folder: str
    metrics: Metrics
    evaluation: Evaluation | None

    @property
    def score(self) -> float | None:
        """The rubric's task score, when there is one."""
        rubric = self.evaluation.rubric if self.evaluation else None
        return rubric.task_score if rubric else None


def read_trials(scope: Path) -> list[ScoredTrial]:
    """Read every trial of a scope folder, the trials of which lie right in it.

    Raises:
        SummaryError: there is no trial, or the folder is not a run's.
        RecordError: a record cannot be read.
    """
    trials = []
    for folder in trial_folders(scope):
        metrics = folder.metrics()
        trials.append(ScoredTrial(str(folder.path.relative_to(scope)), metrics, folder.evaluation(metrics)))
    if not trials:
        raise SummaryError(f"{scope}: no trial with a metrics.json here; run one with: swetrials run")
    runs = dict.fromkeys(str((scope / trial.folder).parent) for trial in trials)
    if list(runs) != [str(scope)]:
        raise SummaryError(f"{scope} is not the folder of a run; give one of: {', '.join(runs)}")
    return trials


def summarize(trials: Sequence[ScoredTrial]) -> RunSummary:
    """Add up the trials of one run.

    Raises:
        SummaryError: the trials are of different runs, datasets or wordings of a task.
    """
    _refuse_mixtures(trials)
    first = trials[0].metrics
    completed = [t for t in trials if t.metrics.outcome.kind is OutcomeKind.COMPLETED]
    failed = [t for t in trials if t not in completed]
    score = _over_tasks(completed, lambda trial: trial.score, most=100)
    priced = all(t.metrics.total_cost_usd is not None for t in completed)
    cost = _over_tasks(completed if priced else [], lambda trial: trial.metrics.total_cost_usd)
    latencies = [t.metrics.latency_seconds for t in trials if t.metrics.latency_seconds is not None]
    tests = [t.evaluation.tests for t in trials if t.evaluation and t.evaluation.tests]
    return RunSummary(
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        dataset=first.trial.dataset,
        scope=first.trial.scope,
        model=first.model,
        model_slug=first.model_slug,
        agent=first.agent,
        skill=first.skill,
        provider=first.provider,
        rehearsal=first.trial.rehearsal,
        num_tasks=len(trials),
        num_scored=sum(t.score is not None for t in trials),
        num_failed=len(failed),
        failed_tasks=tuple(t.folder for t in failed),
        mean_task_score_excl_failed=score.value,
        mean_cost_usd_excl_failed=cost.value,
        score_estimate=score,
        cost_usd_estimate=cost,
        valid_trials=_valid_mean(trials),
        all_trials=ScoreMean(
            mean_task_score=_mean([t.score or 0.0 for t in trials])
            if any(t.score is not None for t in trials)
            else None,
            num_scored=sum(t.score is not None for t in trials),
            num_trials=len(trials),
        ),
        outcomes=_counted(t.metrics.outcome.kind for t in trials),
        infrastructure_failures=_counted(t.metrics.outcome.kind for t in trials if not t.metrics.outcome.valid),
        tests_passed=sum(t.passed is True for t in tests),
        tests_run=sum(t.passed is not None for t in tests),
        usage=_usage(trials),
        cost=_cost(trials),
        latency_seconds=round(sum(latencies), 3) if latencies else None,
        tasks=tuple(_row(t) for t in trials),
    )


def _refuse_mixtures(trials: Sequence[ScoredTrial]) -> None:
    found: dict[str, dict[str, str]] = {}
    for trial in trials:
        for name, value in Fingerprint.of(trial.metrics).facts.items():
            if name != "task_sha256":
                found.setdefault(name, {}).setdefault(f"{value!r}", trial.folder)
    mixed = [
        f"in {name}: {', '.join(f'{value} in {folder}' for value, folder in values.items())}"
        for name, values in found.items()
        if len(values) > 1
    ]
    if mixed:
        raise SummaryError(f"these trials differ {'; '.join(mixed)}. Summarise each run's own folder")
    _refuse_other_wordings(trials)


def _refuse_other_wordings(trials: Sequence[ScoredTrial]) -> None:
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for trial in trials:
        task, commit = trial.metrics.task, trial.metrics.provenance.commit
        for what, value in (("task_sha256", trial.metrics.trial.task_sha256), ("commit", commit)):
            if value is None:
                continue
            first, folder = known.setdefault((task, what), (value, trial.folder))
            if value != first:
                raise SummaryError(
                    f"task {task} was another one in {folder} and {trial.folder} ({what}); move the older one away"
                )


def _valid_mean(trials: Sequence[ScoredTrial]) -> ScoreMean:
    valid = [t for t in trials if t.metrics.outcome.valid]
    scores = [t.score for t in valid if t.score is not None]
    return ScoreMean(mean_task_score=_mean(scores), num_scored=len(scores), num_trials=len(valid))


def _over_tasks(
    trials: Sequence[ScoredTrial], figure: Callable[[ScoredTrial], float | None], most: float = math.inf
) -> Estimate:
    # numpy takes its time to load, and a run needs it for nothing but these two figures at its end.
    from swetrials.analysis.resampling import mean_over_tasks

    values: defaultdict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if (value := figure(trial)) is not None:
            values[trial.metrics.task].append(value)
    return mean_over_tasks(values, low=0, high=most)


def _usage(trials: Sequence[ScoredTrial]) -> UsageReport:
    total = trials[0].metrics.usage.headline
    for trial in trials[1:]:
        total += trial.metrics.usage.headline
    return total


def _cost(trials: Sequence[ScoredTrial]) -> Cost:
    total = trials[0].metrics.cost
    for trial in trials[1:]:
        total += trial.metrics.cost
    return total


def _row(trial: ScoredTrial) -> SummaryTask:
    metrics, evaluation = trial.metrics, trial.evaluation
    rubric = evaluation.rubric if evaluation else None
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
        task_score=rubric.task_score if rubric else None,
        score_status=rubric.status if rubric else "not_judged",
        score_reason=rubric.reason if rubric else "",
        repo_grounded=rubric.judge.grounding.repo_grounded if rubric and rubric.judge else None,
        findings=tuple(f"{f.severity}: {f.message}" for f in metrics.findings),
    )


def _counted(kinds: Iterable[OutcomeKind]) -> dict[str, int]:
    return dict(sorted(Counter(str(kind) for kind in kinds).items()))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
