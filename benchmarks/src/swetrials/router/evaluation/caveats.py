"""What a reader has to know before believing an evaluation, each told where it applies."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from swetrials.records.dataset import RankBy
from swetrials.records.router_evaluation import EvaluationRun
from swetrials.router.routing import RoutingGround


def caveats(ground: RoutingGround, runs: Sequence[EvaluationRun], *, holdout: bool) -> Iterator[str]:
    """Yield a sentence for each doubt that these trials leave."""
    rows, tasks = ground.rows, len(ground.tiers)
    if any(row.rehearsal for row in rows):
        yield "The trials are of a scripted model: these are figures of the harness, and say nothing about any model."
    if not holdout:
        yield "Each task's own trials are among what the router knew of it, which flatters the router: see --holdout."
    if len(repeats := {row.repeat for row in rows if row.valid}) == 1:
        yield "Each model did each task once: how much another go would differ is in no interval."
    else:
        yield f"A task's figures are means over up to {len(repeats)} repeats of it."
    yield (
        f"The intervals tell how much depends on the choice of these {tasks} tasks, with the picks as they are; tasks "
        f"of another kind than those of {rows[0].scope} are not covered."
    )
    yield _OF_FLOORS[ground.rank_by]
    if holdout and (thin := _thinnest(ground)) is not None:
        yield thin
    if bases := _bases(ground):
        yield bases
    if any(run.totals.cost_is_lower_bound for run in runs):
        yield "Some costs are lower bounds: the true totals are higher."
    if wrong := [row for row in runs[0].rows if not row.tier_matches_dataset]:
        yield (
            f"{len(wrong)} of {tasks} tasks were routed by another tier than the dataset's, whose tiers the means are "
            "sorted by."
        )
    if any(run.totals.tasks_failed_routed or run.totals.tasks_failed_baseline for run in runs):
        yield (
            "A task that failed outright is below its floor and in the costs, but has no score: the mean scores leave "
            "it out, the means with failures as 0 do not."
        )
    if unmeasured := sum(row.actual_failed is None for row in runs[0].rows):
        yield f"On {unmeasured} of {tasks} tasks the model that the router picked was never run: these are in no total."


_OF_FLOORS: Final[Mapping[RankBy, str]] = {
    "rubric": "A floor is compared with one judge's scores; nobody has checked whether work above it was good enough.",
    "resolved": "A floor is compared with resolve rates; a task that was run once is at 0 or 100, and so reaches every "
    "floor or none.",
}


def _thinnest(ground: RoutingGround) -> str | None:
    sizes = Counter(ground.tiers.values())
    tier, size = min(sizes.items(), key=lambda item: (item[1], item[0]))
    others = size - 1
    stands = f"{others} task{'' if others == 1 else 's'}" if others else "all other tiers"
    return f"Held out, a model's mean at the tier {tier} stands on {stands} only."


def _bases(ground: RoutingGround) -> str | None:
    bases = sorted({row.cost_basis for row in ground.rows if row.cost_usd is not None and row.cost_basis})
    if len(bases) < 2:
        return None
    named = f"{', '.join(bases[:-1])} and {bases[-1]}"
    return f"Costs of different bases are added and compared ({named}); they are not quite alike."
