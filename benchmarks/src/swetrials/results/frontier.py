"""Who is on the frontier: nobody else is at least as good on what is ranked and on cost, and better on one of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swetrials.records.leaderboard import FrontierPlace
from swetrials.results.candidates import CandidateTrials
from swetrials.results.resampling import Floats, task_counts
from swetrials.results.task_values import Values, mean, means_by_task

_DECIMALS = 9  # of points and dollars: what is further right is rounding of sums, not a lead


def non_dominated(scores: Floats, costs: Floats) -> NDArray[np.bool_]:
    """Return who is not dominated, along the last axis; equal points do not dominate each other.

    Args:
        scores: more is better; nan: unknown, and so not on the frontier.
        costs: less is better; the same shape, the same convention.
    """
    free = np.isfinite(scores) & np.isfinite(costs)
    for one in range(scores.shape[-1]):
        score, cost = scores[..., one, None], costs[..., one, None]
        free &= ~((score >= scores) & (cost <= costs) & ((score > scores) | (cost < costs)))
    return free


def frontier_places(group: Sequence[CandidateTrials]) -> dict[str, FrontierPlace]:
    """Return by key who is on the frontier of a group, and how probably.

    The probability is the share of resamples of tasks, the same for all candidates, in which a candidate is on the
    frontier. Who has no figure to rank by, or a trial of unknown cost, has no place and keeps nobody else off.
    """
    known = [one for one in group if one.ranked and one.ranked_costs]
    places = {one.candidate.key: FrontierPlace() for one in group}
    if not known:
        return places
    tasks = sorted({task for one in known for task in (*one.ranked, *one.ranked_costs)})
    scores = np.array([one.mean_ranked for one in known], dtype=np.float64)
    costs = np.array([mean(one.ranked_costs) for one in known], dtype=np.float64)
    now = non_dominated(scores.round(_DECIMALS), costs.round(_DECIMALS))
    drawn = non_dominated(
        _resampled_means([one.ranked for one in known], tasks),
        _resampled_means([one.ranked_costs for one in known], tasks),
    )
    # With a single task every resample is the same one: that is no probability.
    shares = drawn.mean(axis=0) if len(tasks) > 1 else [None] * len(known)
    for one, on_frontier, share in zip(known, now, shares, strict=True):
        places[one.candidate.key] = FrontierPlace(
            on_frontier=bool(on_frontier), probability=None if share is None else float(share)
        )
    return places


def places_by_hosting(everyone: Sequence[CandidateTrials]) -> dict[str, FrontierPlace]:
    """Return by key who is on the frontier of those whose costs are worked out as its own are."""
    places: dict[str, FrontierPlace] = {}
    for hosting in {one.hosting for one in everyone}:
        places |= frontier_places([one for one in everyone if one.hosting == hosting])
    return places


def _resampled_means(values: Sequence[Values], tasks: Sequence[str]) -> Floats:
    """Return the mean of each candidate (column) in each resample (row); nan where it has none of the tasks drawn."""
    of_each = [means_by_task(of_one) for of_one in values]
    means = np.array([[of_one.get(task, np.nan) for of_one in of_each] for task in tasks])
    there = np.isfinite(means)
    counts = task_counts(len(tasks))
    with np.errstate(invalid="ignore"):
        drawn: Floats = (counts @ np.where(there, means, 0.0)) / (counts @ there.astype(np.float64))
    return drawn.round(_DECIMALS)
