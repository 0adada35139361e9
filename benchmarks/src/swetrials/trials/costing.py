"""What an attempt cost, on the basis that its hosting path is paid by."""

from typing import TYPE_CHECKING

from swetrials.records.cost import Cost
from swetrials.records.usage import UsageBlock
from swetrials.trials.crew import Crew

if TYPE_CHECKING:
    from swetrials.trials.gathering import Remains


def attempt_cost(crew: Crew, remains: "Remains", usage: UsageBlock) -> Cost:
    """Return the cost of an attempt: free where declared, else tokens x price or GPU time x rate.

    The agent's own figure stands beside it and is never used: with a custom endpoint it is invented.
    """
    raise NotImplementedError
