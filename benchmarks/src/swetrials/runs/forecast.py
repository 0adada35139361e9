"""What a run will probably cost, and whether its budget can be kept: from earlier trials, before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from swetrials.records.check import Check
from swetrials.records.cost import Cost
from swetrials.records.metrics import Metrics
from swetrials.records.slug import model_slug
from swetrials.records.words import counted
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.results import state_of, trial_folders
from swetrials.trials.budget import Budget
from swetrials.trials.costing import unpriced, unpriced_buckets
from swetrials.trials.earlier import spent_there
from swetrials.trials.resume_state import Standing


@dataclass(frozen=True)
class Forecast:
    """What the trials to run are expected to cost.

    Attributes:
        to_run: how many there are.
        seen: on how many earlier trials of the same agent, model and provider the forecast stands.
        per_trial_usd: their mean; ``None`` without any.
        spent_usd: what earlier sessions of the run have cost.
        spent_is_lower_bound: whether they have cost more than is known.
    """

    to_run: int
    seen: int
    per_trial_usd: float | None
    spent_usd: float
    spent_is_lower_bound: bool

    @property
    def spent(self) -> str:
        """What has been spent, in words."""
        return f"{'at least ' if self.spent_is_lower_bound else ''}${self.spent_usd:,.2f}"

    def budget(self, limit_usd: float | None) -> Budget:
        """Return the budget that the run starts with."""
        return Budget(limit_usd, self.spent_usd, self.per_trial_usd or 0.0)


def forecast(prepared: PreparedRun, standings: Sequence[Standing], to_run: int, *, resume: bool) -> Forecast:
    """Look for earlier trials in the results tree and take their mean cost.

    It is a mean over valid trials, whatever their task, since these are what is paid for: no figure of the model's
    (see :mod:`swetrials.results.figures`), and none of it is published.

    Args:
        prepared: the planned run.
        standings: what is on disk of its trials.
        to_run: how many of them are to run.
        resume: whether all that the trials on disk have cost is a part of this run.
    """
    place = prepared.plan.output / model_slug(prepared.config.model) / prepared.agent.folder
    earlier = [record for folder in trial_folders(place) if isinstance(record := state_of(folder), Metrics)]
    costs = [
        record.total_cost_usd
        for record in earlier
        if record.outcome.valid and record.provider == prepared.config.provider and record.total_cost_usd is not None
    ]
    # What begins anew leaves behind what others cost, and goes on with the attempts of its own trials.
    kept = [attempt for standing in standings for attempt in standing.earlier.attempts]
    if resume:
        there = [spent_there(standing.folder, standing.state) for standing in standings]
        spent = sum(folder.elsewhere_usd or 0.0 for folder in there)
        is_bound = any(folder.elsewhere_is_lower_bound for folder in there)
    else:
        spent = Cost.sum(attempt.cost for attempt in kept).amount_usd or 0.0
        is_bound = any(attempt.cost.status != "complete" for attempt in kept)
    return Forecast(to_run, len(costs), mean(costs) if costs else None, spent, is_bound)


def budget_check(prepared: PreparedRun, found: Forecast) -> Check:
    """Say what the run will probably cost, and hold that against its limit."""
    limit = prepared.config.max_budget_usd
    without = unpriced(prepared.config, prepared.provider, prepared.prices)
    remedy = f"add a row for it to {prepared.prices.label} under tokens:, or say --dollars-per-hour"
    if without and limit is not None:
        return Check("budget", "failed", f"no limit can be kept: {without}", f"{remedy}, or leave out --max-budget-usd")
    if without:
        return Check("budget", "warning", f"the cost will be unknown: {without}", remedy)
    if prepared.provider.priced == "free":
        return Check("budget", "ok", "free")
    bound = "" if limit is None else f"; limit ${limit:,.2f}, {found.spent} of it spent"
    if limit is not None and found.spent_usd >= limit:
        return Check("budget", "failed", f"nothing is left{bound}", "a higher --max-budget-usd")
    expected = None if found.per_trial_usd is None else found.per_trial_usd * found.to_run
    if expected is None:
        detail = f"forecast unknown: no earlier trials of agent and model here{bound}"
    else:
        trials, earlier = counted(found.to_run, "trial"), counted(found.seen, "earlier one")
        detail = f"about ${expected:,.2f} for {trials}, from {earlier}{bound}"
    if expected is not None and limit is not None and found.spent_usd + expected > limit:
        return Check("budget", "warning", f"{detail}: not all may begin", "--max-budget-usd, or fewer --tasks")
    if missing := unpriced_buckets(prepared.config, prepared.provider, prepared.prices):
        known = f"no price is known for {', '.join(missing)} of {prepared.config.model}"
        counts_no_more = "" if limit is None else ", and the limit counts no more"
        detail += f'; {known}: a cost with such tokens is an "at least"{counts_no_more}'
        return Check("budget", "warning", detail, remedy)
    return Check("budget", "ok", detail)
