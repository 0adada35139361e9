"""Intervals hold the truth as often as they say, on trees of trials the truth of which is known."""

from collections.abc import Callable

import numpy as np
import pytest

from results.simulated import COST, COST_RATIO, DOMINATED_COST, LEAD, SCORE, tree, with_a_dominant_task, with_failures
from swetrials.records.leaderboard import Estimate
from swetrials.results.candidates import CandidateTrials, by_candidate
from swetrials.results.figures import Figures
from swetrials.results.paired import mean_difference, ratio_of_means
from swetrials.results.resampling import mean_over_tasks, mean_with_zeros, total_over_tasks
from swetrials.results.standings import points

DRAWS = 1_000

Figure = Callable[[CandidateTrials, CandidateTrials], Estimate]


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize(
    ("figure", "truth"),
    [
        pytest.param(lambda a, b: points(a.scores), SCORE, id="score"),
        pytest.param(lambda a, b: mean_difference(a.scores, b.scores), LEAD, id="difference"),
        pytest.param(lambda a, b: mean_over_tasks(a.costs), COST, id="cost"),
        pytest.param(lambda a, b: ratio_of_means(a.costs, b.costs), COST_RATIO, id="ratio"),
    ],
)
def test_95_percent_intervals_hold_the_truth_in_93_to_97_of_100_trees(
    figure: Figure, truth: float, repeats: int
) -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(DRAWS):
        estimate = figure(*by_candidate(tree(random, most_repeats=repeats)))
        assert estimate.low is not None and estimate.high is not None
        held += estimate.low <= truth <= estimate.high
    assert 0.93 <= held / DRAWS <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [8, 12, 21, 50])
@pytest.mark.parametrize("rate", [1 / 21, 2 / 21, 5 / 21])
def test_a_mean_with_rare_failures_as_0_is_held_and_is_no_wider_than_resampling(rate: float, tasks: int) -> None:
    random = np.random.default_rng(11)
    truth, held, widths, resampled = (1 - rate) * SCORE, 0, 0.0, 0.0
    for _ in range(DRAWS):
        of = Figures(with_failures(random, rate, tasks))
        estimate = mean_with_zeros(of.scores_failures_as_zero, of.scored_of_valid, of.scores, most=100)
        assert estimate.low is not None and estimate.high is not None and estimate.half_width is not None
        held += estimate.low <= truth <= estimate.high
        if tasks == 21 and of.failed:
            widths += estimate.half_width
            resampled += mean_over_tasks(of.scores_failures_as_zero, low=0, high=100).half_width or 0.0
    assert 0.915 <= held / DRAWS <= 0.985
    assert widths <= resampled


@pytest.mark.slow
def test_where_one_task_is_over_a_quarter_of_a_cost_the_estimate_says_so_and_holds_less() -> None:
    random = np.random.default_rng(11)
    held, dominated = 0, 0
    for _ in range(DRAWS):
        estimate = total_over_tasks(Figures(with_a_dominant_task(random)).known_costs)
        assert estimate.low is not None and estimate.high is not None
        held += estimate.low <= DOMINATED_COST <= estimate.high
        dominated += estimate.largest_share is not None
    assert dominated > DRAWS / 4
    assert 0.84 <= held / DRAWS <= 0.9
