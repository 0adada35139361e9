"""What other ways to choose models come to, among them one that knows every result beforehand."""

from collections.abc import Sequence
from itertools import product
from statistics import fmean

import numpy as np

from swetrials.records.leaderboard import Estimate
from swetrials.records.router_evaluation import ChanceTest, PolicyTotals, Regret
from swetrials.records.router_models import ranked_figure
from swetrials.results.resampling import SEED, Floats
from swetrials.router.evaluation.arms import Arm, ArmOutcome, policy_of, rounded
from swetrials.router.routing import Needs, Routed, RoutingGround, arm_of

DEALS = 10_000
_ROUNDING = 1e-9


def fixed_models(ground: RoutingGround, needs: Needs) -> list[PolicyTotals]:
    """Return every measured model on everything, the cheapest first."""
    found = [
        policy_of("baseline" if model == ground.baseline else "single_model", ground.one_model(needs, model))
        for model in ground.measurements.models
    ]
    return sorted(found, key=lambda line: (line.total_cost_usd is None, line.total_cost_usd or 0.0, line.model or ""))


def policies(
    ground: RoutingGround, needs: Needs, routed: Sequence[Routed], in_sample: Sequence[Routed] | None
) -> list[PolicyTotals]:
    """Return the lines of the table: the baseline, the router, and what else could have been done.

    Args:
        ground: trials and rule.
        needs: what each task needs.
        routed: what the router said.
        in_sample: what it said when it knew the tasks' own trials, where ``routed`` is without them.
    """
    router = arm_of(routed)
    lines = [policy_of("baseline", ground.one_model(needs, ground.baseline)), policy_of("router", router)]
    if in_sample is not None:
        lines.append(policy_of("router_in_sample", arm_of(in_sample), hindsight=True))
    if ground.usable:
        cheapest = min(ground.usable, key=lambda model: (_mean(ground, model, "mean_cost_usd"), model))
        best = max(ground.usable, key=lambda model: (_mean(ground, model, ranked_figure(ground.rank_by)), model))
        lines.append(policy_of("cheapest", ground.one_model(needs, cheapest)))
        lines.append(policy_of("best_single_model", ground.one_model(needs, best)))
    if (as_good := _single_model_as_good(ground, needs, router)) is not None:
        lines.append(policy_of("single_model_as_good", as_good, hindsight=True))
    lines.append(_at_random(ground, routed))
    lines.append(policy_of("oracle", Arm([oracle(ground, o.task, o.floor) for o in router.outcomes]), hindsight=True))
    return lines


def oracle(ground: RoutingGround, task: str, floor: float) -> ArmOutcome:
    """Return what the cheapest model that really reached the floor did; where none did, what the baseline did."""
    outcomes = [ground.outcome(task, floor, model) for model in ground.usable]
    reached = [(o.arm.cost_usd, -(o.arm.score or 0.0), o.model, o) for o in outcomes if o.arm.meets(floor)]
    priced = [(cost, score, model, o) for cost, score, model, o in reached if cost is not None]
    return min(priced, key=lambda one: one[:3])[3] if priced else ground.outcome(task, floor, ground.baseline)


def regret(ground: RoutingGround, routed: Sequence[Routed]) -> Regret:
    """Return what the router lost against the oracle."""
    pairs = [(one.outcome, oracle(ground, one.task, one.need.floor)) for one in routed]
    costs = [(ours.arm.cost_usd, best.arm.cost_usd) for ours, best in pairs]
    scores = [(ours.arm.score, best.arm.score) for ours, best in pairs]
    lost_usd = [ours - best for ours, best in costs if ours is not None and best is not None]
    lost_points = [best - ours for ours, best in scores if ours is not None and best is not None]
    reachable = [bool(best.arm.meets(best.floor)) for _, best in pairs]
    return Regret(
        cost_usd=rounded(sum(lost_usd)) if lost_usd else None,
        mean_score=rounded(fmean(lost_points)) if lost_points else None,
        tasks_missed=sum(
            able and ours.arm.meets(ours.floor) is False for (ours, _), able in zip(pairs, reachable, strict=True)
        ),
        tasks_beyond_all=sum(not able for able in reachable),
        tasks_right=sum(ours.model == best.model for ours, best in pairs),
    )


def chance_test(ground: RoutingGround, routed: Sequence[Routed]) -> ChanceTest | None:
    """Deal the router's own picks out to the tasks at random, many times over, and compare.

    ``None`` where there is nothing to deal, or a cost is not known.
    """
    if len({one.outcome.model for one in routed}) < 2:
        return None
    dealt = [[ground.measurements.of(pick.outcome.model, one.task) for pick in routed] for one in routed]
    costs = np.array([[np.nan if m.cost_usd is None else m.cost_usd for m in row] for row in dealt])
    scores = np.array([[np.nan if m.score is None else m.score for m in row] for row in dealt])
    if np.isnan(costs).any():
        return None
    count = len(routed)
    deals = np.argsort(np.random.default_rng(SEED).random((DEALS, count)), axis=1)
    tasks = np.arange(count)
    own_score, own_cost = _means(scores[tasks, tasks]), costs[tasks, tasks].sum()
    return ChanceTest(
        deals=DEALS,
        share_as_good=float(np.mean(_means(scores[tasks, deals]) >= own_score - _ROUNDING)),
        share_as_cheap=float(np.mean(costs[tasks, deals].sum(axis=1) <= own_cost + _ROUNDING)),
    )


def _means(scores: Floats) -> Floats:
    """Return the mean along the last axis of what is known; 0 where nothing is."""
    known = ~np.isnan(scores)
    return np.asarray(np.nansum(scores, axis=-1) / np.maximum(known.sum(axis=-1), 1))


def _single_model_as_good(ground: RoutingGround, needs: Needs, router: Arm) -> Arm | None:
    """Return the cheapest model that did all tasks at least as well as the router's picks, failures counted as 0."""
    wanted = router.score_delta_failures_as_zero
    arms = [ground.one_model(needs, model) for model in ground.usable]
    good = [
        (arm.cost_usd, index)
        for index, arm in enumerate(arms)
        if arm.cost_usd is not None
        and len(arm.costs) == len(arm.scores_failures_as_zero) == len(needs)
        and wanted is not None
        and (arm.score_delta_failures_as_zero or 0.0) >= wanted - _ROUNDING
    ]
    return arms[min(good)[1]] if good else None


def _at_random(ground: RoutingGround, routed: Sequence[Routed]) -> PolicyTotals:
    """Return what is expected of picks that are as mixed as the router's and know nothing of the task.

    The means are over every pick on every task, so nothing is drawn and there are no intervals.
    """
    every = Arm([ground.outcome(o.task, o.need.floor, pick.outcome.model) for o, pick in product(routed, routed)])
    times = len(routed)
    return PolicyTotals(
        policy="random_at_router_mix",
        model=None,
        hindsight=False,
        total_cost_usd=None if every.cost_usd is None else rounded(every.cost_usd / times),
        cost_saving_pct=Estimate(value=rounded(every.saving_pct), tasks=times),
        mean_score=rounded(every.score),
        mean_score_delta=Estimate(value=rounded(every.score_delta), tasks=times),
        tasks_scored_both_arms=round(len(every.scores) / times, 2),
        tasks_below_floor=round(every.below_floor / times, 2),
        tasks_failed=round(every.failed / times, 2),
        model_counts={model: count / times for model, count in every.model_counts.items()},
    )


def _mean(ground: RoutingGround, model: str, name: str) -> float:
    return next(float(entry[name]) for entry in ground.entries if entry["model"] == model)
