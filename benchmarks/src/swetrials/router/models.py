"""From trials to what a router knows of models."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

import orjson

from swetrials.errors import KnownError
from swetrials.records.cost import Basis
from swetrials.records.dataset import in_tier_order
from swetrials.records.router_models import RouterFrontier, RouterMeans, RouterModel, RouterModels, RouterProvenance
from swetrials.records.words import counted
from swetrials.results.candidates import CandidateTrials, by_candidate
from swetrials.results.frontier import frontier_places, places_by_hosting
from swetrials.results.mixtures import refuse_mixtures
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.task_values import mean
from swetrials.results.trial_row import TrialRow
from swetrials.store.files import sha256_of

_DIGITS = 6  # a mean of 70.1 and 69.9 reaches a floor of 70, whatever the sum of floats comes to


class RouterModelsError(KnownError):
    """The trials make no one set of figures; the message says how to choose among them."""


def router_models(
    rows: Iterable[TrialRow], *, scope: str | None = None, skill: str | None = None, agent: str | None = None
) -> RouterModels:
    """Return what a router knows of the models that were run.

    Figures of another dataset, skill or agent would say nothing about the same work, so all trials have to agree in
    the three.

    Args:
        rows: trials of a results tree.
        scope: take trials of this scope alone; the same for the next two.
        skill: by folder name.
        agent: by folder name.

    Raises:
        RouterModelsError: the trials differ in scope, skill or agent, or a model's in provider; or none says anything
            about a model.
        MixtureError: the trials may not stand beside each other, such as rehearsals beside real ones.
    """
    chosen = list(rows)
    for flag, wanted in (("scope", scope), ("skill", skill), ("agent", agent)):
        chosen = _choose(chosen, flag, wanted)
    refuse_mixtures(chosen)
    chosen = settled(chosen)
    valid = [row for row in chosen if row.valid]
    if not valid:
        raise RouterModelsError(
            f"{counted(len(chosen), 'trial')}, and none says anything about a model: each failed for another reason; "
            "run them again with: swetrials run --resume"
        )
    return RouterModels(
        rank_by=rank_by_of(chosen),
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
        models=_with_frontier(models_of(valid), by_candidate(valid)),
    )


def models_of(rows: Iterable[TrialRow]) -> tuple[RouterModel, ...]:
    """Return each model's means over the valid ones of these trials, by name; frontier flags are left open.

    Cheap enough to be done again without one task, which is how a routing is checked on tasks that it has not seen.

    Raises:
        RouterModelsError: a model was run on two providers, or by two agents or skills.
    """
    candidates = by_candidate(row for row in rows if row.valid)
    seen: dict[str, CandidateTrials] = {}
    for one in candidates:
        other = seen.setdefault(one.candidate.model, one)
        if other is not one:
            raise RouterModelsError(
                f"{one.candidate.model} has trials of {other.candidate.key} and of {one.candidate.key}, such as "
                f"{one.rows[0].folder}, and a router knows one of each model: keep them in trees apart"
            )
    return tuple(_model(one) for _, one in sorted(seen.items()))


def _model(trials: CandidateTrials) -> RouterModel:
    by_tier: dict[str, list[TrialRow]] = {}
    for row in trials.rows:
        by_tier.setdefault(row.tier, []).append(row)
    return RouterModel(
        model=trials.candidate.model,
        provider=trials.candidate.provider,
        hosting=trials.hosting,
        cost_basis=cast(Basis, trials.cost_basis),
        tiers={tier: _means(CandidateTrials(by_tier[tier], trials.candidate)) for tier in in_tier_order(by_tier)},
        **_means(trials).model_dump(),
    )


def _means(trials: CandidateTrials) -> RouterMeans:
    """Return what valid trials of one model come to, with what is ranked alone."""
    by_resolved = trials.rank_by == "resolved"
    return RouterMeans(
        tasks=len({row.task for row in trials.rows}),
        trials=len(trials.rows),
        completed=len(trials.completed),
        completion=round(trials.completion or 0.0, _DIGITS),
        mean_score=None if by_resolved else _rounded(trials.mean_score),
        mean_score_failures_as_zero=None if by_resolved else _rounded(trials.mean_score_failures_as_zero),
        resolve_rate=_rounded(trials.mean_ranked) if by_resolved else None,
        mean_cost_usd=_rounded(mean(trials.ranked_costs)),
        cost_is_lower_bound=trials.ranked_costs_are_lower_bound,
    )


def _rounded(mean: float | None) -> float | None:
    return None if mean is None else round(mean, _DIGITS)


def _with_frontier(models: Sequence[RouterModel], trials: Sequence[CandidateTrials]) -> tuple[RouterModel, ...]:
    combined, of_hosting = frontier_places(trials), places_by_hosting(trials)
    keys = {one.candidate.model: one.candidate.key for one in trials}
    return tuple(
        model.model_copy(
            update={
                "frontier": RouterFrontier(
                    of_hosting=of_hosting[keys[model.model]].on_frontier,
                    combined=combined[keys[model.model]].on_frontier,
                )
            }
        )
        for model in models
    )


def _choose(rows: list[TrialRow], flag: str, wanted: str | None) -> list[TrialRow]:
    """Return the rows with one value of a field."""
    there = sorted({getattr(row, flag) for row in rows})
    if wanted is None and len(there) > 1:
        raise RouterModelsError(f"the tree mixes {flag}s: {', '.join(there)}; choose one with --{flag}")
    if wanted is not None and wanted not in there:
        raise RouterModelsError(f"--{flag} {wanted}: no trial has it; there are: {', '.join(there) or 'none'}")
    return rows if wanted is None else [row for row in rows if getattr(row, flag) == wanted]


def _tasks_by_tier(rows: Iterable[TrialRow]) -> dict[str, int]:
    counts = Counter(tier for _, tier in {(row.task, row.tier) for row in rows})
    return {tier: counts[tier] for tier in in_tier_order(counts)}


def _digest(rows: Iterable[TrialRow]) -> str:
    figures = sorted(
        orjson.dumps(
            (
                *(row.model, row.provider, row.task, row.repeat, row.tier),
                *(row.completed, row.score, row.cost_usd, row.cost_basis, row.cost_is_lower_bound),
                *((row.counts_resolved,) if row.rank_by == "resolved" else ()),
            )
        )
        for row in rows
    )
    return sha256_of(b"\n".join(figures))
