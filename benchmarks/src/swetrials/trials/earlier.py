"""What sessions before this one have left of a trial: its ledger does not end with a session."""

from contextlib import suppress
from dataclasses import dataclass

from swetrials.records.known import known_sum
from swetrials.records.metrics import AttemptRecord
from swetrials.store.files import RecordError, read_record
from swetrials.store.results import ATTEMPTS, TrialFolder
from swetrials.trials.attempt import ATTEMPT


@dataclass(frozen=True)
class Earlier:
    """What a trial's folder held when it was begun once more.

    Attributes:
        attempts: those of the same trial. They are in all of its sums, and its next attempt goes on with the numbers.
        elsewhere_usd: what other trials in the folder have cost, in US dollars; ``None``: there were none, or nobody
            knows what they cost.
    """

    attempts: tuple[AttemptRecord, ...] = ()
    elsewhere_usd: float | None = None

    @property
    def next_number(self) -> int:
        """The number of the attempt that follows."""
        return max((attempt.number for attempt in self.attempts), default=0) + 1


def attempts_usd(folder: TrialFolder) -> float | None:
    """Return what a trial's attempts cost by their own records, in US dollars, where the trial's cannot be read.

    An attempt without a readable record adds nothing, so that the sum is a lower bound; ``None``: none tells its cost.
    """
    amounts: list[float | None] = []
    for file in folder.path.glob(f"{ATTEMPTS}/*/{ATTEMPT}"):
        with suppress(RecordError):
            amounts.append(read_record(file, AttemptRecord).cost.amount_usd)
    return known_sum(amounts)
