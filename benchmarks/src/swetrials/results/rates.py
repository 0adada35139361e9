"""Intervals of rates, whose trials are 1 or 0, and of the difference of two rates over the same tasks.

The tasks are the sample. Repeats of a task make its own rate steadier, and how much they add to what the tasks tell
depends on how alike they are: that is measured, by how the tasks' rates vary.
"""

from collections.abc import Sequence
from math import fsum, hypot, sqrt
from statistics import NormalDist, variance

from swetrials.records.leaderboard import LEVEL, Estimate
from swetrials.results.task_values import Values, means_by_task

_Z = NormalDist().inv_cdf((1 + LEVEL) / 2)

Interval = tuple[float, float]
"""The lower end and the upper one."""


def rate_over_tasks(values: Values) -> Estimate:
    """Return the mean of the tasks' rates with Wilson's interval at the effective number of tasks.

    Args:
        values: of each task, 1 or 0 for each repeat; nothing at all gives an unknown estimate.
    """
    if not values:
        return Estimate()
    rates = list(means_by_task(values).values())
    rate = fsum(rates) / len(rates)
    low, high = wilson(rate, effective_tasks(values))
    return Estimate(value=rate, low=low, high=high, tasks=len(rates), trials=sum(map(len, values.values())))


def wilson(share: float, size: float) -> Interval:
    """Return the 95 % interval of a share, which is not empty at 0 or 1 either.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).

    Args:
        share: 0 to 1.
        size: how many independent trials it is the share of; it need not be whole.
    """
    z = _Z
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def effective_tasks(values: Values) -> float:
    """Return of how many tasks, each run once, the rate would be as sure as it is.

    It is p (1 - p) over the variance of the mean of the tasks' rates, the effective size of a sample in clusters, made
    smaller by (z / t)^2, as the variance of few tasks is itself uncertain. Source: E. L. Korn and B. I. Graubard,
    Confidence intervals for proportions with small expected number of positive counts estimated from survey data,
    Survey Methodology 24 (1998); with Wilson's interval in C. Franco and others, Comparative study of confidence
    intervals for proportions in complex sample surveys, Journal of Survey Statistics and Methodology 7 (2019).

    Never fewer than the tasks, and never more than if repeats were as good as tasks. Where all trials ended alike,
    which says nothing of how tasks vary, it is the tasks.
    """
    rates = list(means_by_task(values).values())
    tasks, rate = len(rates), fsum(rates) / len(rates)
    most = tasks * repeats(values)
    if tasks < 2 or rate in {0.0, 1.0} or most <= tasks:
        return tasks
    from scipy.special import stdtrit  # takes long to import, and only repeats need it

    squares = variance(rates) / tasks
    size = most if squares * most <= rate * (1 - rate) else rate * (1 - rate) / squares
    return max(tasks, size * (_Z / float(stdtrit(tasks - 1, (1 + LEVEL) / 2))) ** 2)


def repeats(values: Values) -> float:
    """Return how often a task was run, as the harmonic mean over tasks: what counts for the noise of their mean."""
    return len(values) / fsum(1 / len(of_task) for of_task in values.values())


def rate_difference(a: Values, b: Values) -> Estimate:
    """Return by how much the first rate is above the second over the tasks that both have, with Newcombe's interval.

    It joins the two Wilson intervals by the correlation of the tasks' rates. Source: R. G. Newcombe, Improved
    confidence intervals for the difference between binomial proportions based on paired data, Statistics in Medicine 17
    (1998), method 10. Without repeats the correlation is his phi, with his correction for continuity; with repeats, the
    step that it corrects for is as much smaller.
    """
    shared = sorted(a.keys() & b.keys())
    if not shared:
        return Estimate()
    a, b = ({task: values[task] for task in shared} for values in (a, b))
    of_a, of_b = (list(means_by_task(values).values()) for values in (a, b))
    rate_a, rate_b = fsum(of_a) / len(shared), fsum(of_b) / len(shared)
    trials = sum(len(values[task]) for values in (a, b) for task in shared)
    estimate = Estimate(value=rate_a - rate_b, tasks=len(shared), trials=trials)
    if len(shared) < 2:
        return estimate
    interval_a, interval_b = wilson(rate_a, effective_tasks(a)), wilson(rate_b, effective_tasks(b))
    correlation = _correlation(of_a, of_b, step=1 / (repeats(a) * repeats(b)))
    low, high = _joined(rate_a, interval_a, rate_b, interval_b, correlation)
    return estimate.model_copy(update={"low": low, "high": high})


def _joined(one: float, of_one: Interval, other: float, of_other: Interval, correlation: float) -> Interval:
    below, above = one - of_one[0], of_one[1] - one
    lower, upper = other - of_other[0], of_other[1] - other
    difference = one - other
    return difference - _side(below, upper, correlation), difference + _side(above, lower, correlation)


def _side(one: float, other: float, correlation: float) -> float:
    return sqrt(max(0.0, hypot(one, other) ** 2 - 2 * correlation * one * other))


def _correlation(ones: Sequence[float], others: Sequence[float], *, step: float) -> float:
    """Return the correlation of the tasks' rates, the products of which are in steps; half a step makes it smaller."""
    size = len(ones)
    one, other = fsum(ones) / size, fsum(others) / size
    together = fsum((x - one) * (y - other) for x, y in zip(ones, others, strict=True)) / size
    spreads = [fsum((x - mean) ** 2 for x in of) / size for of, mean in ((ones, one), (others, other))]
    if not spreads[0] or not spreads[1]:
        return 0.0
    corrected = max(0.0, together - step / (2 * size)) if together > 0 else together
    return corrected / sqrt(spreads[0] * spreads[1])
