"""Setting two runs over the same tasks side by side."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from swetrials.records.comparison import ComparedRun, Comparison, Mean, Measure, Unit
from swetrials.records.fingerprint import Fingerprint
from swetrials.records.lock import RunLock
from swetrials.records.metrics import HostingRecord
from swetrials.results.figures import Figures
from swetrials.results.mixtures import MixtureError, refuse_other_wordings
from swetrials.results.ranking import settled
from swetrials.results.sealing_words import ran_in, sealing_words, telling
from swetrials.results.summary import OF_A_TASK, ScoredTrial, SummaryError
from swetrials.results.task_values import Values, mean
from swetrials.store.files import RecordError, read_record
from swetrials.store.results import LOCK

Material = Callable[[Figures], Values]
"""What a mean is made of."""


def compare(first: Sequence[ScoredTrial], second: Sequence[ScoredTrial], folders: tuple[str, str]) -> Comparison:
    """Compare two runs over the tasks that both have.

    The figures are those of :mod:`swetrials.results.figures`.

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
    _refuse_rewording((first, second), folders)
    one, other = ([trial for trial in trials if trial.metrics.task in common] for trials in (first, second))
    return Comparison(
        rehearsal=any(trial.metrics.trial.rehearsal for trial in (*one, *other)),
        dataset=one[0].metrics.trial.dataset,
        first=_run(one, folders[0]),
        second=_run(other, folders[1]),
        differs=(*_differences(one[0], other[0]), *_surroundings(one, other)),
        tasks=tuple(sorted(common)),
        only_first=tuple(sorted(tasks[0] - common)),
        only_second=tuple(sorted(tasks[1] - common)),
        measures=tuple(_measures(*_ranked_alike(one, other))),
    )


def _refuse_rewording(sides: Sequence[Sequence[ScoredTrial]], folders: tuple[str, str]) -> None:
    rows = [replace(trial.row, folder=name) for name, trials in zip(folders, sides, strict=True) for trial in trials]
    try:
        refuse_other_wordings(rows)
    except MixtureError as error:
        raise SummaryError(str(error)) from None


def _differences(one: ScoredTrial, other: ScoredTrial) -> tuple[str, ...]:
    found = Fingerprint.of(one.metrics).differences(Fingerprint.of(other.metrics))
    hosted, elsewhere = (trial.row.hosted or HostingRecord() for trial in (one, other))
    apart = [name for name in HostingRecord.model_fields if getattr(hosted, name) != getattr(elsewhere, name)]
    return (*(name for name in found if name not in OF_A_TASK), *apart)


def _surroundings(*sides: Sequence[ScoredTrial]) -> Iterator[str]:
    rows = [telling([trial.row for trial in trials]) for trials in sides]
    for name in ("environment", "sealing", "network"):
        one, other = ({getattr(row, name) for row in side} for side in rows)
        if one != other:
            yield name


def _run(trials: Sequence[ScoredTrial], folder: str) -> ComparedRun:
    metrics, figures = trials[0].metrics, _figures(trials)
    return ComparedRun(
        folder=folder,
        model=metrics.model_slug,
        agent=metrics.agent,
        agent_version=metrics.provenance.agent_version,
        skill=metrics.skill,
        provider=metrics.provider,
        trials=figures.trials,
        valid_trials=len(figures.valid),
        outcomes=figures.outcomes,
        ran_in=ran_in(figures.rows),
        sealing=sealing_words(figures.rows),
    )


def _ranked_alike(one: Sequence[ScoredTrial], other: Sequence[ScoredTrial]) -> tuple[Figures, Figures]:
    rows = settled([trial.row for trial in (*one, *other)])
    return Figures(rows[: len(one)]), Figures(rows[len(one) :])


def _figures(trials: Iterable[ScoredTrial]) -> Figures:
    return Figures([trial.row for trial in trials])


def _measures(first: Figures, second: Figures) -> Iterable[Measure]:
    def line(name: str, unit: Unit, values: Material, is_bound: Callable[[Figures], bool] = _never) -> Measure:
        means = [_mean(values(of), bound=is_bound(of)) for of in (first, second)]
        return Measure(name=name, unit=unit, first=means[0], second=means[1])

    def of_completed(name: str) -> Material:
        return lambda of: of.of_completed(name)

    if by_resolved := first.rank_by == second.rank_by == "resolved":
        yield line("resolve rate", "share", lambda of: of.resolve.values)
        yield _per_resolved(first, second)
    if not by_resolved or first.scores or second.scores:
        yield line("score", "points", lambda of: of.scores)
        yield line("score, failures as 0", "points", lambda of: of.scores_failures_as_zero)
    yield line("completed", "share", lambda of: of.completions)
    if not by_resolved:
        yield line("tests passed", "share", lambda of: of.tests)
    yield line("cost", "USD", lambda of: of.ranked_costs, lambda of: of.ranked_costs_are_lower_bound)
    yield line("turns", "turns", of_completed("num_turns"))
    for name, bucket in _TOKENS.items():
        yield line(name, "tokens", of_completed(bucket), lambda of: of.tokens_are_lower_bound)
    yield line("wall time", "seconds", of_completed("latency_seconds"))
    yield line("API time", "seconds", of_completed("api_seconds"))
    yield line("waiting", "seconds", of_completed("waiting_seconds"))


def _per_resolved(*sides: Figures) -> Measure:
    means = []
    for of in (side.resolve for side in sides):
        ratio = of.usd_per_resolved
        # Where none was resolved, one costs more than all that was spent.
        value = of.total_cost_usd if ratio is None else ratio
        bound = of.costs_are_lower_bound or ratio is None
        means.append(Mean() if value is None else Mean(value=value, trials=len(of.counted), lower_bound=bound))
    return Measure(name="cost per resolved task", unit="USD", first=means[0], second=means[1])


_TOKENS = {
    "tokens": "total_tokens",
    "fresh input": "fresh_input_tokens",
    "cache read": "cache_read_tokens",
    "cache write": "cache_write_tokens",
    "output": "output_tokens",
}


def _mean(values: Values, *, bound: bool) -> Mean:
    return Mean(value=mean(values), trials=sum(map(len, values.values())), lower_bound=bound) if values else Mean()


def _never(of: Figures) -> bool:
    return False


def early_look(scope: Path, trials: Sequence[ScoredTrial]) -> str | None:
    """Return how far a run has come, in words, where the record of its last session names trials that are not there.

    ``None``: it is finished, or nobody tells.
    """
    try:
        session = read_record(scope / LOCK, RunLock).sessions[-1]
    except (RecordError, IndexError):
        return None
    repeats = session.config.get("repeats", 1)
    planned = len(session.tasks) * (repeats if isinstance(repeats, int) else 1)
    there = sum(trial.metrics.task in session.tasks for trial in trials)
    return f"{there} of {planned} trials" if there < planned else None
