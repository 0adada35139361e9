"""Routing tasks whose results are known, with or without their own trials among what the router knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from swetrials.records.dataset import Complexity, RankBy
from swetrials.results.ranking import rank_by_of
from swetrials.results.trial_row import TrialRow
from swetrials.router.evaluation.arms import Arm, ArmOutcome
from swetrials.router.evaluation.measured import Measurement, Measurements
from swetrials.router.inputs.reading import Need
from swetrials.router.models import models_of
from swetrials.router.rule import Advice, Entry, RouterRule

Needs = Mapping[str, Need]
"""What each task needs, by its id."""


@dataclass(frozen=True)
class RoutingGround:
    """What stays the same whatever the floors are: trials, rule, and what the router is compared with."""

    rows: Sequence[TrialRow]
    rule: RouterRule
    baseline: str
    tiers: Mapping[str, Complexity]
    """Of the tasks that are routed, as the dataset has them."""

    @cached_property
    def rank_by(self) -> RankBy:
        """What a floor is a floor of."""
        return rank_by_of(self.rows)

    @cached_property
    def measurements(self) -> Measurements:
        """What each model really did."""
        return Measurements(self.rows)

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """What the router knows when it knows everything."""
        return entries_of(self.rows)

    @cached_property
    def entries_without(self) -> Mapping[str, Sequence[Entry]]:
        """What it knows when it has not seen a task, by that task: every mean without the task's trials."""
        return {task: entries_of([row for row in self.rows if row.task != task]) for task in self.tiers}

    @cached_property
    def usable(self) -> tuple[str, ...]:
        """The models that may be picked."""
        return self.rule.usable(self.entries)

    def outcome(self, task: str, floor: float, model: str) -> ArmOutcome:
        """Look up what a model did on a task, beside the baseline."""
        return ArmOutcome(
            task, floor, model, self.measurements.of(model, task), self.measurements.of(self.baseline, task)
        )

    def one_model(self, needs: Needs, model: str) -> Arm:
        """Return the arm of one model on everything."""
        return Arm([self.outcome(task, need.floor, model) for task, need in needs.items()])


@dataclass(frozen=True)
class Routed:
    """One task and what the router said of it."""

    task: str
    need: Need
    advice: Advice
    outcome: ArmOutcome

    @property
    def used(self) -> Measurement:
        """What the model that was used did."""
        return self.outcome.arm


def entries_of(rows: Sequence[TrialRow]) -> Sequence[Entry]:
    """Return trials as the rule reads them: the models of ``models.json``."""
    return [model.model_dump(mode="json") for model in models_of(rows)]


def route_all(ground: RoutingGround, needs: Needs, *, holdout: bool) -> list[Routed]:
    """Route tasks. Where the router names no model, the baseline is kept.

    Args:
        ground: trials and rule.
        needs: what each task needs, a part of the ground's tasks.
        holdout: each task is routed by means that its own trials are not in.

    Raises:
        RuleError: the rule cannot make use of a tier, a floor or a list.
    """
    routed = []
    for task, need in needs.items():
        entries = ground.entries_without[task] if holdout else ground.entries
        advice = ground.rule.advise(entries, need.tier, need.floor)
        model = advice.model or ground.baseline
        routed.append(Routed(task, need, advice, ground.outcome(task, need.floor, model)))
    return routed


def arm_of(routed: Sequence[Routed]) -> Arm:
    """Return the router's arm."""
    return Arm([one.outcome for one in routed])
