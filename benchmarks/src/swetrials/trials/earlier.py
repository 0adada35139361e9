"""What sessions before this one have left of a trial: its ledger does not end with a session."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from swetrials.records.known import known_sum
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.store.files import RecordError, read_record
from swetrials.store.results import ATTEMPTS, TrialFolder
from swetrials.trials.attempt import ATTEMPT

_AMOUNT = re.compile(rb'"(spent_elsewhere_usd|total_cost_usd)":\s*(\d[\d.eE+-]*)\s*[,}]')


@dataclass(frozen=True)
class Earlier:
    """What a trial's folder held when it was begun once more.

    Attributes:
        attempts: those of the same trial. They are in all of its sums, and its next attempt goes on with the numbers.
        elsewhere_usd: what other trials in the folder have cost, in US dollars; ``None``: there were none, or nobody
            knows what they cost.
        elsewhere_is_lower_bound: whether they have cost more than is known.
    """

    attempts: tuple[AttemptRecord, ...] = ()
    elsewhere_usd: float | None = None
    elsewhere_is_lower_bound: bool = False

    @property
    def next_number(self) -> int:
        """The number of the attempt that follows."""
        return max((attempt.number for attempt in self.attempts), default=0) + 1

    @classmethod
    def of_another(cls, metrics: Metrics) -> "Earlier":
        """Return what is left of a trial that another one takes the place of: what it cost, and what it says beside.

        Imported figures were paid by somebody else.
        """
        unknown = bool(metrics.attempts) and metrics.cost.status != "complete"
        own_usd = None if metrics.imported else metrics.total_cost_usd
        return cls(
            (),
            known_sum([own_usd, metrics.spent_elsewhere_usd]),
            unknown or metrics.spent_elsewhere_is_lower_bound,
        )

    @classmethod
    def of_unreadable(cls, folder: TrialFolder) -> "Earlier":
        """Return what a trial has cost whose record cannot be read: as far as its bytes or its attempts tell.

        That is a lower bound, or nothing known, unless the folder holds neither. The record's own sum and those of the
        attempts are of the same calls: the larger one counts.
        """
        told = _amounts(folder)
        attempts = [_attempt_usd(place) for place in folder.path.glob(f"{ATTEMPTS}/*")]
        sums = [told.get("total_cost_usd"), known_sum(attempts)]
        own_usd = max((amount for amount in sums if amount is not None), default=None)
        spent = bool(attempts) or folder.metrics_file.exists()
        return cls((), known_sum([told.get("spent_elsewhere_usd"), own_usd]), spent)


def spent_there(folder: TrialFolder, state: Metrics | RecordError | None) -> Earlier:
    """Return all that was spent in a trial's folder, as far as it is known: also on what is no part of its cost."""
    if state is None:
        return Earlier()
    return Earlier.of_another(state) if isinstance(state, Metrics) else Earlier.of_unreadable(folder)


def _amounts(folder: TrialFolder) -> Mapping[str, float]:
    """Return the sums that the bytes of a record tell, be it torn or of another shape."""
    try:
        found = _AMOUNT.findall(folder.metrics_file.read_bytes())
    except OSError:
        return {}
    amounts: dict[str, float] = {}
    for name, digits in found:
        with suppress(ValueError):
            amount = float(digits)
            if isfinite(amount):
                amounts.setdefault(name.decode(), amount)
    return amounts


def _attempt_usd(place: Path) -> float | None:
    try:
        return read_record(place / ATTEMPT, AttemptRecord).cost.amount_usd
    except RecordError:
        return None
