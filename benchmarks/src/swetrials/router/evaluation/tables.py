"""The tables of an evaluation of the router, for the terminal and for markdown alike."""

import re
from collections.abc import Sequence

from swetrials.records.dataset import RankBy
from swetrials.records.router_evaluation import (
    CurvePoint,
    EvaluatedTask,
    EvaluationRun,
    EvaluationTotals,
    PolicyTotals,
    UnreachableFloor,
)
from swetrials.results.ranking import WORDS
from swetrials.results.report.wording import UNKNOWN, score
from swetrials.router.evaluation.wording import dollars, percent, points, with_interval

Rows = list[tuple[str, ...]]

_ROUTED = {"router", "router_in_sample", "random_at_router_mix", "oracle"}
"""Policies that may take another model for each task."""

POLICY_COLUMNS = ("policy", "total cost", "saved", "mean score", "change", "below floor", "failed", "models")
MODEL_COLUMNS = ("model on everything", "total cost", "saved", "mean score", "change", "below floor", "failed")
FLOOR_COLUMNS = (
    "floor", "total cost", "saved", "mean score", "change", "below floor", "failed", "kept on baseline", "models",
)  # fmt: skip
TASK_COLUMNS = (
    "task", "tier", "floor", "picked", "expected", "score", "cost", "baseline's score", "baseline's cost",
    "floor reached", "cheapest that reached it",
)  # fmt: skip
CURVE_COLUMNS = ("floor", "total cost", "saved", "mean score", "below floor", "kept on baseline", "saved", "mean score")
UNREACHABLE_COLUMNS = ("tier", "floor", "nearest", "expected", "tasks")
IN_SAMPLE_COLUMNS = ("", "held out", "in sample")


def in_words(columns: Sequence[str], rows: Rows, rank_by: RankBy) -> tuple[Sequence[str], Rows]:
    """Return a table as it is called where something else than scores is ranked: heads renamed, empty columns gone."""
    if rank_by == "rubric":
        return columns, rows
    kept = [index for index, name in enumerate(columns) if name != "failed"]
    heads = [re.sub("(mean )?score", WORDS[rank_by].figure, columns[index]) for index in kept]
    return heads, [tuple(row[index] for index in kept) for row in rows]


def policy_rows(run: EvaluationRun, rank_by: RankBy) -> Rows:
    """Return the ways to choose models, the baseline first. What only hindsight can choose is marked."""
    known = "held out" if run.holdout else "in sample"
    rows: Rows = []
    for line in run.policies:
        # One model can be the best in more than one way: then one line tells them all.
        same = [other for other in run.policies if line.model and other.model == line.model]
        if not same or same[0] is line:
            rows.append((_policy(same or [line], known, rank_by), *_figures(line), _models(line.model_counts)))
    return rows


def model_rows(lines: Sequence[PolicyTotals]) -> Rows:
    """Return each measured model on everything."""
    return [(line.model or UNKNOWN, *_figures(line)) for line in lines]


def floor_rows(runs: Sequence[EvaluationRun]) -> Rows:
    """Return the runs of a sweep, one line each; what the baseline comes to stands in brackets."""
    return [
        (
            UNKNOWN if run.floor is None else f"{run.floor:g}",
            dollars(run.totals.routed_total_cost_usd),
            with_interval(run.totals.cost_saving_pct_estimate, percent),
            score(run.totals.routed_mean_score),
            with_interval(run.totals.mean_score_delta_estimate, points),
            f"{run.totals.tasks_below_floor_routed} ({run.totals.tasks_below_floor_baseline})",
            f"{run.totals.tasks_failed_routed} ({run.totals.tasks_failed_baseline})",
            str(sum(run.totals.tasks_kept_on_baseline.values())),
            _models({model: float(count) for model, count in run.totals.model_counts.items()}),
        )
        for run in runs
    ]


def task_rows(rows: Sequence[EvaluatedTask]) -> Rows:
    """Return what became of each task."""
    return [
        (
            row.task,
            row.complexity if row.tier_matches_dataset else f"{row.complexity} (dataset: {row.dataset_complexity})",
            f"{row.floor:g}",
            row.used_model if row.recommended_model else f"{row.used_model} (kept: {_in_words(row.router_status)})",
            score(row.predicted_score),
            "failed" if row.actual_failed else score(row.actual_score),
            dollars(row.actual_cost_usd),
            "failed" if row.baseline_failed else score(row.baseline_score),
            dollars(row.baseline_cost_usd),
            UNKNOWN if row.met_floor is None else "yes" if row.met_floor else "no",
            _oracle(row),
        )
        for row in rows
    ]


def unreachable_rows(floors: Sequence[UnreachableFloor]) -> Rows:
    """Return the floors that no model is expected to reach."""
    return [
        (
            floor.complexity,
            f"{floor.floor:g}",
            floor.nearest_model or UNKNOWN,
            score(floor.nearest_score),
            ", ".join(floor.tasks),
        )
        for floor in floors
    ]


def in_sample_rows(held_out: EvaluationTotals, in_sample: EvaluationTotals, rank_by: RankBy) -> Rows:
    """Return the totals with and without each task's own trials among what the router knew."""
    both = (held_out, in_sample)
    zeros, failed = "mean score, failures as 0", "failed"
    rows = [
        ("total cost", *(dollars(totals.routed_total_cost_usd) for totals in both)),
        ("saved", *(with_interval(totals.cost_saving_pct_estimate, percent) for totals in both)),
        ("mean of the tasks' savings", *(percent(totals.mean_per_task_saving_pct) for totals in both)),
        (WORDS[rank_by].mean, *(score(totals.routed_mean_score) for totals in both)),
        ("change", *(with_interval(totals.mean_score_delta_estimate, points) for totals in both)),
        (zeros, *(score(totals.routed_mean_score_failures_as_zero) for totals in both)),
        ("below floor", *(str(totals.tasks_below_floor_routed) for totals in both)),
        (failed, *(str(totals.tasks_failed_routed) for totals in both)),
        ("switched", *(str(totals.tasks_switched) for totals in both)),
        ("kept on baseline", *(str(sum(totals.tasks_kept_on_baseline.values())) for totals in both)),
        ("models", *(_models({name: float(n) for name, n in totals.model_counts.items()}) for totals in both)),
    ]
    # In a resolve rate failures are.
    return [row for row in rows if rank_by == "rubric" or row[0] not in (zeros, failed)]


def curve_rows(points_: Sequence[CurvePoint], *, holdout: bool) -> Rows:
    """Return the curve over floors; the last two columns are in sample, where the others are held out."""
    in_sample = {point.floor: point for point in points_ if not point.holdout}
    rows: Rows = []
    for point in points_:
        if point.holdout != holdout:
            continue
        known = in_sample[point.floor]
        cells = (
            f"{point.floor:g}",
            dollars(point.total_cost_usd),
            percent(point.cost_saving_pct),
            score(point.mean_score),
            str(point.tasks_below_floor),
            str(point.tasks_kept_on_baseline),
        )
        rows.append((*cells, percent(known.cost_saving_pct), score(known.mean_score)) if holdout else cells)
    return rows


def _figures(line: PolicyTotals) -> tuple[str, ...]:
    return (
        dollars(line.total_cost_usd),
        with_interval(line.cost_saving_pct, percent),
        score(line.mean_score),
        with_interval(line.mean_score_delta, points),
        f"{line.tasks_below_floor:g}",
        f"{line.tasks_failed:g}",
    )


_WAYS = {
    "baseline": "the baseline",
    "cheapest": "the cheapest",
    "best_single_model": "the highest {mean}",
    "single_model_as_good": "the cheapest that is as good as the router *",
    "router": "the router, {known}",
    "router_in_sample": "the router, in sample *",
    "random_at_router_mix": "at random, mixed as the router's picks (expected)",
    "oracle": "the oracle: the cheapest that reached the floor *",
}


def _policy(same: Sequence[PolicyTotals], known: str, rank_by: RankBy) -> str:
    ways = [_WAYS[line.policy].format(known=known, mean=WORDS[rank_by].mean) for line in same]
    if any(line.policy in _ROUTED for line in same):
        return "; ".join(ways)
    return f"{same[0].model} on everything: {'; '.join(ways)}"


def _oracle(row: EvaluatedTask) -> str:
    if row.oracle_score is None or row.oracle_score < row.floor:
        return "none"
    return f"{row.oracle_model} ({score(row.oracle_score)}, {dollars(row.oracle_cost_usd)})"


def _models(counts: dict[str, float]) -> str:
    return ", ".join(f"{model} {count:g}" for model, count in counts.items())


def _in_words(status: str) -> str:
    return {"nothing_clears_floor": "none clears the floor", "no_candidates": "no candidate"}.get(status, status)
