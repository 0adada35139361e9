"""Intervals of means over tasks: the tasks are drawn again, each with all its repeats.

The tasks are the sample: another benchmark of the same kind would have other tasks. The repeats of one task are not
independent of each other, so they never count as more tasks; their noise is in the spread of the tasks' means.

From 8 tasks on, the interval is the studentised bootstrap (bootstrap-t: B. Efron and R. J. Tibshirani, An
Introduction to the Bootstrap, 1993, section 12.5). Of the usual methods it alone holds its 95 % at 21 tasks, for
scores, for their differences and for skewed costs; ``docs/statistics.md`` has the comparison. With fewer tasks it
grows without bound, and Student's t takes its place.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from swetrials.records.leaderboard import LEVEL, Estimate
from swetrials.results.rates import wilson
from swetrials.results.task_values import Values, mean, means_by_task

Floats = NDArray[np.float64]

SEED: Final = 20_260_921
RESAMPLES: Final = 4_000
DOMINANT: Final = 0.25
"""Of a total, the share of one task above which the interval of it is told to be too short."""

BOOTSTRAP_TASKS: Final = 8
"""The fewest tasks that are resampled for an interval."""

_ROUNDING = 1e-9
"""Part of the spread of the data below which a resample's spread is rounding, not spread."""


@lru_cache(maxsize=64)
def task_counts(tasks: int) -> Floats:
    """Return how often each resample (row) draws each task (column); the same at every call."""
    counts = np.random.default_rng(SEED).multinomial(tasks, np.full(tasks, 1 / tasks), size=RESAMPLES)
    counts.flags.writeable = False
    return counts.astype(np.float64)


def task_means(values: Values) -> Floats:
    """Return the mean of each task's repeats, in the order of the tasks' names."""
    return np.array(list(means_by_task(values).values()))


def mean_over_tasks(values: Values, low: float = -math.inf, high: float = math.inf) -> Estimate:
    """Return the mean of the tasks' means with its interval.

    Args:
        values: the figures; nothing at all gives an unknown estimate.
        low: the least that the figure can be, where it has a least.
        high: the most.
    """
    if not values:
        return Estimate()
    means = task_means(values)
    interval = mean_interval(means)
    return Estimate(
        value=math.fsum(means) / len(means),
        low=None if interval is None else max(low, interval[0]),
        high=None if interval is None else min(high, interval[1]),
        tasks=len(values),
        trials=sum(map(len, values.values())),
    )


def total_over_tasks(values: Values) -> Estimate:
    """Return the mean of what adds up, such as dollars, and how much of it is one task's where that is a lot."""
    estimate = mean_over_tasks(values, low=0)
    return estimate.model_copy(update={"largest_share": dominant_share(task_means(values))}) if values else estimate


def dominant_share(parts: Floats) -> float | None:
    """Return what the largest part is of the sum, where it is over a quarter and over its even part; else ``None``.

    With so much on one task every usual interval is too short: a 95 % one of a cost then holds 84 to 90 %.
    """
    whole = abs(math.fsum(parts))
    if len(parts) < 2 or not whole:
        return None
    share = float(np.max(np.abs(parts))) / whole
    even = 1 / len(parts)
    return share if share > max(DOMINANT, even + _ROUNDING) else None


def mean_with_zeros(values: Values, shares: Values, scores: Values, most: float) -> Estimate:
    """Return the mean of figures that are 0 for some trials, with an interval that knows how rare these are.

    A sample of few tasks cannot show a rare failure, so drawing it again is no help: the interval joins Wilson's of the
    share that is not 0 with that of the mean of the rest, by MOVER: with p the share, mu the mean and l their lower
    ends, L = value - hypot(mu (p - l_p), p (mu - l_mu)), and U alike. Source: G. Y. Zou and A. Donner, Construction of
    confidence limits about effect measures, Statistics in Medicine 27 (2008), for a product of two that are estimated
    apart.

    Args:
        values: the figures, zeros among them.
        shares: of the same trials, 1 for each that has a figure of its own and 0 for the others.
        scores: the figures without the zeros.
        most: the most that a figure can be.
    """
    if not values:
        return Estimate()
    value, share, rest = mean(values) or 0.0, share_over_tasks(shares), mean_over_tasks(scores, low=0, high=most)
    bounds = _joined(value, share, rest, most)
    return Estimate(
        value=value,
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
        tasks=len(values),
        trials=sum(map(len, values.values())),
    )


def _joined(value: float, share: Estimate, rest: Estimate, most: float) -> tuple[float, float] | None:
    p, p_low, p_high = share.value, share.low, share.high
    if p is None or p_low is None or p_high is None or share.tasks < 2:
        return None
    if rest.value is None:  # all of them 0: nothing is known of what the others would be
        return 0.0, min(most, p_high * most)
    if rest.low is None or rest.high is None:
        return None
    low = value - math.hypot(rest.value * (p - p_low), p * (rest.value - rest.low))
    high = value + math.hypot(rest.value * (p_high - p), p * (rest.high - rest.value))
    return max(0.0, low), min(most, high)


def mean_interval(sample: Floats) -> tuple[float, float] | None:
    """Return the interval of the mean of a sample; ``None`` for fewer than two values."""
    size = len(sample)
    if size < 2:
        return None
    mean = float(np.mean(sample))
    centred = sample - mean
    error = float(np.std(sample, ddof=1)) / math.sqrt(size)
    below, above = _pivots(centred) if size >= BOOTSTRAP_TASKS else (-_student(size), _student(size))
    return mean - above * error, mean - below * error


def share_over_tasks(values: Values) -> Estimate:
    """Return a mean of shares (each value 0 to 1) with Wilson's interval, which is not empty at 0 or 1 either.

    The tasks are the trials of the formula, however often each was repeated; where repeats of a task differ, that makes
    the interval longer than it has to be, which :func:`~swetrials.results.rates.rate_over_tasks` mends for rates.
    """
    if not values:
        return Estimate()
    means = task_means(values)
    size, share = len(means), math.fsum(means) / len(means)
    low, high = wilson(share, size)
    return Estimate(
        value=share,
        low=low,
        high=high,
        tasks=size,
        trials=sum(map(len, values.values())),
    )


def _student(size: int) -> float:
    from scipy.special import stdtrit  # takes as long to import as numpy, and most samples never need it

    return float(stdtrit(size - 1, (1 + LEVEL) / 2))


def _pivots(centred: Floats) -> tuple[float, float]:
    """Return the quantiles of (resampled mean - mean) / (standard error of the resampled mean)."""
    size = len(centred)
    moments = task_counts(size) @ np.column_stack((centred, centred**2)) / size
    return pivot_quantiles(moments[:, 0], moments[:, 1] - moments[:, 0] ** 2, float(np.mean(centred**2)), size)


def pivot_quantiles(errors: Floats, variances: Floats, variance: float, size: int) -> tuple[float, float]:
    """Return the two quantiles that a studentised interval is made of.

    Args:
        errors: of each resample, its estimate less that of the sample.
        variances: of each resample, the mean square deviation of its values.
        variance: that of the sample.
        size: values in the sample.

    A resample without any spread has no standard error and lies infinitely far out. Where such resamples reach
    into the quantiles, almost all values are equal, and Student's quantiles take their place.
    """
    spread = variances > _ROUNDING * variance
    pivots = np.where(errors > 0, np.inf, np.where(errors < 0, -np.inf, 0.0))
    pivots[spread] = errors[spread] / np.sqrt(variances[spread] / (size - 1))
    below, above = np.quantile(pivots, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), method="nearest")
    if not (math.isfinite(below) and math.isfinite(above)):
        return -_student(size), _student(size)
    return float(below), float(above)
