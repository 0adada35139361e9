"""Intervals hold the truth as often as they say, on trees of trials the truth of which is known."""

from collections.abc import Callable

import numpy as np
import pytest

from analysis.simulated import COST, COST_RATIO, LEAD, SCORE, tree
from swetrials.analysis.candidates import CandidateTrials, by_candidate
from swetrials.analysis.paired import mean_difference, ratio_of_means
from swetrials.analysis.resampling import mean_over_tasks
from swetrials.analysis.standings import points
from swetrials.records.leaderboard import Estimate

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
