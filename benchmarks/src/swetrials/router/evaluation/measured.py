"""What each model really did on each task: the figures that a router's picks are looked up in."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from swetrials.errors import KnownError
from swetrials.results.figures import Figures
from swetrials.results.mixtures import refuse_mixtures
from swetrials.results.ranking import settled
from swetrials.results.task_values import mean
from swetrials.results.trial_row import TrialRow


class MeasurementError(KnownError):
    """Trials that cannot be looked up as one set; the message says which, and what mends it."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One model on one task: means over the valid repeats. Without a valid repeat, nothing is known."""

    score: float | None = None
    """What is ranked, 0 to 100: mean score of the completed repeats, or in percent how many resolved the task."""

    score_failures_as_zero: float | None = None
    """The same with 0 for each repeat that failed; in a resolve rate these are 0, always."""

    cost_usd: float | None = None
    """Mean over all repeats, failed ones too; ``None``: one of them has no price."""

    failed: bool | None = None
    """No repeat completed, so that there is no score; a failure has a resolve rate."""

    cost_basis: str | None = None
    cost_is_lower_bound: bool = False
    trials: int = 0
    """Valid repeats."""

    verdicts: tuple[float, ...] = ()
    """Where resolve rates are ranked, of each repeat in the rate: 1 resolved, 0 not."""

    def meets(self, floor: float) -> bool | None:
        """Whether the score reaches a floor; a failure does not, and without score or failure nobody knows."""
        if self.failed:
            return False
        return None if self.score is None else self.score >= floor


UNMEASURED = Measurement()


class Measurements:
    """Every model on every task of one agent, skill and scope."""

    def __init__(self, rows: Iterable[TrialRow]) -> None:
        """Group trials by model and task; those that failed for another reason than model or agent are left out."""
        grouped: dict[tuple[str, str], list[TrialRow]] = defaultdict(list)
        for row in rows:
            if row.valid:
                grouped[row.model, row.task].append(row)
        self._by_key = {key: _measurement(repeats) for key, repeats in grouped.items()}
        self.models = tuple(sorted({model for model, _ in self._by_key}))
        self.tasks = tuple(sorted({task for _, task in self._by_key}))

    def of(self, model: str, task: str) -> Measurement:
        """Return what a model did on a task; all figures unknown where it was not measured."""
        return self._by_key.get((model, task), UNMEASURED)


def _measurement(repeats: Sequence[TrialRow]) -> Measurement:
    of_task = Figures(repeats)
    by_resolved = of_task.rank_by == "resolved"
    return Measurement(
        score=of_task.mean_ranked,
        score_failures_as_zero=of_task.mean_ranked if by_resolved else of_task.mean_score_failures_as_zero,
        cost_usd=mean(of_task.costs_of_valid),
        failed=not by_resolved and not of_task.completed,
        cost_basis=" and ".join(sorted({row.cost_basis for row in repeats})),
        cost_is_lower_bound=any(row.cost_is_lower_bound for row in repeats),
        trials=len(repeats),
        verdicts=tuple(of_task.resolve.values.get(repeats[0].task, ())) if by_resolved else (),
    )


_CHOICES: tuple[tuple[str, Callable[[TrialRow], str]], ...] = (
    ("--harness", lambda row: row.agent),
    ("--skill", lambda row: row.skill),
    ("--scope", lambda row: row.scope),
)


def one_set(rows: Sequence[TrialRow], *, agent: str | None, skill: str | None, scope: str | None) -> list[TrialRow]:
    """Return the trials of one agent, one skill and one scope, which are the only ones that can stand for each other.

    Rehearsals are left out beside real trials.

    Raises:
        MeasurementError: none is left, or several agents, skills or scopes are and none was chosen.
        MixtureError: a task was worded differently in two of them, or a model's figures are from two sources.
    """
    kept = [row for row in rows if not row.rehearsal] or list(rows)
    for (flag, of), chosen in zip(_CHOICES, (agent, skill, scope), strict=True):
        found = sorted({of(row) for row in kept})
        if chosen is None and len(found) > 1:
            raise MeasurementError(f"the trials are of {', '.join(found)}, which cannot be mixed: choose with {flag}")
        if chosen is not None and chosen not in found:
            raise MeasurementError(f"{flag} {chosen}: no such trials; there are {', '.join(found)}")
        kept = [row for row in kept if chosen in (None, of(row))]
    refuse_mixtures(kept)
    return settled(kept)


def tiers_of(rows: Iterable[TrialRow]) -> Mapping[str, str]:
    """Return the difficulty of each task.

    Raises:
        MeasurementError: two trials of one task disagree.
    """
    tiers: dict[str, tuple[str, str]] = {}
    for row in rows:
        tier, folder = tiers.setdefault(row.task, (row.tier, row.folder))
        if tier != row.tier:
            raise MeasurementError(
                f"task {row.task} is {tier} in {folder} and {row.tier} in {row.folder}: say which with --dataset"
            )
    return {task: tier for task, (tier, _) in tiers.items()}
