"""Money, with where the figure comes from and how much of it is known."""

from typing import Literal, Self

from pydantic import Field

from swetrials.records.base import Record

Basis = Literal["metered", "hardware", "reported", "free", "mixed", "none"]
"""``metered``: tokens x dated price. ``hardware``: GPU-seconds x hourly rate. ``reported``: the CLI's own figure.
``free``: declared so. ``mixed``: a sum over several of these. ``none``: no price is known."""

CostStatus = Literal["complete", "lower_bound", "unknown"]


class Cost(Record):
    """A cost in US dollars; an unknown one is ``None``, never zero."""

    amount_usd: float | None = Field(None, ge=0)
    basis: Basis = "none"
    status: CostStatus = "unknown"
    reported_usd: float | None = Field(None, ge=0, description="the CLI's own figure, kept but never used as the cost")
    note: str = ""

    def __add__(self, other: Self) -> Self:
        """Add two attempts' costs; an unknown part leaves the sum a lower bound."""
        known = [c.amount_usd for c in (self, other) if c.amount_usd is not None]
        reported = [c.reported_usd for c in (self, other) if c.reported_usd is not None]
        same = self.status == other.status
        return type(self)(
            amount_usd=sum(known) if known else None,
            basis=_joint({self.basis, other.basis} - {"none"}),
            status=self.status if same else "lower_bound" if known else "unknown",
            reported_usd=sum(reported) if reported else None,
            note=self.note or other.note,
        )


def _joint(bases: set[Basis]) -> Basis:
    if len(bases) > 1:
        return "mixed"
    return bases.pop() if bases else "none"
