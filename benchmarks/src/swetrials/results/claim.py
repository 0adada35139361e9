"""What two runs over shared tasks allow to be claimed."""

from collections.abc import Sequence

from swetrials.records.claim import Claim, CostRatio
from swetrials.records.leaderboard import Estimate
from swetrials.results.candidates import CandidateTrials, by_candidate
from swetrials.results.leaderboard import SIGNIFICANCE, judged
from swetrials.results.mixtures import (
    MixtureError,
    refuse_mixtures,
    refuse_rehearsals_beside_real,
    refuse_several_scorings,
)
from swetrials.results.paired import paired, ratio_of_means, sign_flip_p, task_differences
from swetrials.results.power import settling
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.trial_row import TrialRow


def claim(first: Sequence[TrialRow], second: Sequence[TrialRow], *, tie_band: float | None = None) -> Claim:
    """Compare two runs: difference of scores or resolve rates, ratio of costs, and what would settle an open question.

    Args:
        first: the trials of one run.
        second: those of another, over tasks that were worded the same.
        tie_band: points within which two scores count as equal, whatever the trials could tell apart.

    Raises:
        MixtureError: they may not stand beside each other, or one is of several candidates.
    """
    refuse_rehearsals_beside_real((*first, *second))
    refuse_several_scorings((*first, *second))
    together = settled((*first, *second))
    a, b = _only_candidate(together[: len(first)]), _only_candidate(together[len(first) :])
    [score] = judged([paired(a, b)], tie_band)
    return Claim(
        rank_by=rank_by_of(together),
        rehearsal=first[0].rehearsal,
        score=score,
        cost=_cost_ratio(a, b),
        settling=settling(a.ranked, b.ranked) if score.p is not None and score.p > SIGNIFICANCE else None,
    )


def _only_candidate(rows: Sequence[TrialRow]) -> CandidateTrials:
    refuse_mixtures(rows)
    found = by_candidate(rows)
    if len(found) > 1:
        raise MixtureError(f"one side of the comparison is several: {', '.join(one.candidate.key for one in found)}")
    return found[0]


def _cost_ratio(a: CandidateTrials, b: CandidateTrials) -> CostRatio:
    if a.ranked_without_cost or b.ranked_without_cost:
        return CostRatio(ratio=Estimate())
    differences = task_differences(a.ranked_costs, b.ranked_costs)
    return CostRatio(
        ratio=ratio_of_means(a.ranked_costs, b.ranked_costs),
        p=sign_flip_p(differences) if len(differences) > 1 else None,
        lower_bound=a.ranked_costs_are_lower_bound or b.ranked_costs_are_lower_bound,
        same_basis=a.hosting == b.hosting,
    )
