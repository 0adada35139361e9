"""Trials sorted by who did them, and the figures of each by task."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from swetrials.analysis.trial_row import TrialRow
from swetrials.records.leaderboard import Candidate, HostingBasis

Figure = Callable[[TrialRow], float | None]


@dataclass(frozen=True)
class CandidateTrials:
    """All trials of one candidate in one scope."""

    candidate: Candidate
    rows: Sequence[TrialRow]

    @cached_property
    def valid(self) -> list[TrialRow]:
        """The trials that say something about model or agent."""
        return [row for row in self.rows if row.valid]

    @cached_property
    def completed(self) -> list[TrialRow]:
        """The trials that count in the means of scores, costs and times."""
        return [row for row in self.valid if row.completed]

    @cached_property
    def scores(self) -> dict[str, list[float]]:
        """Scores of completed trials by task."""
        return by_task(self.completed, lambda row: row.score)

    @cached_property
    def scores_failures_as_zero(self) -> dict[str, list[float]]:
        """Scores of valid trials by task; one that did not complete counts 0, one without a judgment not at all."""
        if self.completed and not self.scores:
            return {}  # nothing was judged: zeros alone would look like a measured mean
        return by_task(self.valid, lambda row: row.score if row.completed else 0.0)

    @cached_property
    def scores_all(self) -> dict[str, list[float]]:
        """Scores of every trial by task; one without a score counts 0."""
        return by_task(self.rows, _score_or_zero) if self.scores_failures_as_zero else {}

    @cached_property
    def costs(self) -> dict[str, list[float]]:
        """Dollars of completed trials by task; those that are not known are left out."""
        return by_task(self.completed, lambda row: row.cost_usd)

    @property
    def trials_without_cost(self) -> int:
        """Completed trials the cost of which is not known."""
        return sum(row.cost_usd is None for row in self.completed)

    @property
    def known_costs(self) -> dict[str, list[float]]:
        """Dollars by task; nothing when one completed trial has none, since a mean over the rest is of other work."""
        return {} if self.trials_without_cost else self.costs

    @property
    def completions(self) -> dict[str, list[float]]:
        """Of valid trials by task: 1 completed, 0 not."""
        return by_task(self.valid, lambda row: float(row.completed))

    @property
    def tests(self) -> dict[str, list[float]]:
        """Of valid trials with tests by task: 1 passed, 0 not; a trial that did not complete did not pass."""
        if all(row.tests_passed is None for row in self.valid):
            return {}
        return by_task(self.valid, _tests)

    @property
    def hosting(self) -> HostingBasis:
        """What its known costs are worked out from; ``other`` where that is not the same for all."""
        found = {row.hosting for row in self.rows if row.cost_usd is not None}
        return found.pop() if len(found) == 1 else "other"


def by_candidate(rows: Iterable[TrialRow]) -> list[CandidateTrials]:
    """Sort trials by candidate, in the order of the candidates' keys."""
    found: defaultdict[Candidate, list[TrialRow]] = defaultdict(list)
    for row in rows:
        found[Candidate(model=row.model, agent=row.agent, skill=row.skill, provider=row.provider)].append(row)
    return [CandidateTrials(candidate, found[candidate]) for candidate in sorted(found, key=lambda one: one.key)]


def by_task(rows: Iterable[TrialRow], figure: Figure) -> dict[str, list[float]]:
    """Return the figures of each task that are known; a task without any is not there."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        value = figure(row)
        if value is not None:
            found[row.task].append(value)
    return dict(found)


def labels(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return by key what people call each candidate: the model, with what tells it from others of that model."""
    models: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        models[candidate.model].append(candidate)
    return {candidate.key: _label(candidate, models[candidate.model]) for candidate in candidates}


def _label(candidate: Candidate, same_model: Sequence[Candidate]) -> str:
    differing = [
        getattr(candidate, name)
        for name in ("agent", "skill", "provider")
        if len({getattr(other, name) for other in same_model}) > 1
    ]
    return f"{candidate.model} ({', '.join(differing)})" if differing else candidate.model


def _score_or_zero(row: TrialRow) -> float:
    return 0.0 if row.score is None or not (row.valid and row.completed) else row.score


def _tests(row: TrialRow) -> float | None:
    if not row.completed:
        return 0.0
    return None if row.tests_passed is None else float(row.tests_passed)
