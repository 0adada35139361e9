"""How many tasks some trials resolved and what that took, with intervals."""

from math import fsum

from swetrials.records.leaderboard import Estimate, PerResolved, ResolveStanding
from swetrials.results.figures import Figures
from swetrials.results.paired import ratio_of_means
from swetrials.results.rates import rate_over_tasks
from swetrials.results.reliability import reliability
from swetrials.results.resampling import dominant_share, task_means, total_over_tasks
from swetrials.results.resolve_figures import ResolveFigures, total
from swetrials.results.task_values import Values


def resolve_standing(one: Figures) -> ResolveStanding | None:
    """Return what the trials of a candidate come to; ``None``: the tests gave no verdict, and nobody ranks by them."""
    of = one.resolve
    if not of.checked and one.rank_by != "resolved":
        return None
    return ResolveStanding(
        rate=rate_over_tasks(of.values),
        trials=len(of.counted),
        resolved=of.resolved,
        unchecked=of.unchecked,
        void=of.void,
        regressed=of.regressed,
        doubtful=of.doubtful,
        evidence=of.evidence,
        reliability=reliability(of.values),
        cost_usd=total_over_tasks(of.costs),
        usd_per_resolved=_per_resolved(of, of.costs, lower_bound=of.costs_are_lower_bound),
        minutes_per_resolved=_per_resolved(of, of.minutes, lower_bound=False),
    )


def _per_resolved(of: ResolveFigures, spent: Values, *, lower_bound: bool) -> PerResolved:
    if not spent:
        return PerResolved()
    if not of.resolved:
        return PerResolved(more_than=total(spent), lower_bound=lower_bound)
    return PerResolved(ratio=_ratio_of_totals(spent, of.values), lower_bound=lower_bound)


def _ratio_of_totals(spent: Values, resolved: Values) -> Estimate:
    """Return a total over all trials over another; the tasks are drawn again, each with all that was spent on it."""
    sums = [{task: [fsum(values)] for task, values in of.items()} for of in (spent, resolved)]
    update: dict[str, object] = {"trials": sum(map(len, resolved.values()))}
    if not total(spent):
        update["value"] = 0.0  # free; there is no logarithm of it, and no interval
    update["largest_share"] = dominant_share(task_means(sums[0]))
    return ratio_of_means(*sums).model_copy(update=update)
