"""One way to choose models, added up over tasks and set against one model on everything."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from operator import attrgetter
from statistics import fmean

import numpy as np

from swetrials.records.leaderboard import Estimate
from swetrials.records.router_evaluation import EvaluationTotals, PolicyName, PolicyTotals, RouterStatus
from swetrials.results.rates import rate_difference
from swetrials.results.resampling import dominant_share, mean_interval
from swetrials.router.evaluation.measured import Measurement
from swetrials.router.evaluation.ratios import ratio_interval

_PERCENT = 100.0
DIGITS = 6
"""Of every figure that is written: beyond them machines differ."""


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """What became of one task in an arm, beside what becomes of it with the baseline."""

    task: str
    floor: float
    model: str
    arm: Measurement
    baseline: Measurement


@dataclass(frozen=True)
class Arm:
    """All tasks in one arm. Costs are compared over the tasks where both are known, scores where both have one."""

    outcomes: Sequence[ArmOutcome]

    @cached_property
    def costs(self) -> list[tuple[float, float]]:
        """Dollars of the arm and of the baseline, of each task that has both."""
        return self._both(attrgetter("cost_usd"))

    @cached_property
    def scores(self) -> list[tuple[float, float]]:
        """Scores of the arm and of the baseline, of each task that has both."""
        return self._both(attrgetter("score"))

    @cached_property
    def scores_failures_as_zero(self) -> list[tuple[float, float]]:
        """The same with failures as 0."""
        return self._both(attrgetter("score_failures_as_zero"))

    def _both(self, figure: Callable[[Measurement], float | None]) -> list[tuple[float, float]]:
        pairs = ((figure(o.arm), figure(o.baseline)) for o in self.outcomes)
        return [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]

    @property
    def cost_usd(self) -> float | None:
        """What the arm costs; ``None``: not known of any task."""
        return fsum(ours for ours, _ in self.costs) if self.costs else None

    @property
    def baseline_cost_usd(self) -> float | None:
        """What the baseline costs on the same tasks."""
        return fsum(theirs for _, theirs in self.costs) if self.costs else None

    @property
    def saving_pct(self) -> float | None:
        """How much less the arm costs, of the baseline's total."""
        ours, theirs = self.cost_usd, self.baseline_cost_usd
        return _PERCENT * (theirs - ours) / theirs if ours is not None and theirs else None

    @property
    def score(self) -> float | None:
        """The arm's mean score."""
        return fmean(ours for ours, _ in self.scores) if self.scores else None

    @property
    def baseline_score(self) -> float | None:
        """The baseline's mean score over the same tasks."""
        return fmean(theirs for _, theirs in self.scores) if self.scores else None

    @property
    def score_delta(self) -> float | None:
        """Points that the arm's mean is above the baseline's."""
        return fmean(ours - theirs for ours, theirs in self.scores) if self.scores else None

    @property
    def score_delta_failures_as_zero(self) -> float | None:
        """The same with failures as 0."""
        pairs = self.scores_failures_as_zero
        return fmean(ours - theirs for ours, theirs in pairs) if pairs else None

    @property
    def below_floor(self) -> int:
        """Tasks that did not reach their floor, failed ones among them."""
        return sum(o.arm.meets(o.floor) is False for o in self.outcomes)

    @property
    def failed(self) -> int:
        """Tasks that came to nothing."""
        return sum(o.arm.failed is True for o in self.outcomes)

    @property
    def model_counts(self) -> dict[str, int]:
        """How many tasks each model did, the most used first."""
        counts = Counter(o.model for o in self.outcomes)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def saving(self) -> Estimate:
        """Return :attr:`saving_pct` with its interval over tasks."""
        if self.saving_pct is None:
            return Estimate()
        ours, theirs = np.array(self.costs).T
        interval = ratio_interval(ours, theirs)
        return Estimate(
            value=rounded(self.saving_pct),
            low=None if interval is None else rounded(_PERCENT * (1 - interval[1])),
            # Nothing saves more than everything.
            high=None if interval is None else rounded(min(_PERCENT, _PERCENT * (1 - interval[0]))),
            tasks=len(self.costs),
            trials=sum(o.arm.trials for o in self.outcomes if None not in (o.arm.cost_usd, o.baseline.cost_usd)),
            largest_share=rounded(dominant_share(np.abs(theirs - ours))),
        )

    def score_change(self) -> Estimate:
        """Return :attr:`score_delta` with its interval over tasks."""
        sides = [{o.task: m.verdicts for o in self.outcomes if (m := of(o)).verdicts} for of in (_arm, _baseline)]
        if all(sides) and any(o.arm is not o.baseline for o in self.outcomes):
            return _with_few_digits(rate_difference(*sides).in_percent)
        interval = mean_interval(np.array([ours - theirs for ours, theirs in self.scores]))
        return Estimate(
            value=rounded(self.score_delta),
            low=None if interval is None else rounded(interval[0]),
            high=None if interval is None else rounded(interval[1]),
            tasks=len(self.scores),
            trials=sum(o.arm.trials for o in self.outcomes if None not in (o.arm.score, o.baseline.score)),
        )


def totals_of(arm: Arm, baseline: str, statuses: Sequence[RouterStatus]) -> EvaluationTotals:
    """Return the totals of the router's arm.

    Args:
        arm: what became of each task.
        baseline: the model that is used on everything otherwise.
        statuses: what the router said of each task.
    """
    other = Arm([ArmOutcome(o.task, o.floor, baseline, o.baseline, o.baseline) for o in arm.outcomes])
    cost, baseline_cost = arm.cost_usd, arm.baseline_cost_usd
    delta, baseline_score, zeros = arm.score_delta, arm.baseline_score, arm.scores_failures_as_zero
    kept = Counter(status for status in statuses if status != "ok")
    savings = [_PERCENT * (theirs - ours) / theirs for ours, theirs in arm.costs if theirs]
    return EvaluationTotals(
        tasks=len(arm.outcomes),
        tasks_switched=sum(o.model != baseline for o in arm.outcomes),
        tasks_scored_both_arms=len(arm.scores),
        baseline_model=baseline,
        baseline_total_cost_usd=rounded(baseline_cost),
        routed_total_cost_usd=rounded(cost),
        cost_saving_usd=None if cost is None or baseline_cost is None else rounded(baseline_cost - cost),
        cost_saving_pct=rounded(arm.saving_pct),
        baseline_mean_score=rounded(baseline_score),
        routed_mean_score=rounded(arm.score),
        mean_score_delta=rounded(delta),
        tasks_below_floor_routed=arm.below_floor,
        tasks_below_floor_baseline=other.below_floor,
        tasks_failed_routed=arm.failed,
        tasks_failed_baseline=other.failed,
        models_used=tuple(arm.model_counts),
        model_counts=arm.model_counts,
        quality_delta_pct=rounded(_PERCENT * delta / baseline_score) if delta is not None and baseline_score else None,
        mean_per_task_saving_pct=rounded(fmean(savings)) if savings else None,
        tasks_costed_both_arms=len(arm.costs),
        tasks_kept_on_baseline=dict(sorted(kept.items())),
        cost_saving_pct_estimate=arm.saving(),
        mean_score_delta_estimate=arm.score_change(),
        baseline_mean_score_failures_as_zero=rounded(fmean(theirs for _, theirs in zeros)) if zeros else None,
        routed_mean_score_failures_as_zero=rounded(fmean(ours for ours, _ in zeros)) if zeros else None,
        cost_is_lower_bound=any(o.arm.cost_is_lower_bound or o.baseline.cost_is_lower_bound for o in arm.outcomes),
    )


def policy_of(policy: PolicyName, arm: Arm, *, hindsight: bool = False) -> PolicyTotals:
    """Return an arm as a line of the table of policies."""
    counts = arm.model_counts
    return PolicyTotals(
        policy=policy,
        model=next(iter(counts)) if len(counts) == 1 else None,
        hindsight=hindsight,
        total_cost_usd=rounded(arm.cost_usd),
        cost_saving_pct=arm.saving(),
        mean_score=rounded(arm.score),
        mean_score_delta=arm.score_change(),
        tasks_scored_both_arms=len(arm.scores),
        tasks_below_floor=arm.below_floor,
        tasks_failed=arm.failed,
        model_counts={model: float(count) for model, count in counts.items()},
    )


_arm, _baseline = attrgetter("arm"), attrgetter("baseline")


def _with_few_digits(estimate: Estimate) -> Estimate:
    ends = {name: rounded(getattr(estimate, name)) for name in ("value", "low", "high")}
    return estimate.model_copy(update=ends)


def rounded(value: float | None) -> float | None:
    """Return a figure without the last digits, in which machines differ."""
    return None if value is None else round(value, DIGITS)
