"""Money, with where the figure comes from and how much of it is known."""

from collections.abc import Iterable
from functools import reduce
from typing import Literal, Self

from pydantic import Field

from swetrials.records.known import known_sum
from swetrials.records.record import Record

Basis = Literal["metered", "hardware", "reported", "free", "mixed", "none"]
"""``metered``: tokens x dated price. ``hardware``: GPU-seconds x hourly rate. ``reported``: the CLI's own figure.
``free``: declared so. ``mixed``: a sum over several of these. ``none``: no price is known."""

SELF_HOSTED = frozenset({"endpoint", "vllm"})
"""Providers whose models may run on a rented machine: such a machine has a price by the hour, and no bill by tokens."""

CostStatus = Literal["complete", "lower_bound", "unknown"]

Bucket = Literal["fresh_input", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write", "input", "output"]
"""What a line of a bill is for. ``cache_write``: writes of which nobody told how long they are kept. ``input``: tokens
of prompts of which nobody told how much a cache served."""

BUCKETS: tuple[Bucket, ...] = (
    "fresh_input",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "cache_write",
    "input",
    "output",
)
"""In the order in which a bill lists them."""


class TokenLine(Record):
    """One line of a bill by tokens: ``tokens x usd_per_million / 1,000,000 = amount_usd``."""

    model: str = Field(description="the id that the tokens were counted under")
    bucket: Bucket
    tokens: int = Field(ge=1)
    usd_per_million: float | None = Field(None, ge=0, description="None: no price is known")
    amount_usd: float | None = Field(None, ge=0)
    priced_as: str = Field("", description="the entry of the price list that the model was found under")
    source: str = Field("", description="the price list")
    price_date: str | None = Field(None, description="as of when the list gives this price, ISO 8601")
    terms: str = Field(
        "",
        exclude_if=lambda terms: not terms,
        description="what the answers said of their price besides: speed fast, ...; absent: the standard price",
    )

    @property
    def key(self) -> tuple[str, str, int, float, str, str, str]:
        """What two lines must share to be one; also the order of a bill."""
        rate = -1.0 if self.usd_per_million is None else self.usd_per_million
        order = BUCKETS.index(self.bucket)
        return self.model, self.terms, order, rate, self.priced_as, self.source, self.price_date or ""


class UseLine(Record):
    """One line of a bill for a tool that the model's server ran: ``uses x usd_per_1000 / 1,000 = amount_usd``."""

    model: str = Field(description="the model whose answers used it")
    tool: str = Field(description="as the answers count it")
    uses: int = Field(ge=1)
    usd_per_1000: float | None = Field(None, ge=0, description="None: no price is known")
    amount_usd: float | None = Field(None, ge=0)
    source: str = Field("", description="the price list")
    price_date: str | None = Field(None, description="as of when the list gives this price, ISO 8601")

    @property
    def key(self) -> tuple[str, str, float, str, str]:
        """What two lines must share to be one; also the order of a bill."""
        price = -1.0 if self.usd_per_1000 is None else self.usd_per_1000
        return self.model, self.tool, price, self.source, self.price_date or ""


class HardwareLine(Record):
    """One line of a bill by hardware: ``box seconds x usd_per_hour / 3,600 x share_of_box = amount_usd``.

    The box seconds are ``tokens / tokens_per_second``, or where that was not measured
    ``wall_seconds / concurrency``.
    """

    tokens: int | None = Field(None, ge=0, description="prompt and generated tokens processed")
    tokens_per_second: float | None = Field(None, gt=0, description="measured, prompt and generated together")
    wall_seconds: float = Field(ge=0)
    concurrency: int = Field(ge=1, description="trials at the same time, at which it was measured")
    usd_per_hour: float = Field(ge=0, description="of the whole box")
    share_of_box: float = Field(gt=0, le=1)
    amount_usd: float = Field(ge=0)


class Cost(Record):
    """A cost in US dollars; an unknown one is ``None``, never zero."""

    amount_usd: float | None = Field(None, ge=0)
    basis: Basis = "none"
    status: CostStatus = "unknown"
    reported_usd: float | None = Field(None, ge=0, description="the CLI's own figure, kept but never used as the cost")
    note: str = Field("", description="what a reader of the figure has to know; parts are separated by '; '")
    source: str = Field("", description="where the prices are from; several are separated by '; '")
    price_date: str | None = Field(None, description="of the oldest price in it, ISO 8601")
    low_usd: float | None = Field(None, ge=0, description="where the cost is a range: its lower end")
    high_usd: float | None = Field(None, ge=0, description="where the cost is a range: its upper end")
    lines: tuple[TokenLine, ...] = Field((), description="the bill by tokens")
    uses: tuple[UseLine, ...] = Field(
        (), exclude_if=lambda uses: not uses, description="the bill by uses of server tools; absent: there were none"
    )
    hardware: tuple[HardwareLine, ...] = Field((), description="the bill by hardware")

    @property
    def lacks_a_price(self) -> bool:
        """Whether a line of the bill has no price."""
        return any(line.amount_usd is None for line in self.lines) or any(use.amount_usd is None for use in self.uses)

    def __add__(self, other: Self) -> Self:
        """Add two attempts' costs; an unknown part leaves the sum a lower bound.

        Ranges add up end by end. A part that nothing bounds from above leaves the sum without an upper end. The
        order of the parts does not matter.
        """
        both = (self, other)
        dates = [cost.price_date for cost in both if cost.price_date is not None]
        return type(self)(
            amount_usd=known_sum(cost.amount_usd for cost in both),
            basis=_joint({self.basis, other.basis} - {"none"}),
            status=_joint_status(both),
            reported_usd=known_sum(cost.reported_usd for cost in both),
            note=_joined(self.note, other.note),
            source=_joined(self.source, other.source),
            price_date=min(dates) if dates else None,
            low_usd=_end_of_range(both, "low_usd"),
            high_usd=None if any(map(_unbounded, both)) else _end_of_range(both, "high_usd"),
            lines=merged_lines((*self.lines, *other.lines)),
            uses=merged_uses((*self.uses, *other.uses)),
            hardware=tuple(sorted((*self.hardware, *other.hardware), key=HardwareLine.model_dump_json)),
        )

    @classmethod
    def sum(cls, costs: Iterable[Self]) -> Self:
        """Add up any number of costs; of none, nothing is known."""
        each = list(costs)
        return reduce(cls.__add__, each) if each else cls()


def _joint_status(costs: Iterable[Cost]) -> CostStatus:
    amounts = [cost.amount_usd for cost in costs]
    if all(amount is None for amount in amounts):
        return "unknown"
    return "complete" if all(c.status == "complete" and c.amount_usd is not None for c in costs) else "lower_bound"


def _joint(bases: set[Basis]) -> Basis:
    if len(bases) > 1:
        return "mixed"
    return bases.pop() if bases else "none"


def _joined(first: str, second: str) -> str:
    parts = {part for text in (first, second) for part in text.split("; ") if part}
    return "; ".join(sorted(parts))


def _end_of_range(costs: Iterable[Cost], name: Literal["low_usd", "high_usd"]) -> float | None:
    """Add one end of the ranges. A cost that is a single figure is a range without width."""
    ends: list[float | None] = [getattr(cost, name) for cost in costs]
    if all(end is None for end in ends):
        return None
    return known_sum(cost.amount_usd if end is None else end for cost, end in zip(costs, ends, strict=True))


def _unbounded(cost: Cost) -> bool:
    return cost.status != "complete" and cost.high_usd is None


def merged_uses(lines: Iterable[UseLine]) -> tuple[UseLine, ...]:
    """Return the lines of a bill in their order, those of one price as one."""
    bill: dict[tuple[str, str, float, str, str], UseLine] = {}
    for line in lines:
        known = bill.get(line.key)
        if known is not None:
            amount = known_sum((known.amount_usd, line.amount_usd))
            line = line.model_copy(update={"uses": known.uses + line.uses, "amount_usd": amount})
        bill[line.key] = line
    return tuple(bill[key] for key in sorted(bill))


def merged_lines(lines: Iterable[TokenLine]) -> tuple[TokenLine, ...]:
    """Return the lines of a bill in their order, those of one price as one."""
    bill: dict[tuple[str, str, int, float, str, str, str], TokenLine] = {}
    for line in lines:
        known = bill.get(line.key)
        if known is not None:
            amount = known_sum((known.amount_usd, line.amount_usd))
            line = line.model_copy(update={"tokens": known.tokens + line.tokens, "amount_usd": amount})
        bill[line.key] = line
    return tuple(bill[key] for key in sorted(bill))
