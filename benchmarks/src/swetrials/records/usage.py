"""Token usage as five disjoint buckets in which unknown stays unknown."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field

from swetrials.records.base import Record

Completeness = Literal["complete", "lower_bound", "unknown"]
"""``complete``: all there was. ``lower_bound``: a killed, timed-out or cut stream. ``unknown``: no figure."""

Count = int | None

_BUCKETS = ("fresh_input", "cache_read", "cache_write", "output")


class Usage(Record):
    """Tokens of one or many requests, in disjoint buckets.

    ``cache_write_5m`` and ``cache_write_1h`` are parts of ``cache_write``, ``reasoning`` is a part of
    ``output``; none of the three adds to the total. ``None`` means that nobody told, which is not zero.
    """

    fresh_input: Count = Field(None, ge=0, description="input tokens that no cache served or stored")
    cache_read: Count = Field(None, ge=0, description="input tokens served from a prompt cache")
    cache_write: Count = Field(None, ge=0, description="input tokens stored into a prompt cache")
    cache_write_5m: Count = Field(None, ge=0, description="part of cache_write kept for five minutes")
    cache_write_1h: Count = Field(None, ge=0, description="part of cache_write kept for one hour")
    output: Count = Field(None, ge=0, description="generated tokens, reasoning included")
    reasoning: Count = Field(None, ge=0, description="part of output spent on reasoning")
    input_total: Count = Field(
        None,
        ge=0,
        exclude_if=lambda total: total is None,
        description="the whole prompt, where it was told and its parts were not; absent where the buckets say it",
    )

    @property
    def total(self) -> Count:
        """Fresh + read + write + output over the buckets that are known; ``None`` when none is."""
        parts = (self.fresh_input, self.cache_read, self.cache_write, self.output)
        known = [part for part in parts if part is not None]
        return sum(known) if known else None

    @property
    def known(self) -> tuple[str, ...]:
        """The names of the buckets that add to the total and are known."""
        return tuple(name for name in _BUCKETS if getattr(self, name) is not None)

    @property
    def input(self) -> Count:
        """The prompt: fresh + read + write over the buckets that are known; ``None`` when none is."""
        known = [count for count in (self.fresh_input, self.cache_read, self.cache_write) if count is not None]
        return sum(known) if known else None

    def __add__(self, other: Self) -> Self:
        """Add bucket by bucket. One side's unknown bucket leaves the other's figure as an "at least"."""
        return type(self)(**{name: _add(getattr(self, name), getattr(other, name)) for name in type(self).model_fields})

    @classmethod
    def sum(cls, usages: Iterable[Self]) -> Self:
        """Add any number of usages; of none, the result is all unknown."""
        result = cls()
        for usage in usages:
            result += usage
        return result


class UsageReport(Record):
    """What one witness says of an attempt or a trial."""

    usage: Usage = Usage()
    completeness: Completeness = "unknown"
    requests: Count = Field(None, ge=0, description="API requests behind the figure, when the witness counts them")
    at_least: Usage | None = Field(
        None,
        exclude_if=lambda bound: bound is None,
        description="the least that each bucket can be; absent where every bucket is known",
    )
    at_most: Usage | None = Field(
        None,
        exclude_if=lambda bound: bound is None,
        description="the most that each bucket can be, null where nothing bounds it; absent likewise",
    )

    def __add__(self, other: Self) -> Self:
        """Join two attempts' figures; the sum is no more complete than its least complete part.

        A bucket that only one of the two knows makes the sum a lower bound as well.
        """
        completeness = weakest(self.completeness, other.completeness)
        return type(self)(
            usage=self.usage + other.usage,
            completeness="lower_bound" if self.usage.known != other.usage.known else completeness,
            requests=_add(self.requests, other.requests),
        )


class UsageBlock(Record):
    """The witnesses of a trial's usage side by side, and the headline taken from the best of them."""

    headline: UsageReport = UsageReport()
    source: Literal["metered", "reported", "served", "mixed", "none"] = "none"
    reported: UsageReport | None = Field(None, description="the agent's own figures")
    metered: UsageReport | None = Field(None, description="counted on the wire between agent and route")
    served: UsageReport | None = Field(None, description="the server's own counters, where it tells trials apart")
    by_model: dict[str, Usage] = Field({}, description="the reported figures per model id")


def weakest(first: Completeness, second: Completeness) -> Completeness:
    """Return the completeness of a sum of two figures: unknown parts make it a lower bound."""
    if first == second:
        return first
    return "lower_bound"


def _add(first: Count, second: Count) -> Count:
    if first is None:
        return second
    return first if second is None else first + second
