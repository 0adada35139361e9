"""One line of the leaderboard: what the trials of one candidate come to."""

from collections import Counter
from collections.abc import Sequence

from swetrials.records.dataset import in_tier_order
from swetrials.records.evaluation import UNITS
from swetrials.records.leaderboard import (
    Estimate,
    FrontierPlace,
    ModelStanding,
    TierStanding,
    UsageMeans,
)
from swetrials.results.candidates import CandidateTrials
from swetrials.results.figures import Figures
from swetrials.results.rates import rate_over_tasks
from swetrials.results.reliability import reliability, repeat_sd
from swetrials.results.resampling import mean_over_tasks, mean_with_zeros, share_over_tasks, total_over_tasks
from swetrials.results.resolve_standing import resolve_standing
from swetrials.results.task_values import Figure, Values, by_task
from swetrials.results.trial_row import TrialRow


def standing(one: CandidateTrials, label: str, *, of_hosting: FrontierPlace, combined: FrontierPlace) -> ModelStanding:
    """Add up the trials of a candidate.

    Args:
        one: its trials, all of one scope.
        label: what people call it.
        of_hosting: its place among those whose costs are worked out as its own are.
        combined: its place among all.
    """
    rows, valid, completed = one.rows, one.valid, one.completed
    return ModelStanding(
        **one.candidate.model_dump(),
        label=label,
        hosting=one.hosting,
        source=rows[0].source,
        rehearsal=rows[0].rehearsal,
        tasks=len({row.task for row in rows}),
        trials=len(rows),
        valid=len(valid),
        completed=len(completed),
        scored=one.scored,
        repeats=max(Counter(row.task for row in rows).values()),
        ranked=ranked_mean(one),
        ranked_cost_usd=_ranked_cost(one),
        ranked_cost_is_lower_bound=one.ranked_costs_are_lower_bound,
        resolve=resolve_standing(one),
        score=points(one.scores),
        score_failures_as_zero=mean_with_zeros(one.scores_failures_as_zero, one.scored_of_valid, one.scores, most=100),
        score_all_trials=mean_with_zeros(one.scores_all, one.scored_of_all, one.scores, most=100),
        units=_units(completed),
        repeat_sd_points=repeat_sd(one.scores),
        cost_usd=_cost(one),
        cost_is_lower_bound=one.cost_is_lower_bound,
        trials_without_cost=one.trials_without_cost,
        latency_seconds=mean_over_tasks(one.of_completed("latency_seconds"), low=0),
        completion=share_over_tasks(one.completions),
        tests_passed=share_over_tasks(one.tests),
        tiers=_tiers(one),
        completion_reliability=reliability(one.completions),
        tests_reliability=reliability(one.tests),
        frontier_of_hosting=of_hosting,
        frontier_combined=combined,
        failures=one.failures,
        other_failures=one.infrastructure_failures,
        means=_means(one),
        tokens_are_lower_bound=one.tokens_are_lower_bound,
    )


def points(scores: Values) -> Estimate:
    """Return the mean of scores of 0 to 100 over tasks, with its interval."""
    return mean_over_tasks(scores, low=0, high=100)


def ranked_mean(one: Figures) -> Estimate:
    """Return the mean of what trials are ranked by, 0 to 100, with its interval."""
    return rate_over_tasks(one.resolve.values).in_percent if one.rank_by == "resolved" else points(one.ranked)


def _ranked_cost(one: Figures) -> Estimate:
    return total_over_tasks(one.resolve.costs) if one.rank_by == "resolved" else _cost(one)


def _cost(one: Figures) -> Estimate:
    if one.trials_without_cost:
        return Estimate(tasks=len(one.costs), trials=one.costs_known)
    return total_over_tasks(one.known_costs)


def _tiers(one: CandidateTrials) -> dict[str, TierStanding]:
    ordered = in_tier_order(row.tier for row in one.rows)
    return {tier: _tier(Figures([r for r in one.rows if r.tier == tier])) for tier in ordered}


def _tier(one: Figures) -> TierStanding:
    return TierStanding(
        tasks=len({row.task for row in one.rows}),
        trials=len(one.rows),
        valid=len(one.valid),
        completed=len(one.completed),
        ranked=ranked_mean(one),
        ranked_cost_usd=_ranked_cost(one),
        score=points(one.scores),
        cost_usd=_cost(one),
        completion=share_over_tasks(one.completions),
    )


def _units(completed: Sequence[TrialRow]) -> dict[str, Estimate]:
    means = {unit: points(by_task(completed, _score_of(unit))) for unit in UNITS}
    return {unit: mean for unit, mean in means.items() if mean.value is not None}


def _score_of(unit: str) -> Figure:
    return lambda row: row.unit_scores.get(unit)


def _means(one: Figures) -> UsageMeans:
    return UsageMeans.model_validate(
        {name: mean_over_tasks(one.of_completed(name), low=0) for name in UsageMeans.model_fields}
    )
