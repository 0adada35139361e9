"""What says how many tasks were resolved, and what that took; each figure is defined here, once.

**Resolved** is the patch's: the verdict of the tests counts, however the trial ended, and a trial that failed on the
model's or the agent's account without a verdict has not resolved its task. A completed trial without a verdict is
*unchecked*, and one whose verification says nothing of the patch is *void*: both are in no rate and in no price, and
counted. What failed for another reason than model or agent is not among these trials at all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Final, get_args

from swetrials.records.verification import Evidence
from swetrials.results.task_values import Values, by_task, mean, of_all
from swetrials.results.trial_row import TrialRow

EVIDENCE: Final[tuple[Evidence, ...]] = get_args(Evidence)


@dataclass(frozen=True)
class ResolveFigures:
    """The figures of some valid trials of one candidate."""

    valid: Sequence[TrialRow]

    @property
    def checked(self) -> bool:
        """Whether the tests gave a verdict on any of them."""
        return any(row.resolved is not None for row in self.valid)

    @cached_property
    def counted(self) -> list[TrialRow]:
        """The trials in the rate: those with a verdict, and failures without one, as not resolved.

        None where trials completed and none was checked: failures alone would look like a measured rate.
        """
        if not self.checked and any(row.completed for row in self.valid):
            return []
        return [row for row in self.valid if row.counts_resolved is not None]

    # Counts, over trials.

    @property
    def resolved(self) -> int:
        """Trials that resolved their task."""
        return sum(row.counts_resolved is True for row in self.counted)

    @property
    def void(self) -> int:
        """Trials whose verification says nothing of the patch."""
        return sum(bool(row.void_reason) for row in self.valid)

    @property
    def unchecked(self) -> int:
        """Completed trials of which nobody knows whether they resolved their task."""
        return sum(row.completed and not row.void_reason and row.counts_resolved is None for row in self.valid)

    @property
    def regressed(self) -> int | None:
        """Trials whose patch broke a test that had to stay green; ``None``: no single test was told."""
        told = [row.regressions for row in self.counted if row.regressions is not None]
        return sum(number > 0 for number in told) if told else None

    @property
    def doubtful(self) -> int:
        """Trials with a verdict that their patch could have forged."""
        return sum(row.doubtful for row in self.counted)

    @property
    def evidence(self) -> dict[Evidence, int]:
        """Verdicts by what they stand on."""
        told = Counter(row.evidence for row in self.counted if row.evidence is not None)
        return {kind: told[kind] for kind in EVIDENCE if kind in told}

    # Values by task, and the mean over tasks.

    @cached_property
    def values(self) -> Values:
        """Of :attr:`counted` trials: 1 resolved, 0 not."""
        return by_task(self.counted, lambda row: float(row.counts_resolved is True))

    @property
    def rate(self) -> float | None:
        """Mean of :attr:`values`, 0 to 1."""
        return mean(self.values)

    @cached_property
    def costs(self) -> Values:
        """Dollars of :attr:`counted` trials, failures too; nothing when one of them has none."""
        return of_all(self.counted, lambda row: row.cost_usd)

    @cached_property
    def minutes(self) -> Values:
        """Minutes of :attr:`counted` trials, failures too; nothing when one of them has none."""
        return of_all(self.counted, _minutes)

    @property
    def total_cost_usd(self) -> float | None:
        """Dollars of :attr:`counted` trials together; ``None``: there is none, or a cost is not known."""
        return total(self.costs) if self.costs else None

    @property
    def costs_are_lower_bound(self) -> bool:
        """:attr:`costs` are at least what they say."""
        return any(row.cost_is_lower_bound for row in self.counted)

    # What one resolved task took.

    @property
    def usd_per_resolved(self) -> float | None:
        """Dollars of all :attr:`counted` trials over those resolved; ``None``: none was, or a cost is not known."""
        return self._per_resolved(self.costs)

    @property
    def minutes_per_resolved(self) -> float | None:
        """Minutes, likewise."""
        return self._per_resolved(self.minutes)

    def _per_resolved(self, spent: Values) -> float | None:
        return total(spent) / self.resolved if spent and self.resolved else None


def total(spent: Values) -> float:
    """Return the sum over all trials."""
    return fsum(value for of_task in spent.values() for value in of_task)


def _minutes(row: TrialRow) -> float | None:
    return None if row.latency_seconds is None else row.latency_seconds / 60
