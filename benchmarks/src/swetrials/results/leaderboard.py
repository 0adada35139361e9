"""All candidates of one scope side by side, each figure with its interval and each pair with its verdict."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import Final

from swetrials.records.leaderboard import (
    LEVEL,
    Leaderboard,
    ModelStanding,
    PairedDifference,
    TieBand,
    Verdict,
)
from swetrials.results.candidates import by_candidate, labels
from swetrials.results.frontier import frontier_places, places_by_hosting
from swetrials.results.leaderboard_caveats import caveats
from swetrials.results.mixtures import refuse_mixtures
from swetrials.results.paired import holm, paired
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.resampling import RESAMPLES, SEED
from swetrials.results.standings import standing
from swetrials.results.trial_row import TrialRow

SIGNIFICANCE: Final = 1 - LEVEL


def leaderboard(rows: Sequence[TrialRow], *, tie_band: float | None = None, dataset: str | None = None) -> Leaderboard:
    """Set the candidates of one scope beside each other.

    Args:
        rows: the trials, in any order; it changes nothing.
        tie_band: points within which two count as equal, whatever the trials could tell apart; without it the band is
            derived from their noise, and each pair's verdict from the pair alone.
        dataset: what the tasks are from, to be named; the rows' own word where it is not given.

    Raises:
        MixtureError: there is no trial, or they are of several scopes, of several wordings of a task, of several
            sources for one candidate, or rehearsals beside real trials.
    """
    refuse_mixtures(rows)
    rows = settled(rows)
    everyone = by_candidate(sorted(rows, key=lambda row: row.folder))
    named = labels([one.candidate for one in everyone])
    combined = frontier_places(everyone)
    of_hosting = places_by_hosting(everyone)
    standings = sorted(
        (
            standing(one, named[key], of_hosting=of_hosting[key], combined=combined[key])
            for one in everyone
            if (key := one.candidate.key)
        ),
        key=_order,
    )
    trials = {one.candidate.key: one for one in everyone}
    compared = [paired(trials[a.key], trials[b.key]) for a, b in combinations(standings, 2)]
    pairs = tuple(judged(compared, tie_band))
    datasets = sorted({row.dataset for row in rows if row.dataset is not None})
    return Leaderboard(
        scope=rows[0].scope,
        dataset=dataset or ", ".join(datasets) or None,
        rank_by=rank_by_of(rows),
        rehearsal=rows[0].rehearsal,
        tasks=tuple(sorted({row.task for row in rows})),
        standings=tuple(standings),
        pairs=pairs,
        tie_band=_tie_band(standings, pairs, tie_band),
        seed=SEED,
        resamples=RESAMPLES,
        caveats=tuple(caveats(standings, rows)),
    )


def judged(pairs: Sequence[PairedDifference], tie_band: float | None) -> Iterator[PairedDifference]:
    """Yield each pair with its p adjusted for all of them, and the verdict that follows."""
    scores = _adjusted([pair.p for pair in pairs])
    completions = _adjusted([pair.completion_p for pair in pairs])
    for pair, p, completion_p in zip(pairs, scores, completions, strict=True):
        verdict = _verdict(pair.difference.value, p, tie_band)
        yield pair.model_copy(update={"p_holm": p, "completion_p_holm": completion_p, "verdict": verdict})


def _adjusted(ps: Sequence[float | None]) -> list[float | None]:
    """Return the p-values adjusted for all that were tested."""
    adjusted = iter(holm([p for p in ps if p is not None]))
    return [None if p is None else next(adjusted) for p in ps]


def _verdict(difference: float | None, p: float | None, tie_band: float | None) -> Verdict:
    if difference is None or p is None:
        return "unknown"
    if p > SIGNIFICANCE or abs(difference) <= (tie_band or 0):
        return "tied"
    return "better" if difference > 0 else "worse"


def _order(one: ModelStanding) -> tuple[bool, float, bool, float, str]:
    figure, cost = one.ranked.value, one.ranked_cost_usd.value
    return figure is None, -(figure or 0), cost is None, cost or 0, one.key


def _tie_band(standings: Sequence[ModelStanding], pairs: Sequence[PairedDifference], fixed: float | None) -> TieBand:
    if fixed is not None:
        return TieBand(points=fixed, fixed=True, derivation="given")
    neighbours = {(a.key, b.key) for a, b in pairwise(standings)}
    widths = [
        width for pair in pairs if (pair.a, pair.b) in neighbours and (width := pair.difference.half_width) is not None
    ]
    if not widths:
        return TieBand(points=None, fixed=False, derivation="unknown: no two candidates share two tasks to compare")
    return TieBand(
        points=median(widths),
        fixed=False,
        derivation=f"half the {LEVEL:.0%} interval of the difference of two neighbours on the list, "
        f"median of {len(widths)}",
    )
