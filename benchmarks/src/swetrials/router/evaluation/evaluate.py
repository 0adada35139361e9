"""Whether taking the router's advice pays, on tasks whose results are known for every model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from swetrials import __version__
from swetrials.errors import KnownError
from swetrials.records.dataset import TIERS, Complexity, RankBy
from swetrials.records.router_evaluation import (
    CurvePoint,
    EvaluatedTask,
    EvaluationConfig,
    EvaluationProvenance,
    EvaluationRun,
    EvaluationTotals,
    JudgingCost,
    RouterEvaluation,
    UnreachableFloor,
)
from swetrials.records.router_models import ranked_figure
from swetrials.results.ranking import rank_by_of
from swetrials.results.resampling import RESAMPLES, SEED
from swetrials.results.results_tree import read_rows
from swetrials.results.trial_row import TrialRow
from swetrials.router.evaluation.arms import rounded, totals_of
from swetrials.router.evaluation.caveats import caveats
from swetrials.router.evaluation.measured import MeasurementError, one_set, tiers_of
from swetrials.router.evaluation.policies import chance_test, fixed_models, oracle, policies, regret
from swetrials.router.inputs.reading import JudgedTable, Need, read_judged_inputs
from swetrials.router.routing import Needs, Routed, RoutingGround, arm_of, entries_of, route_all
from swetrials.router.rule import RouterRule
from swetrials.store.documents import load_dataset
from swetrials.store.files import sha256_of
from swetrials.store.reading import read_bytes

CURVE_FLOORS = tuple(50 + 2.5 * step for step in range(17))
"""The floors of the curve, 50 to 90."""


class EvaluationError(KnownError):
    """What was asked for cannot be evaluated; the message is one line."""


@dataclass(frozen=True)
class EvaluationRequest:
    """What to evaluate, and on what. ``None`` of the first four: whatever the tree holds, if that is one."""

    data: Path
    harness: str | None = None
    skill: str | None = None
    scope: str | None = None
    dataset: Path | None = None
    judged_inputs: Path | None = None
    floors: tuple[float, ...] = ()
    """One run each. With judged inputs they stand for the judged floors, where there are any; the tiers stay judged."""

    holdout: bool = False
    allowed_file: Path | None = None
    """``None``: the one that lies in the router's skill."""

    no_allow_list: bool = False
    """Every measured model is allowed, whatever a list says."""

    available: tuple[str, ...] | None = None
    baseline: str | None = None
    """``None``: the usable model with the highest mean score, or resolve rate."""

    tie_band: float | None = None
    judge: str | None = None
    """Take this judge's scores, by its name or the beginning of it; ``None``: each trial's headline judge's."""

    rank_by: RankBy | None = None
    """Rank by this, whatever the trials' datasets rank by."""


def evaluate(request: EvaluationRequest, router_skill: Path, tell: Callable[[str], None]) -> RouterEvaluation:
    """Route every task, look up what each pick really scored and cost, and add up.

    Args:
        request: what to evaluate.
        router_skill: the folder of the router's skill, whose ``route.py`` is the rule.
        tell: takes a line for each task and each trial that is left out.

    Raises:
        KnownError: a file, a name or a figure cannot be used; the message says which.
    """
    read = read_rows(request.data, tell, request.judge, request.rank_by)
    rows = one_set(read, agent=request.harness, skill=request.skill, scope=request.scope)
    tiers, left_out = _tiers(rows, request.dataset)
    rows = [replace(row, tier=tiers[row.task]) for row in rows if row.task in tiers]
    table = None if request.judged_inputs is None else read_judged_inputs(request.judged_inputs)
    if table is not None:
        left_out |= _unjudged(tiers, table)
    tiers = {task: tier for task, tier in tiers.items() if task not in left_out}
    if not tiers:
        raise EvaluationError(f"no task of {request.data} is left to evaluate: {_first_reason(left_out)}")
    allowed_file = None if request.no_allow_list else request.allowed_file or router_skill / "allowed-models.txt"
    rule = RouterRule(
        router_skill,
        allowed_file=allowed_file,
        available=request.available,
        tie_band=request.tie_band,
        rank_by=rank_by_of(rows),
    )
    ground = RoutingGround(rows, rule, _baseline(request, rule, rows), tiers)
    for task, reason in left_out.items():
        tell(f"left out: {task}: {reason}")
    runs = tuple(
        _run(ground, needs, floor, holdout=request.holdout) for floor, needs in _policies(request, table, tiers)
    )
    curve_needs = next(_policies(request, table, tiers))[1]
    return RouterEvaluation(
        config=_config(request, ground),
        provenance=_provenance(request, ground),
        runs=runs,
        curve=tuple(_curve(ground, curve_needs, holdout=request.holdout)),
        judging=_judging(table, runs[0]),
        tasks_left_out=left_out,
        caveats=tuple(caveats(ground, runs, holdout=request.holdout)),
    )


def _tiers(rows: Sequence[TrialRow], dataset: Path | None) -> tuple[dict[str, Complexity], dict[str, str]]:
    """Return how hard each task is, and of each task that is left out the reason."""
    measured = {row.task for row in rows if row.valid}
    if dataset is not None:
        listed = {task.id: task.complexity for task in load_dataset(dataset).dataset.tasks}
        left_out = {task: "no model was measured on it" for task in sorted(listed) if task not in measured}
        left_out |= {task: f"not in {dataset}" for task in sorted(measured) if task not in listed}
        return {task: tier for task, tier in sorted(listed.items()) if task in measured}, left_out
    known: dict[str, Complexity] = {tier: tier for tier in TIERS}
    tiers = {task: tier for task, tier in sorted(tiers_of(rows).items()) if task in measured}
    for row in rows:
        if row.task in tiers and row.tier not in known:
            raise MeasurementError(f"{row.folder}: complexity: {row.tier!r} is none of {', '.join(TIERS)}")
    return {task: known[tier] for task, tier in tiers.items()}, {}


def _unjudged(tiers: Mapping[str, Complexity], table: JudgedTable) -> dict[str, str]:
    unjudged = {task: "no judgment of what it needs" for task in tiers if task not in table.needs}
    return unjudged | {task: "judged, but no model was measured on it" for task in table.needs if task not in tiers}


def _first_reason(left_out: Mapping[str, str]) -> str:
    return next((f"{task}: {reason}" for task, reason in left_out.items()), "no trial says anything about a model")


def _baseline(request: EvaluationRequest, rule: RouterRule, rows: Sequence[TrialRow]) -> str:
    entries = entries_of(rows)
    if request.baseline is not None:
        return rule.model_named(entries, request.baseline)
    usable = set(rule.usable(entries))
    figure = ranked_figure(rank_by_of(rows))
    scored = [(entry[figure], entry["model"]) for entry in entries if entry["model"] in usable]
    if not scored:
        name, why = next(iter(rule.reasons_against(entries).items()))
        raise EvaluationError(
            f"none of the measured models may be used, {name} as: {why}; give a --baseline, or another list"
        )
    return str(max(scored, key=lambda one: (one[0], one[1]))[1])


def _policies(
    request: EvaluationRequest, table: JudgedTable | None, tiers: Mapping[str, Complexity]
) -> Iterator[tuple[float | None, Needs]]:
    """Yield each floor with what the tasks need under it; ``None`` and each task's own with judged inputs alone."""
    judged = None if table is None else {task: table.needs[task] for task in tiers}
    if judged is not None and not request.floors:
        yield None, judged
    for floor in request.floors:
        yield floor, {task: Need(floor, judged[task].tier if judged else tier) for task, tier in tiers.items()}


def _run(ground: RoutingGround, needs: Needs, floor: float | None, *, holdout: bool) -> EvaluationRun:
    routed = route_all(ground, needs, holdout=holdout)
    in_sample = route_all(ground, needs, holdout=False) if holdout else None
    knowing: Sequence[Routed | None] = [None] * len(routed) if in_sample is None else in_sample
    return EvaluationRun(
        floor_policy="judged" if floor is None else "fixed",
        floor=floor,
        holdout=holdout,
        unreachable=tuple(_unreachable(ground, needs)),
        rows=tuple(_row(ground, one, other) for one, other in zip(routed, knowing, strict=True)),
        totals=_totals(ground, routed),
        in_sample_totals=None if in_sample is None else _totals(ground, in_sample),
        policies=tuple(policies(ground, needs, routed, in_sample)),
        fixed_models=tuple(fixed_models(ground, needs)),
        regret=regret(ground, routed),
        chance=chance_test(ground, routed),
    )


def _totals(ground: RoutingGround, routed: Sequence[Routed]) -> EvaluationTotals:
    return totals_of(arm_of(routed), ground.baseline, [one.advice.status for one in routed])


def _row(ground: RoutingGround, one: Routed, in_sample: Routed | None) -> EvaluatedTask:
    outcome, used = one.outcome, one.outcome.arm
    baseline, best = outcome.baseline, oracle(ground, one.task, one.need.floor)
    tier = ground.tiers[one.task]
    cost_delta = _less(used.cost_usd, baseline.cost_usd)
    return EvaluatedTask(
        task=one.task,
        complexity=one.need.tier,
        floor=one.need.floor,
        baseline_model=ground.baseline,
        baseline_score=rounded(baseline.score),
        baseline_cost_usd=rounded(baseline.cost_usd),
        baseline_failed=baseline.failed,
        router_status=one.advice.status,
        recommended_model=one.advice.model,
        predicted_score=rounded(one.advice.expected.get(outcome.model)),
        actual_score=rounded(used.score),
        actual_cost_usd=rounded(used.cost_usd),
        actual_failed=used.failed,
        switched=outcome.model != ground.baseline,
        score_delta=rounded(_less(used.score, baseline.score)),
        cost_delta_usd=rounded(cost_delta),
        cost_saving_pct=rounded(-100 * cost_delta / baseline.cost_usd)
        if cost_delta is not None and baseline.cost_usd
        else None,
        met_floor=used.meets(one.need.floor),
        cost_basis=used.cost_basis,
        dataset_complexity=tier,
        tier_matches_dataset=one.need.tier == tier,
        used_model=outcome.model,
        tied_with=one.advice.tied_with,
        baseline_met_floor=baseline.meets(one.need.floor),
        cost_is_lower_bound=used.cost_is_lower_bound or baseline.cost_is_lower_bound,
        oracle_model=best.model,
        oracle_score=rounded(best.arm.score),
        oracle_cost_usd=rounded(best.arm.cost_usd),
        in_sample_model=None if in_sample is None else in_sample.outcome.model,
    )


def _unreachable(ground: RoutingGround, needs: Needs) -> Iterator[UnreachableFloor]:
    for need in sorted(set(needs.values()), key=lambda need: (TIERS.index(need.tier), need.floor)):
        advice = ground.rule.advise(ground.entries, need.tier, need.floor)
        if advice.status != "ok":
            yield UnreachableFloor(
                complexity=need.tier,
                floor=need.floor,
                tasks=tuple(task for task, wanted in needs.items() if wanted == need),
                status=advice.status,
                nearest_model=advice.nearest,
                nearest_score=rounded(advice.expected.get(advice.nearest)) if advice.nearest else None,
            )


def _curve(ground: RoutingGround, needs: Needs, *, holdout: bool) -> Iterator[CurvePoint]:
    for held_out in (True, False) if holdout else (False,):
        for floor in CURVE_FLOORS:
            routed = route_all(ground, {task: Need(floor, need.tier) for task, need in needs.items()}, holdout=held_out)
            arm = arm_of(routed)
            yield CurvePoint(
                floor=floor,
                holdout=held_out,
                total_cost_usd=rounded(arm.cost_usd),
                cost_saving_pct=rounded(arm.saving_pct),
                mean_score=rounded(arm.score),
                mean_score_delta=rounded(arm.score_delta),
                tasks_below_floor=arm.below_floor,
                tasks_failed=arm.failed,
                tasks_kept_on_baseline=sum(one.advice.model is None for one in routed),
            )


def _judging(table: JudgedTable | None, run: EvaluationRun) -> JudgingCost | None:
    if table is None or table.record is None:
        return None
    cost, totals = table.record.cost, run.totals
    net = _less(totals.cost_saving_usd, cost.amount_usd)
    whole = totals.baseline_total_cost_usd
    return JudgingCost(
        judgments=table.record.judged,
        cost_usd=rounded(cost.amount_usd),
        cost_is_lower_bound=cost.status == "lower_bound",
        net_saving_usd=rounded(net),
        net_saving_pct=rounded(100 * net / whole) if net is not None and whole else None,
    )


def _config(request: EvaluationRequest, ground: RoutingGround) -> EvaluationConfig:
    first = ground.rows[0]
    return EvaluationConfig(
        data=request.data.as_posix(),
        harness=first.agent,
        skill=first.skill,
        scope=first.scope,
        dataset=_text(request.dataset),
        judged_inputs=_text(request.judged_inputs),
        floors=request.floors,
        holdout=request.holdout,
        allow_list="none" if request.no_allow_list else "own" if request.allowed_file is None else "given",
        allowed_file=_text(request.allowed_file),
        available=request.available,
        baseline=ground.baseline,
        baseline_chosen="highest_mean_score" if request.baseline is None else "given",
        rank_by=ground.rank_by,
        rank_by_given=request.rank_by is not None,
        tie_band=ground.rule.tie_band,
        tie_band_given=request.tie_band is not None,
        seed=SEED,
        resamples=RESAMPLES,
    )


def _provenance(request: EvaluationRequest, ground: RoutingGround) -> EvaluationProvenance:
    rows = ground.rows
    figures = sorted(
        orjson.dumps(
            (
                *(row.model, row.task, row.repeat, row.tier, row.valid, row.completed, row.score, row.cost_usd),
                *((row.counts_resolved,) if row.rank_by == "resolved" else ()),
            )
        )
        for row in rows
    )
    return EvaluationProvenance(
        harness_version=__version__,
        trials=len(rows),
        models=ground.measurements.models,
        sources=tuple(sorted({row.source for row in rows if row.source})),
        rehearsal=any(row.rehearsal for row in rows),
        trials_sha256=sha256_of(b"\n".join(figures)),
        route_sha256=ground.rule.sha256,
        judged_inputs_sha256=_digest(request.judged_inputs),
        dataset_sha256=_digest(request.dataset),
    )


def _digest(path: Path | None) -> str | None:
    return None if path is None else sha256_of(read_bytes(path))


def _text(path: Path | None) -> str | None:
    return None if path is None else path.as_posix()


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
