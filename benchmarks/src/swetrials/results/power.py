"""How much more work would settle which of two candidates scores higher: power, simulated from the data at hand.

The difference that was seen is taken for the true one, and tasks like those that were run are drawn again and again.
What was seen is itself uncertain, and the true difference is often smaller: the answers are a plan's first guess, no
promise. A draw counts as settled when Student's paired t test says so, which stands in for the permutation test that
judges the real data: from the fewest tasks on that this one can settle, the two seldom disagree, and it would take
hours here.
"""

import math
from typing import Final

import numpy as np
from scipy.special import stdtrit

from swetrials.records.claim import Settling
from swetrials.records.leaderboard import LEVEL
from swetrials.results.paired import FEWEST_TASKS, task_differences
from swetrials.results.reliability import repeat_sd
from swetrials.results.resampling import SEED, Floats
from swetrials.results.task_values import Values

POWER: Final = 0.8
TASKS_LIMIT: Final = 1_000
REPEATS_LIMIT: Final = 20
SIMULATIONS: Final = 1_000


def settling(a: Values, b: Values) -> Settling:
    """Return how many more tasks, or repeats of the same tasks, would probably settle who scores higher.

    Args:
        a: the scores of one candidate by task.
        b: those of the other; the two share two tasks at least.

    Raises:
        ValueError: they share fewer than two tasks.
    """
    differences = task_differences(a, b)
    tasks = len(differences)
    if tasks < 2:
        raise ValueError("two shared tasks at least show how differences vary")
    by_tasks = _power_by_tasks(differences, tasks + TASKS_LIMIT)
    by_repeats = _power_by_repeats(a, b, differences)
    return Settling(
        power=POWER,
        power_now=float(by_tasks[tasks - 2]),
        more_tasks=_fewest(by_tasks[tasks - 1 :]),
        tasks_limit=TASKS_LIMIT,
        more_repeats=None if by_repeats is None else _fewest(by_repeats),
        repeats_limit=REPEATS_LIMIT,
        repeat_noise_known=by_repeats is not None,
    )


def _power_by_tasks(differences: Floats, most: int) -> Floats:
    """Return the power with 2, 3 ... ``most`` tasks."""
    population = _as_population(differences)
    drawn = population[np.random.default_rng(SEED).integers(len(population), size=(SIMULATIONS, most))]
    sizes = np.arange(1.0, most + 1)
    means = np.cumsum(drawn, axis=1) / sizes
    squares = np.cumsum(drawn**2, axis=1) / sizes
    return _share_settled(means[:, 1:], squares[:, 1:], sizes[1:])


def _power_by_repeats(a: Values, b: Values, differences: Floats) -> Floats | None:
    """Return the power with 1, 2 ... more repeats of each task by both; ``None`` where their noise is not known."""
    shared = a.keys() & b.keys()
    noise = [repeat_sd({task: values[task] for task in shared}) for values in (a, b)]
    if noise[0] is None or noise[1] is None:
        return None
    repeats = [_harmonic_repeats(values, shared) for values in (a, b)]
    from_repeats = noise[0] ** 2 / repeats[0] + noise[1] ** 2 / repeats[1]
    seen = float(np.var(differences, ddof=1))
    # What would be left of the spread if every task were repeated without end.
    lasting = math.sqrt(max(0.0, 1 - from_repeats / seen)) if seen > 0 else 0.0
    population = differences.mean() + lasting * (_as_population(differences) - differences.mean())
    tasks = len(differences)
    random = np.random.default_rng(SEED)
    true = population[random.integers(tasks, size=(SIMULATIONS, tasks))]
    standard = random.standard_normal((SIMULATIONS, tasks))
    powers = []
    for more in range(1, REPEATS_LIMIT + 1):
        spread = math.sqrt(noise[0] ** 2 / (repeats[0] + more) + noise[1] ** 2 / (repeats[1] + more))
        drawn = true + spread * standard
        mean, square = drawn.mean(axis=1, keepdims=True), (drawn**2).mean(axis=1, keepdims=True)
        powers.append(_share_settled(mean, square, np.array([float(tasks)]))[0])
    return np.array(powers)


def _as_population(differences: Floats) -> Floats:
    """Return the differences as a population: those of a sample lie closer together by the factor (n - 1) / n."""
    size = len(differences)
    mean = differences.mean()
    stretched: Floats = mean + (differences - mean) * math.sqrt(size / (size - 1))
    return stretched


def _share_settled(means: Floats, squares: Floats, sizes: Floats) -> Floats:
    variances = np.maximum(squares - means**2, 0) * sizes / (sizes - 1)
    critical = stdtrit(sizes - 1, (1 + LEVEL) / 2)
    share: Floats = (np.abs(means) > critical * np.sqrt(variances / sizes)).mean(axis=0)
    return np.where(sizes < FEWEST_TASKS, 0.0, share)


def _fewest(powers: Floats) -> int | None:
    """Return how many more it takes to have enough power and keep it; the first of ``powers`` is of one more."""
    short = np.flatnonzero(powers < POWER)
    fewest = 1 if not len(short) else int(short[-1]) + 2
    return fewest if fewest <= len(powers) else None


def _harmonic_repeats(values: Values, tasks: set[str]) -> float:
    return len(tasks) / sum(1 / len(values[task]) for task in tasks)
