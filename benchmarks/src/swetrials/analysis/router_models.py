"""From trials to what a router knows of models."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import cast

import orjson

from swetrials.analysis.trial_row import TrialRow
from swetrials.records.cost import Basis
from swetrials.records.errors import KnownError
from swetrials.records.router_models import RouterMeans, RouterModel, RouterModels, RouterProvenance
from swetrials.store.files import sha256_of

_TIER_ORDER = ("trivial", "low", "medium", "high")
_DIGITS = 6  # a mean of 70.1 and 69.9 reaches a floor of 70, whatever the sum of floats comes to


class RouterModelsError(KnownError):
    """The trials make no one set of figures; the message says how to choose among them."""


def router_models(
    rows: Iterable[TrialRow], *, scope: str | None = None, skill: str | None = None, agent: str | None = None
) -> RouterModels:
    """Return what a router knows of the models that were run.

    Figures of another data set, skill or agent would say nothing about the same work, so all trials have to agree in
    the three.

    Args:
        rows: trials of a results tree.
        scope: take trials of this scope alone; the same for the next two.
        skill: by folder name.
        agent: by folder name.

    Raises:
        RouterModelsError: the trials differ in scope, skill or agent, or a model's in provider; rehearsals are among
            real ones; or none says anything about a model.
    """
    chosen = list(rows)
    for flag, wanted in (("scope", scope), ("skill", skill), ("agent", agent)):
        chosen = _choose(chosen, flag, wanted)
    if len({row.rehearsal for row in chosen}) > 1:
        raise RouterModelsError(
            "some trials are of the rehearsal model and some are not, and nothing compares the two; "
            "choose with --scope, or build from a folder that holds one kind"
        )
    valid = [row for row in chosen if row.valid]
    if not valid:
        raise RouterModelsError(
            f"none of {len(chosen)} trials says anything about a model: each failed for another reason; "
            "run them again with: swetrials run --resume"
        )
    return RouterModels(
        rehearsal=chosen[0].rehearsal,
        provenance=RouterProvenance(
            scope=chosen[0].scope,
            agent=chosen[0].agent,
            skill=chosen[0].skill,
            tasks_by_tier=_tasks_by_tier(valid),
            trials=len(valid),
            trials_left_out=len(chosen) - len(valid),
            sources=tuple(sorted({row.source for row in valid if row.source})),
            trials_sha256=_digest(valid),
        ),
        models=models_of(valid),
    )


def models_of(rows: Iterable[TrialRow]) -> tuple[RouterModel, ...]:
    """Return each model's means over the valid ones of these trials, by name; frontier flags are left open.

    Cheap enough to be done again without one task, which is how a routing is checked on tasks that it has not seen.

    Raises:
        RouterModelsError: a model was run on two providers.
    """
    by_model = _grouped((row for row in rows if row.valid), lambda row: row.model)
    return tuple(_model(name, trials) for name, trials in sorted(by_model.items()))


def _model(name: str, rows: Sequence[TrialRow]) -> RouterModel:
    providers = sorted({row.provider for row in rows})
    if len(providers) > 1:
        raise RouterModelsError(
            f"{name} was run on {' and '.join(providers)}, which have their own costs; "
            f"move the trials of one of them out of the tree: {rows[0].folder} and others"
        )
    bases = {row.cost_basis for row in rows}
    hostings = {row.hosting for row in rows}
    by_tier = _grouped(rows, lambda row: row.tier)
    return RouterModel(
        model=name,
        provider=providers[0],
        hosting=hostings.pop() if len(hostings) == 1 else "other",
        cost_basis=cast(Basis, bases.pop()) if len(bases) == 1 else "mixed",
        tiers={tier: _means(by_tier[tier]) for tier in sorted(by_tier, key=_tier_rank)},
        **_means(rows).model_dump(),
    )


def _means(rows: Sequence[TrialRow]) -> RouterMeans:
    """Return what valid trials of one model come to."""
    completed = [row for row in rows if row.completed]
    costs = _mean_over_tasks(completed, lambda row: row.cost_usd)
    return RouterMeans(
        tasks=len({row.task for row in rows}),
        trials=len(rows),
        completed=len(completed),
        completion=round(len(completed) / len(rows), _DIGITS),
        mean_score=_mean_over_tasks(completed, lambda row: row.score),
        mean_score_failures_as_zero=_mean_over_tasks(rows, lambda row: row.score if row.completed else 0.0),
        mean_cost_usd=None if any(row.cost_usd is None for row in completed) else costs,
        cost_is_lower_bound=any(row.cost_is_lower_bound for row in completed),
    )


def _mean_over_tasks(rows: Iterable[TrialRow], figure: Callable[[TrialRow], float | None]) -> float | None:
    """Return the mean over tasks of the mean over a task's repeats, of trials that have the figure."""
    of_task: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        value = figure(row)
        if value is not None:
            of_task[row.task].append(value)
    if not of_task:
        return None
    return round(fsum(fsum(values) / len(values) for values in of_task.values()) / len(of_task), _DIGITS)


def _choose(rows: list[TrialRow], flag: str, wanted: str | None) -> list[TrialRow]:
    """Return the rows with one value of a field."""
    there = sorted({getattr(row, flag) for row in rows})
    if wanted is None and len(there) > 1:
        raise RouterModelsError(f"the tree mixes {flag}s: {', '.join(there)}; choose one with --{flag}")
    if wanted is not None and wanted not in there:
        raise RouterModelsError(f"--{flag} {wanted}: no trial has it; there are: {', '.join(there) or 'none'}")
    return rows if wanted is None else [row for row in rows if getattr(row, flag) == wanted]


def _grouped(rows: Iterable[TrialRow], key: Callable[[TrialRow], str]) -> dict[str, list[TrialRow]]:
    groups: dict[str, list[TrialRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _tier_rank(tier: str) -> tuple[int, str]:
    return (_TIER_ORDER.index(tier) if tier in _TIER_ORDER else len(_TIER_ORDER)), tier


def _tasks_by_tier(rows: Iterable[TrialRow]) -> dict[str, int]:
    counts = Counter(tier for _, tier in {(row.task, row.tier) for row in rows})
    return {tier: counts[tier] for tier in sorted(counts, key=_tier_rank)}


def _digest(rows: Iterable[TrialRow]) -> str:
    figures = sorted(
        orjson.dumps(
            (
                *(row.model, row.provider, row.task, row.repeat, row.tier),
                *(row.completed, row.score, row.cost_usd, row.cost_basis, row.cost_is_lower_bound),
            )
        )
        for row in rows
    )
    return sha256_of(b"\n".join(figures))
