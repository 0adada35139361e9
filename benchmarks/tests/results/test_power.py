"""How much more work would settle a comparison: against the textbook's power where there is one."""

import numpy as np
import pytest
from scipy import stats

from swetrials.results.paired import sign_flip_p
from swetrials.results.power import POWER, REPEATS_LIMIT, TASKS_LIMIT, settling


def bell(tasks: int, mean: float, sd: float) -> list[float]:
    """Return values in the shape of a bell curve, with exactly this mean and standard deviation."""
    values = stats.norm.ppf((np.arange(tasks) + 0.5) / tasks)
    return [float(mean + sd * (value - values.mean()) / values.std(ddof=1)) for value in values]


def scores(tasks: int, lead: float, sd: float) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    differences = bell(tasks, lead, sd)
    return {f"t{n}": [50 + d] for n, d in enumerate(differences)}, {f"t{n}": [50.0] for n in range(tasks)}


def textbook_power(tasks: int, lead: float, sd: float) -> float:
    critical = stats.t.ppf(0.975, tasks - 1)
    off_centre = lead / sd * tasks**0.5
    return float(stats.nct.sf(critical, tasks - 1, off_centre) + stats.nct.cdf(-critical, tasks - 1, off_centre))


@pytest.mark.parametrize(("lead", "sd"), [(2.0, 6.0), (-3.0, 8.0)])
def test_the_tasks_it_takes_are_those_of_the_textbook(lead: float, sd: float) -> None:
    found = settling(*scores(21, lead, sd))
    needed = next(tasks for tasks in range(2, 2_000) if textbook_power(tasks, lead, sd) >= POWER)
    assert found.more_tasks == pytest.approx(needed - 21, rel=0.15)
    assert found.power_now == pytest.approx(textbook_power(21, lead, sd), abs=0.05)


def test_a_difference_that_is_next_to_nothing_is_not_settled_within_the_limit() -> None:
    found = settling(*scores(21, 0.01, 6.0))
    assert (found.more_tasks, found.tasks_limit) == (None, TASKS_LIMIT)


def test_without_repeats_nobody_knows_what_repeats_would_do() -> None:
    found = settling(*scores(21, 2.0, 6.0))
    assert (found.repeat_noise_known, found.more_repeats) == (False, None)


def repeated(lead: float, task_sd: float, noise: float) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return two repeats of 20 tasks; ``noise`` is the spread between repeats, ``task_sd`` that of what lasts."""
    random = np.random.default_rng(3)
    lasting = random.normal(0, task_sd, 20)
    a = {f"t{n}": list(50 + lead + lasting[n] + random.normal(0, noise, 2)) for n in range(20)}
    b = {f"t{n}": list(50 + random.normal(0, noise, 2)) for n in range(20)}
    return a, b


def test_repeats_settle_what_the_noise_of_repeats_hides() -> None:
    found = settling(*repeated(lead=3.0, task_sd=0.5, noise=12.0))
    assert found.repeat_noise_known
    assert found.more_repeats is not None and 1 <= found.more_repeats <= REPEATS_LIMIT


def test_repeats_do_not_settle_what_differs_from_task_to_task() -> None:
    found = settling(*repeated(lead=3.0, task_sd=25.0, noise=1.0))
    assert (found.repeat_noise_known, found.more_repeats) == (True, None)


@pytest.mark.parametrize(("tasks", "power_now", "more"), [(2, 0.0, 4), (5, 0.0, 1), (6, 1.0, 1)])
def test_equal_differences_are_settled_by_as_many_tasks_as_the_test_of_real_data_takes(
    tasks: int, power_now: float, more: int
) -> None:
    found = settling(*scores(tasks, 2.0, 0.0))
    assert (found.power_now, found.more_tasks) == (power_now, more)
    assert sign_flip_p(np.full(6, 2.0)) <= 0.05 < sign_flip_p(np.full(5, 2.0))


def test_no_repeats_of_five_tasks_settle_anything() -> None:
    a, b = repeated(lead=30.0, task_sd=0.5, noise=1.0)
    few = [f"t{number}" for number in range(5)]
    found = settling({task: a[task] for task in few}, {task: b[task] for task in few})
    assert (found.repeat_noise_known, found.more_repeats, found.more_tasks) == (True, None, 1)


def test_one_shared_task_shows_no_spread() -> None:
    with pytest.raises(ValueError, match="two shared tasks"):
        settling({"a": [1.0], "b": [2.0]}, {"a": [1.0]})
