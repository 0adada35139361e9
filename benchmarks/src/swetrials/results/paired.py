"""Two candidates over the tasks that both did: difference, ratio, and what chance alone would do."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from swetrials.records.leaderboard import LEVEL, Estimate, PairedDifference
from swetrials.results.candidates import CandidateTrials
from swetrials.results.rates import rate_difference
from swetrials.results.resampling import (
    BOOTSTRAP_TASKS,
    SEED,
    Floats,
    dominant_share,
    mean_interval,
    pivot_quantiles,
    task_counts,
    task_means,
)
from swetrials.results.task_values import Values

EXACT_TASKS: Final = 30
"""Up to so many tasks, all patterns of signs are counted; above, so many are drawn:"""
SIGN_PATTERNS: Final = 19_999

FEWEST_TASKS: Final = 1 - math.floor(math.log2(1 - LEVEL))
"""Of fewer no difference, however large, has a p small enough for a claim: of n tasks the smallest is 2 / 2^n."""

_EQUAL = 1e-9  # points or dollars: a smaller difference of means is rounding


def paired(a: CandidateTrials, b: CandidateTrials) -> PairedDifference:
    """Compare two candidates; the adjusted p and the verdict are for who knows the other pairs."""
    differences = task_differences(a.ranked, b.ranked)
    known = len(differences) > 1
    return PairedDifference(
        a=a.candidate.key,
        b=b.candidate.key,
        difference=_difference(a, b),
        difference_failures_as_zero=_failures_as_zero(a, b),
        completion_difference=_untested(a.completions, b.completions),
        completion_p=_p_of(a.completions, b.completions),
        p=sign_flip_p(differences) if known else None,
        probability_a_better=_probability_positive(differences) if known else None,
    )


def _difference(a: CandidateTrials, b: CandidateTrials) -> Estimate:
    if a.rank_by == "resolved":
        return rate_difference(a.resolve.values, b.resolve.values).in_percent
    return mean_difference(a.ranked, b.ranked)


def _failures_as_zero(a: CandidateTrials, b: CandidateTrials) -> Estimate:
    """Return the difference of scores in which failures count 0; in a resolve rate they are, always."""
    if a.rank_by == "resolved":
        return Estimate()
    return _untested(a.scores_failures_as_zero, b.scores_failures_as_zero)


def _untested(a: Values, b: Values) -> Estimate:
    """Return a difference without an interval: where failures are rare, none of the usual ones holds what it says."""
    return mean_difference(a, b).model_copy(update={"low": None, "high": None})


def _p_of(a: Values, b: Values) -> float | None:
    """Return the sign-flip p of a difference; of completions without repeats it is McNemar's exact test."""
    differences = task_differences(a, b)
    return sign_flip_p(differences) if len(differences) > 1 else None


def task_differences(a: Values, b: Values) -> Floats:
    """Return the differences of the means of each task that both have, in the order of the tasks' names."""
    shared = a.keys() & b.keys()
    return task_means(_only(a, shared)) - task_means(_only(b, shared))


def mean_difference(a: Values, b: Values) -> Estimate:
    """Return the mean difference over the tasks that both have, with its interval."""
    differences = task_differences(a, b)
    if not len(differences):
        return Estimate()
    low, high = mean_interval(differences) or (None, None)
    return Estimate(
        value=math.fsum(differences) / len(differences),
        low=low,
        high=high,
        tasks=len(differences),
        trials=_trials(a, b),
    )


def ratio_of_means(a: Values, b: Values) -> Estimate:
    """Return the mean of ``a`` over that of ``b`` on the tasks that both have, with its interval.

    The interval is the studentised bootstrap of the logarithm, the standard error of which is that of the mean of
    ``a_i / mean(a) - b_i / mean(b)`` (the delta method); below 8 tasks, Student's t of the same. Unknown unless
    both means are positive.
    """
    shared = a.keys() & b.keys()
    ones, others = task_means(_only(a, shared)), task_means(_only(b, shared))
    size = len(ones)
    if not size or min(ones.mean(), others.mean()) <= 0:
        return Estimate(tasks=size, trials=_trials(a, b))
    ratio = float(ones.mean() / others.mean())
    largest = max((share for part in (ones, others) if (share := dominant_share(part)) is not None), default=None)
    low: float | None = None
    high: float | None = None
    if size >= BOOTSTRAP_TASKS:
        low, high = _ratio_interval(ones / ones.mean(), others / others.mean())
    elif size > 1:
        interval = mean_interval(ones / ones.mean() - others / others.mean())
        low, high = interval if interval else (None, None)
    return Estimate(
        value=ratio,
        low=None if low is None else ratio * math.exp(low),
        high=None if high is None else ratio * math.exp(high),
        tasks=size,
        trials=_trials(a, b),
        largest_share=largest,
    )


def sign_flip_p(differences: Floats) -> float:
    """Return how likely a mean at least this far from 0 is when who is who is a coin's choice in every task.

    A two-sided permutation test of paired samples (R. A. Fisher, The Design of Experiments, 1935, section 21). Exact
    up to 30 tasks; above, over patterns of signs drawn at random, the observed one among them (B. Phipson and G. K.
    Smyth, Permutation p-values should never be zero, 2010).

    Raises:
        ValueError: there is no difference.
    """
    if not len(differences):
        raise ValueError("no difference to test")
    observed = abs(float(differences.sum())) - _EQUAL * max(1.0, float(np.abs(differences).sum()))
    if observed <= 0:
        return 1.0
    if len(differences) <= EXACT_TASKS:
        return _exact_p(differences, observed)
    sums = np.abs(_signs(len(differences)) @ differences)
    return float((np.count_nonzero(sums >= observed) + 1) / (SIGN_PATTERNS + 1))


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for being one of several, in the order given.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda one: ps[one])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted


def _exact_p(differences: Floats, observed: float) -> float:
    # Every sum of all signs is one of the first half's sums plus one of the second half's: two short lists instead
    # of one of a billion. The distribution is symmetric, so one tail is counted twice.
    half = len(differences) // 2
    first, second = _signed_sums(differences[:half]), np.sort(_signed_sums(differences[half:]))
    above = len(second) - np.searchsorted(second, observed - first, side="left")
    return min(1.0, 2 * float(above.sum()) / 2.0 ** len(differences))


def _signed_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


@lru_cache(maxsize=8)
def _signs(tasks: int) -> Floats:
    return np.random.default_rng(SEED).choice(np.array([-1.0, 1.0]), size=(SIGN_PATTERNS, tasks))


def _probability_positive(differences: Floats) -> float:
    means = task_counts(len(differences)) @ differences / len(differences)
    return float((np.count_nonzero(means > _EQUAL) + np.count_nonzero(means >= -_EQUAL)) / (2 * len(means)))


def _ratio_interval(ones: Floats, others: Floats) -> tuple[float, float]:
    """Return the interval of the logarithm of a ratio less the logarithm itself, from values with the mean 1."""
    size = len(ones)
    counts = task_counts(size)
    one, other = (counts @ ones) / size, (counts @ others) / size
    squares = (counts @ np.column_stack((ones**2, ones * others, others**2))) / size
    variance = float(np.mean((ones - others) ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of tasks that cost nothing has no ratio
        variances = squares[:, 0] / one**2 - 2 * squares[:, 1] / (one * other) + squares[:, 2] / other**2
        errors = np.log(one / other)
    below, above = pivot_quantiles(errors, variances, variance, size)
    error = math.sqrt(variance / (size - 1))
    return -above * error, -below * error


def _only(values: Values, tasks: set[str]) -> dict[str, Sequence[float]]:
    return {task: values[task] for task in tasks}


def _trials(*several: Mapping[str, Sequence[float]]) -> int:
    shared = set.intersection(*(set(values) for values in several))
    return sum(len(values[task]) for values in several for task in shared)
