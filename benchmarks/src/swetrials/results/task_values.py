"""Figures by task, each task with its repeats, and means of them in which every task has one weight."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from swetrials.results.trial_row import TrialRow

Figure = Callable[[TrialRow], float | None]
"""Returns a figure of a trial; ``None``: it is not known."""

Values = Mapping[str, Sequence[float]]
"""The figures of each task, one for each repeat that counts; every task has at least one."""


def by_task(rows: Iterable[TrialRow], figure: Figure) -> dict[str, list[float]]:
    """Return the figures of each task that are known; a task without any is not there."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        value = figure(row)
        if value is not None:
            found[row.task].append(value)
    return dict(found)


def of_all(rows: Sequence[TrialRow], figure: Figure) -> dict[str, list[float]]:
    """Return the figures of each task; nothing when one of the trials has none, since the rest is other work."""
    return {} if any(figure(row) is None for row in rows) else by_task(rows, figure)


def means_by_task(values: Values) -> dict[str, float]:
    """Return the mean of each task's repeats, in the order of the tasks' names."""
    return {task: fsum(values[task]) / len(values[task]) for task in sorted(values)}


def mean(values: Values) -> float | None:
    """Return the mean over tasks of each task's mean; ``None``: there is nothing."""
    return fsum(means_by_task(values).values()) / len(values) if values else None
