"""The interval of a share of totals, such as what is spent of what would have been spent, over tasks."""

import math

import numpy as np

from swetrials.results.resampling import BOOTSTRAP_TASKS, Floats, mean_interval, pivot_quantiles, task_counts


def ratio_interval(parts: Floats, wholes: Floats) -> tuple[float, float] | None:
    """Return the interval of sum(parts) / sum(wholes); ``None`` for fewer than two tasks.

    The studentised bootstrap, as for means (see :mod:`swetrials.results.resampling`), with the standard error of a
    ratio estimate (W. G. Cochran, Sampling Techniques, 1977, section 6.3). With few tasks, Student's t over the
    linearised values.

    Args:
        parts: the numerator of each task.
        wholes: the denominator of each task, in the same order; their sum is above 0.
    """
    size = len(parts)
    ratio = math.fsum(parts) / math.fsum(wholes)
    residuals = (parts - ratio * wholes) / float(np.mean(wholes))
    if size < BOOTSTRAP_TASKS:
        return mean_interval(ratio + residuals)
    variance = float(np.mean(residuals**2))
    if variance == 0:
        return ratio, ratio
    moments = task_counts(size) @ np.column_stack((wholes, parts, wholes**2, wholes * parts, parts**2)) / size
    mean_whole, mean_part, whole_squares, products, part_squares = moments.T
    drawn = mean_whole > 0
    ratios = np.divide(mean_part, mean_whole, out=np.full_like(mean_part, ratio), where=drawn)
    squares = part_squares - 2 * ratios * products + ratios**2 * whole_squares
    variances = np.divide(squares, mean_whole**2, out=np.zeros_like(squares), where=drawn)
    below, above = pivot_quantiles(ratios - ratio, variances, variance, size)
    error = math.sqrt(variance / (size - 1))
    return ratio - above * error, ratio - below * error
