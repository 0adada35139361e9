"""The routing evaluation worked out a second time, with nothing of the package: a CSV reader, loops and dictionaries.

It shares no line with what it checks. Scores and costs are means over the trials of a model that did not fail, at the
tier that a task is routed by; where all of them failed there, over everything. A model that failed all its trials at
the tier is none to choose. Whoever is kept as the baseline when nobody reaches the floor is given by name.
"""

import csv
from pathlib import Path
from typing import TypedDict


class Pick(TypedDict):
    """One task, routed."""

    floor: float
    tier: str
    model: str
    named: bool
    expected: float | None
    score: float
    cost: float
    failed: bool


class ByHand:
    """The trials of a CSV of published figures."""

    def __init__(self, path: Path) -> None:
        self.trials: dict[str, dict[str, dict[str, str]]] = {}
        self.tiers: dict[str, str] = {}
        with path.open(encoding="utf-8") as file:
            for line in csv.DictReader(file):
                name = line["model"].removesuffix("-v1")
                self.trials.setdefault(name, {})[line["task"]] = line
                self.tiers[line["task"]] = line["complexity"]

    def expected(self, model: str, tier: str, unseen: str | None) -> tuple[float, float] | None:
        at_tier, everywhere = [], []
        tried_at_tier = False
        for task, line in self.trials[model].items():
            if task == unseen:
                continue
            tried_at_tier = tried_at_tier or line["complexity"] == tier
            if line["failed"] == "true":
                continue
            everywhere.append(line)
            if line["complexity"] == tier:
                at_tier.append(line)
        if tried_at_tier and not at_tier:
            return None
        used = at_tier or everywhere
        score = sum(float(line["task_score"]) for line in used) / len(used)
        cost = sum(float(line["cost_usd"]) for line in used) / len(used)
        return score, cost

    def route(self, needs: dict[str, tuple[float, str]], baseline: str, *, holdout: bool) -> dict[str, Pick]:
        picks: dict[str, Pick] = {}
        for task, (floor, tier) in needs.items():
            best: tuple[float, float, str] | None = None
            for model in sorted(self.trials):
                found = self.expected(model, tier, task if holdout else None)
                if found is None or round(found[0], 6) < floor:
                    continue
                if best is None or (round(found[1], 6), -round(found[0], 6)) < best[:2]:
                    best = (round(found[1], 6), -round(found[0], 6), model)
            model = best[2] if best else baseline
            line = self.trials[model][task]
            known = self.expected(model, tier, task if holdout else None)
            picks[task] = Pick(
                floor=floor,
                tier=tier,
                model=model,
                named=best is not None,
                expected=known[0] if known else None,
                score=float(line["task_score"]),
                cost=float(line["cost_usd"]),
                failed=line["failed"] == "true",
            )
        return picks

    def totals(self, picks: dict[str, Pick], baseline: str) -> dict[str, float]:
        ours = theirs = 0.0
        our_scores, their_scores = [], []
        our_zeros, their_zeros = [], []
        per_task = []
        count = dict.fromkeys(("below", "below_baseline", "failed", "failed_baseline", "switched", "kept"), 0)
        for task, pick in picks.items():
            other = self.trials[baseline][task]
            other_cost, other_score, other_failed = (
                float(other["cost_usd"]),
                float(other["task_score"]),
                other["failed"] == "true",
            )
            ours += pick["cost"]
            theirs += other_cost
            per_task.append(100 * (1 - pick["cost"] / other_cost))
            if not pick["failed"] and not other_failed:
                our_scores.append(pick["score"])
                their_scores.append(other_score)
            our_zeros.append(0.0 if pick["failed"] else pick["score"])
            their_zeros.append(0.0 if other_failed else other_score)
            count["below"] += pick["failed"] or pick["score"] < pick["floor"]
            count["below_baseline"] += other_failed or other_score < pick["floor"]
            count["failed"] += pick["failed"]
            count["failed_baseline"] += other_failed
            count["switched"] += pick["model"] != baseline
            count["kept"] += not pick["named"]
        mean, mean_baseline = sum(our_scores) / len(our_scores), sum(their_scores) / len(their_scores)
        return {
            "tasks": len(picks),
            "tasks_switched": count["switched"],
            "tasks_scored_both_arms": len(our_scores),
            "baseline_total_cost_usd": theirs,
            "routed_total_cost_usd": ours,
            "cost_saving_usd": theirs - ours,
            "cost_saving_pct": 100 * (theirs - ours) / theirs,
            "baseline_mean_score": mean_baseline,
            "routed_mean_score": mean,
            "mean_score_delta": mean - mean_baseline,
            "tasks_below_floor_routed": count["below"],
            "tasks_below_floor_baseline": count["below_baseline"],
            "tasks_failed_routed": count["failed"],
            "tasks_failed_baseline": count["failed_baseline"],
            "quality_delta_pct": 100 * (mean - mean_baseline) / mean_baseline,
            "mean_per_task_saving_pct": sum(per_task) / len(per_task),
            "kept": count["kept"],
            "baseline_mean_score_failures_as_zero": sum(their_zeros) / len(their_zeros),
            "routed_mean_score_failures_as_zero": sum(our_zeros) / len(our_zeros),
        }


def judged_needs(path: Path) -> dict[str, tuple[float, str]]:
    with path.open(encoding="utf-8") as file:
        return {line["task"]: (float(line["floor"]), line["tier"]) for line in csv.DictReader(file)}
