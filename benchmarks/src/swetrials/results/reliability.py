"""What repeats of a task say of how dependable a candidate is."""

from collections.abc import Callable, Mapping, Sequence
from math import comb, sqrt

from swetrials.records.leaderboard import PassK, Reliability
from swetrials.results.resampling import share_over_tasks


def pass_k(trials: int, passed: int, k: int) -> float:
    """Return an unbiased estimate of the probability that ``k`` trials of a task all pass.

    It is the share of all choices of ``k`` of the trials in which each one passed. Source: S. Yao and others, tau-bench
    (2024), section 2, after the estimator of pass@k in M. Chen and others, Evaluating large language models trained
    on code (2021).

    Raises:
        ValueError: there are fewer than ``k`` trials.
    """
    if trials < k:
        raise ValueError(f"{k} of {trials} trials cannot be chosen")
    return comb(passed, k) / comb(trials, k)


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Return an unbiased estimate of the probability that one of ``k`` trials of a task passes, at least.

    It is the share of all choices of ``k`` of the trials in which one passed. Source: M. Chen and others, Evaluating
    large language models trained on code (2021), section 2.1.

    Raises:
        ValueError: there are fewer than ``k`` trials.
    """
    return 1.0 - pass_k(trials, trials - passed, k)


def flip_rate(trials: int, passed: int) -> float:
    """Return an unbiased estimate of the probability that two trials of a task end differently.

    It is the share of all pairs of trials of which one passed and one did not.

    Raises:
        ValueError: there are fewer than two trials.
    """
    if trials < 2:
        raise ValueError("it takes two trials to differ")
    return passed * (trials - passed) / comb(trials, 2)


def reliability(passes: Mapping[str, Sequence[float]]) -> Reliability | None:
    """Return what the repeats say, or ``None`` when no task has any.

    Args:
        passes: of each task, 1 for each trial that passed and 0 for each that did not.
    """
    repeated = {task: (len(values), round(sum(values))) for task, values in passes.items() if len(values) > 1}
    if not repeated:
        return None
    fewest = min(trials for trials, _ in repeated.values())
    return Reliability(
        tasks=len(repeated),
        repeats=fewest,
        pass_k=_by_k(repeated, fewest, pass_k),
        pass_at_k=_by_k(repeated, fewest, pass_at_k),
        flip_rate=share_over_tasks({task: [flip_rate(trials, passed)] for task, (trials, passed) in repeated.items()}),
    )


def _by_k(
    repeated: Mapping[str, tuple[int, int]], most: int, chance: Callable[[int, int, int], float]
) -> tuple[PassK, ...]:
    return tuple(
        PassK(k=k, probability=share_over_tasks({task: [chance(*of_task, k)] for task, of_task in repeated.items()}))
        for k in range(1, most + 1)
    )


def repeat_sd(values: Mapping[str, Sequence[float]]) -> float | None:
    """Return the standard deviation between repeats of one task, pooled over tasks; ``None`` without repeats."""
    repeated = [of_task for of_task in values.values() if len(of_task) > 1]
    if not repeated:
        return None
    squares = 0.0
    for of_task in repeated:
        mean = sum(of_task) / len(of_task)
        squares += sum((value - mean) ** 2 for value in of_task)
    return sqrt(squares / sum(len(of_task) - 1 for of_task in repeated))
