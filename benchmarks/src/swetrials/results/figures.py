"""Every figure of a set of trials, defined once: what is added, over which trials, with which weights.

Summary, results, report, comparison, SQL, the router and the power simulation take their figures from here, so that one
word has one formula. These rules hold for all of them:

* **Weights.** A *mean* or a *share* is the mean over tasks of each task's mean over its repeats: a task that was run
  three times weighs as much as one that was run once. A *count* and a *total* are over trials.
* **Denominators.** *Valid* trials are those that model or agent answer for: completed ones and their own failures. What
  failed for another reason is in no mean but that over all trials. A failed trial has no score of its own, whatever a
  judge said of what it left: it is out of the mean of completed trials, and 0 where failures count.
* **Ranked** is the score, or in percent the tasks resolved (:mod:`swetrials.results.resolve_figures`), as
  :mod:`swetrials.results.ranking` says.
* **Unknown.** A figure that no trial tells is ``None``. A mean cost of which one trial is unknown is unknown, for the
  rest would be of other work; means of tokens, turns and seconds are over the trials that tell them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from operator import attrgetter

from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import HostingBasis
from swetrials.results.resolve_figures import ResolveFigures
from swetrials.results.task_values import Values, by_task, mean, of_all
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class Figures:
    """The figures of some trials of one candidate. What gives :data:`Values` is a mean's material, by task."""

    rows: Sequence[TrialRow]

    @cached_property
    def valid(self) -> list[TrialRow]:
        """The trials that say something about model or agent."""
        return [row for row in self.rows if row.valid]

    @cached_property
    def completed(self) -> list[TrialRow]:
        """The valid trials in which what was asked was done, however well."""
        return [row for row in self.valid if row.completed]

    # Counts, over trials.

    @property
    def trials(self) -> int:
        """All trials."""
        return len(self.rows)

    @property
    def failed(self) -> int:
        """Valid trials that did not complete: the model's or the agent's failures."""
        return len(self.valid) - len(self.completed)

    @property
    def infrastructure(self) -> int:
        """Trials that are not valid: they failed for another reason than model or agent."""
        return self.trials - len(self.valid)

    @property
    def scored(self) -> int:
        """Completed trials with a score."""
        return sum(row.score is not None for row in self.completed)

    @property
    def unscored(self) -> int:
        """Completed trials without a score: not judged, or the judge failed."""
        return len(self.completed) - self.scored

    @property
    def judged(self) -> int:
        """Trials that a judge gave points to, failed ones too, whose points are in no mean."""
        return sum(row.judged_score is not None for row in self.rows)

    @property
    def tests_run(self) -> int:
        """Valid trials on whose patch the tests gave a verdict."""
        return sum(row.tests_passed is not None for row in self.valid)

    @property
    def tests_passed(self) -> int:
        """Valid trials whose tests passed."""
        return sum(row.tests_passed is True for row in self.valid)

    @property
    def costs_known(self) -> int:
        """Completed trials of known cost."""
        return len(self.completed) - self.trials_without_cost

    @property
    def trials_without_cost(self) -> int:
        """Completed trials the cost of which is not known."""
        return sum(row.cost_usd is None for row in self.completed)

    # What is ranked.

    @cached_property
    def resolve(self) -> ResolveFigures:
        """What says whether tasks were resolved, and what that took."""
        return ResolveFigures(self.valid)

    @cached_property
    def rank_by(self) -> RankBy | None:
        """What these trials are ranked by; ``None``: by several, which have no mean in common."""
        told: set[RankBy] = {row.rank_by or "rubric" for row in self.rows}
        return told.pop() if len(told) == 1 else None

    @cached_property
    def ranked(self) -> Values:
        """What they are ranked by, 0 to 100: :attr:`scores`, or :attr:`ResolveFigures.values` times 100."""
        if self.rank_by == "resolved":
            return {task: [100 * value for value in values] for task, values in self.resolve.values.items()}
        return self.scores if self.rank_by == "rubric" else {}

    @property
    def ranked_costs(self) -> Values:
        """Dollars of a trial that stand beside it: :attr:`known_costs`, or :attr:`ResolveFigures.costs`."""
        return self.resolve.costs if self.rank_by == "resolved" else self.known_costs

    @property
    def ranked_without_cost(self) -> int:
        """Trials of :attr:`ranked_costs` the cost of which is not known."""
        if self.rank_by != "resolved":
            return self.trials_without_cost
        return sum(row.cost_usd is None for row in self.resolve.counted)

    @property
    def ranked_costs_are_lower_bound(self) -> bool:
        """:attr:`ranked_costs` are at least what they say."""
        return self.resolve.costs_are_lower_bound if self.rank_by == "resolved" else self.cost_is_lower_bound

    @property
    def mean_ranked(self) -> float | None:
        """Mean of :attr:`ranked`."""
        return mean(self.ranked)

    # Values by task, of which means and shares are made.

    @cached_property
    def scores(self) -> Values:
        """Score: of completed trials that have one, 0 to 100."""
        return by_task(self.completed, lambda row: row.score)

    @cached_property
    def scores_failures_as_zero(self) -> Values:
        """Score, failures as 0: of valid trials; one that failed counts 0, a completed one without a score not at all.

        Nothing where trials completed and none was scored: zeros alone would look like a measured mean.
        """
        if self.completed and not self.scores:
            return {}
        return by_task(self.valid, lambda row: row.score if row.completed else 0.0)

    @cached_property
    def scores_all(self) -> Values:
        """Score, all trials: of every trial; whatever has no score, or failed on whose account ever, counts 0."""
        return by_task(self.rows, _score_or_zero) if self.scores_failures_as_zero else {}

    @cached_property
    def completions(self) -> Values:
        """Completion: of valid trials, 1 completed, 0 not."""
        return by_task(self.valid, lambda row: float(row.completed))

    @cached_property
    def scored_of_valid(self) -> Values:
        """Of the trials in :attr:`scores_failures_as_zero`: 1 completed and scored, 0 failed."""
        return by_task(self.valid, lambda row: 0.0 if not row.completed else None if row.score is None else 1.0)

    @cached_property
    def scored_of_all(self) -> Values:
        """Of every trial: 1 with a score in the means, 0 without."""
        return by_task(self.rows, lambda row: float(row.valid and row.completed and row.score is not None))

    @cached_property
    def tests(self) -> Values:
        """Tests passed: of valid trials on whose patch the tests gave a verdict, 1 passed, 0 not.

        It is the patch's: a trial that left a document out and whose tests pass has passed them.
        """
        return by_task(self.valid, lambda row: None if row.tests_passed is None else float(row.tests_passed))

    @cached_property
    def costs(self) -> Values:
        """Dollars of completed trials, those that are not known left out."""
        return by_task(self.completed, lambda row: row.cost_usd)

    @property
    def known_costs(self) -> Values:
        """Cost: dollars of completed trials; nothing when one of them has none, since the rest is other work."""
        return {} if self.trials_without_cost else self.costs

    @property
    def costs_of_valid(self) -> Values:
        """Dollars of valid trials, failures too, whose money was spent as well; nothing when one of them has none."""
        return of_all(self.valid, lambda row: row.cost_usd)

    def of_completed(self, name: str) -> Values:
        """Any other figure of a row by its name, such as ``num_turns``: of completed trials that tell it."""
        return by_task(self.completed, attrgetter(name))

    # Means and shares, over tasks.

    @property
    def mean_score(self) -> float | None:
        """Mean of :attr:`scores`."""
        return mean(self.scores)

    @property
    def mean_score_failures_as_zero(self) -> float | None:
        """Mean of :attr:`scores_failures_as_zero`."""
        return mean(self.scores_failures_as_zero)

    @property
    def mean_score_all_trials(self) -> float | None:
        """Mean of :attr:`scores_all`."""
        return mean(self.scores_all)

    @property
    def completion(self) -> float | None:
        """Mean of :attr:`completions`, 0 to 1."""
        return mean(self.completions)

    @property
    def tests_passed_share(self) -> float | None:
        """Mean of :attr:`tests`, 0 to 1."""
        return mean(self.tests)

    @property
    def mean_cost_usd(self) -> float | None:
        """Mean of :attr:`known_costs`."""
        return mean(self.known_costs)

    def mean_of(self, name: str) -> float | None:
        """Mean of :meth:`of_completed`."""
        return mean(self.of_completed(name))

    # Totals, over trials.

    @property
    def total_cost_usd(self) -> float | None:
        """Dollars of all trials whose cost is known; ``None``: no trial's is."""
        known = [row.cost_usd for row in self.rows if row.cost_usd is not None]
        return fsum(known) if known else None

    @property
    def total_cost_is_lower_bound(self) -> bool:
        """More than :attr:`total_cost_usd` was spent: a trial's cost is unknown, or at least so much."""
        return any(row.cost_usd is None or row.cost_is_lower_bound for row in self.rows)

    @property
    def total_latency_seconds(self) -> float | None:
        """Seconds of all trials that tell them; ``None``: none does."""
        known = [row.latency_seconds for row in self.rows if row.latency_seconds is not None]
        return fsum(known) if known else None

    # What a figure is to be read with.

    @property
    def cost_is_lower_bound(self) -> bool:
        """The mean cost is at least what it says."""
        return any(row.cost_is_lower_bound for row in self.completed)

    @property
    def tokens_are_lower_bound(self) -> bool:
        """The means of tokens are at least what they say."""
        return any(row.tokens_completeness == "lower_bound" for row in self.completed)

    @property
    def hosting(self) -> HostingBasis:
        """What the known costs are worked out from; ``other`` where that is not the same for all."""
        found = {row.hosting for row in self.rows if row.cost_usd is not None}
        return found.pop() if len(found) == 1 else "other"

    @property
    def cost_basis(self) -> str:
        """The basis of the known costs; ``mixed``: not the same for all, ``none``: no cost is known."""
        found = {row.cost_basis for row in self.rows if row.cost_usd is not None}
        return found.pop() if len(found) == 1 else "mixed" if found else "none"

    @property
    def failures(self) -> dict[str, int]:
        """Failed trials by outcome."""
        return _counted(row for row in self.valid if not row.completed)

    @property
    def infrastructure_failures(self) -> dict[str, int]:
        """Trials that are not valid by outcome."""
        return _counted(row for row in self.rows if not row.valid)

    @property
    def outcomes(self) -> dict[str, int]:
        """All trials by outcome."""
        return _counted(self.rows)


def _score_or_zero(row: TrialRow) -> float:
    return 0.0 if row.score is None or not (row.valid and row.completed) else row.score


def _counted(rows: Iterable[TrialRow]) -> dict[str, int]:
    return dict(sorted(Counter(row.outcome for row in rows).items()))
