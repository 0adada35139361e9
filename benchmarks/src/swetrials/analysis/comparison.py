"""Setting two runs over the same tasks side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from swetrials.analysis.summary import ScoredTrial, SummaryError
from swetrials.records.comparison import ComparedRun, Comparison, Mean, Measure, Unit
from swetrials.records.fingerprint import Fingerprint

Value = Callable[[ScoredTrial], float | None]

_OF_A_TASK = "task_sha256"


def compare(first: Sequence[ScoredTrial], second: Sequence[ScoredTrial], folders: tuple[str, str]) -> Comparison:
    """Compare two runs over the tasks that both have.

    The figures are means over valid trials: a trial that failed for another reason than model or agent says
    nothing about either.

    Args:
        first: the trials of one run.
        second: the trials of the other.
        folders: the names of the two.

    Raises:
        SummaryError: they have no task in common, or a task was worded differently in the two.
    """
    tasks = [{trial.metrics.task for trial in trials} for trials in (first, second)]
    common = tasks[0] & tasks[1]
    if not common:
        raise SummaryError(f"{folders[0]} and {folders[1]} have no task in common; compare runs over one dataset")
    _refuse_rewording(first, second, folders)
    one, other = ([trial for trial in trials if trial.metrics.task in common] for trials in (first, second))
    return Comparison(
        rehearsal=any(trial.metrics.trial.rehearsal for trial in (*one, *other)),
        dataset=one[0].metrics.trial.dataset,
        first=_run(one, folders[0]),
        second=_run(other, folders[1]),
        differs=_differences(one[0], other[0]),
        tasks=tuple(sorted(common)),
        only_first=tuple(sorted(tasks[0] - common)),
        only_second=tuple(sorted(tasks[1] - common)),
        measures=tuple(_measures(_valid(one), _valid(other))),
    )


def _refuse_rewording(first: Sequence[ScoredTrial], second: Sequence[ScoredTrial], folders: tuple[str, str]) -> None:
    wordings = {trial.metrics.task: trial.metrics.trial.task_sha256 for trial in first}
    for trial in second:
        task, sha256 = trial.metrics.task, trial.metrics.trial.task_sha256
        if wordings.get(task, sha256) != sha256:
            raise SummaryError(
                f"task {task} was worded differently in {folders[0]} and {folders[1]} ({_OF_A_TASK}); "
                "run one of them again"
            )


def _differences(one: ScoredTrial, other: ScoredTrial) -> tuple[str, ...]:
    found = Fingerprint.of(one.metrics).differences(Fingerprint.of(other.metrics))
    return tuple(name for name in found if name != _OF_A_TASK)


def _valid(trials: Iterable[ScoredTrial]) -> list[ScoredTrial]:
    return [trial for trial in trials if trial.metrics.outcome.valid]


def _run(trials: Sequence[ScoredTrial], folder: str) -> ComparedRun:
    metrics = trials[0].metrics
    return ComparedRun(
        folder=folder,
        model=metrics.model_slug,
        agent=metrics.agent,
        agent_version=metrics.provenance.agent_version,
        skill=metrics.skill,
        provider=metrics.provider,
        trials=len(trials),
        valid_trials=len(_valid(trials)),
        outcomes=dict(sorted(Counter(str(trial.metrics.outcome.kind) for trial in trials).items())),
    )


def _measures(first: Sequence[ScoredTrial], second: Sequence[ScoredTrial]) -> Iterable[Measure]:
    def line(name: str, unit: Unit, value: Value, is_bound: Callable[[ScoredTrial], bool] = _never) -> Measure:
        means = [_mean(trials, value, is_bound) for trials in (first, second)]
        return Measure(name=name, unit=unit, first=means[0], second=means[1])

    yield line("score", "points", lambda trial: trial.score)
    yield line("tests passed", "share", _tests)
    yield line("cost", "USD", lambda t: t.metrics.cost.amount_usd, lambda t: t.metrics.cost.status == "lower_bound")
    yield line("turns", "turns", lambda trial: trial.metrics.num_turns)
    yield line("tokens", "tokens", lambda trial: trial.metrics.usage.headline.usage.total, _cut)
    yield line("fresh input", "tokens", lambda trial: trial.metrics.usage.headline.usage.fresh_input, _cut)
    yield line("cache read", "tokens", lambda trial: trial.metrics.usage.headline.usage.cache_read, _cut)
    yield line("cache write", "tokens", lambda trial: trial.metrics.usage.headline.usage.cache_write, _cut)
    yield line("output", "tokens", lambda trial: trial.metrics.usage.headline.usage.output, _cut)
    yield line("wall time", "seconds", lambda trial: trial.metrics.time.wall_seconds)
    yield line("API time", "seconds", lambda trial: trial.metrics.time.api_seconds)
    yield line("waiting", "seconds", lambda trial: trial.metrics.time.waiting_seconds)


def _mean(trials: Sequence[ScoredTrial], value: Value, is_bound: Callable[[ScoredTrial], bool]) -> Mean:
    known = [(number, is_bound(trial)) for trial in trials if (number := value(trial)) is not None]
    if not known:
        return Mean()
    mean = sum(number for number, _ in known) / len(known)
    return Mean(value=mean, trials=len(known), lower_bound=any(bound for _, bound in known))


def _never(trial: ScoredTrial) -> bool:
    return False


def _cut(trial: ScoredTrial) -> bool:
    return trial.metrics.usage.headline.completeness == "lower_bound"


def _tests(trial: ScoredTrial) -> float | None:
    tests = trial.evaluation.tests if trial.evaluation else None
    return None if tests is None or tests.passed is None else float(tests.passed)
