"""One line of the leaderboard: what the trials of one candidate come to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from swetrials.analysis.candidates import CandidateTrials, Figure, by_task
from swetrials.analysis.reliability import reliability, repeat_sd
from swetrials.analysis.resampling import Values, mean_over_tasks, share_over_tasks
from swetrials.analysis.trial_row import TrialRow
from swetrials.records.dataset import in_tier_order
from swetrials.records.evaluation import UNITS
from swetrials.records.leaderboard import Estimate, FrontierPlace, ModelStanding, TierStanding, UsageMeans


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
        scored=sum(row.score is not None for row in completed),
        repeats=max(Counter(row.task for row in rows).values()),
        score=points(one.scores),
        score_failures_as_zero=points(one.scores_failures_as_zero),
        score_all_trials=points(one.scores_all),
        units=_units(completed),
        repeat_sd_points=repeat_sd(one.scores),
        cost_usd=_cost(one),
        cost_is_lower_bound=any(row.cost_is_lower_bound for row in completed),
        trials_without_cost=one.trials_without_cost,
        latency_seconds=mean_over_tasks(by_task(completed, lambda row: row.latency_seconds), low=0),
        completion=share_over_tasks(one.completions),
        tests_passed=share_over_tasks(one.tests),
        tiers=_tiers(one),
        completion_reliability=reliability(one.completions),
        tests_reliability=reliability(one.tests),
        frontier_of_hosting=of_hosting,
        frontier_combined=combined,
        failures=_kinds(row for row in valid if not row.completed),
        other_failures=_kinds(row for row in rows if not row.valid),
        means=_means(completed),
    )


def points(scores: Values) -> Estimate:
    """Return the mean of scores of 0 to 100 over tasks, with its interval."""
    return mean_over_tasks(scores, low=0, high=100)


def _cost(one: CandidateTrials) -> Estimate:
    if one.trials_without_cost:
        return Estimate(tasks=len(one.costs), trials=len(one.completed) - one.trials_without_cost)
    return mean_over_tasks(one.known_costs, low=0)


def _tiers(one: CandidateTrials) -> dict[str, TierStanding]:
    ordered = in_tier_order(row.tier for row in one.rows)
    return {tier: _tier(CandidateTrials(one.candidate, [r for r in one.rows if r.tier == tier])) for tier in ordered}


def _tier(one: CandidateTrials) -> TierStanding:
    return TierStanding(
        tasks=len({row.task for row in one.rows}),
        trials=len(one.rows),
        valid=len(one.valid),
        completed=len(one.completed),
        score=points(one.scores),
        cost_usd=_cost(one),
        completion=share_over_tasks(one.completions),
    )


def _units(completed: Sequence[TrialRow]) -> dict[str, Estimate]:
    means = {unit: points(by_task(completed, _score_of(unit))) for unit in UNITS}
    return {unit: mean for unit, mean in means.items() if mean.value is not None}


def _score_of(unit: str) -> Figure:
    return lambda row: row.unit_scores.get(unit)


def _means(completed: Sequence[TrialRow]) -> UsageMeans:
    return UsageMeans.model_validate(
        {name: mean_over_tasks(by_task(completed, attrgetter(name)), low=0) for name in UsageMeans.model_fields}
    )


def _kinds(rows: Iterable[TrialRow]) -> dict[str, int]:
    return dict(sorted(Counter(row.outcome for row in rows).items()))
