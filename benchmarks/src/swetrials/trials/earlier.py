"""What sessions before this one have left of a trial: its ledger does not end with a session."""

from dataclasses import dataclass

from swetrials.records.metrics import AttemptRecord


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
