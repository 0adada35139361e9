"""Token usage as five disjoint buckets in which unknown stays unknown."""

from collections.abc import Iterable
from functools import reduce
from typing import Literal, Self

from pydantic import Field

from swetrials.records.record import Record

Completeness = Literal["complete", "lower_bound", "unknown"]
"""``complete``: all there was. ``lower_bound``: a killed, timed-out or cut stream. ``unknown``: no figure."""

Count = int | None

_INPUT = ("fresh_input", "cache_read", "cache_write")
_BUCKETS = (*_INPUT, "output")


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
        """The prompt and the output, as far as they are known; ``None`` when neither is."""
        return _add(self.input, self.output)

    @property
    def known(self) -> tuple[str, ...]:
        """The names of the buckets that add to the total and are known."""
        return tuple(name for name in _BUCKETS if getattr(self, name) is not None)

    @property
    def is_whole(self) -> bool:
        """Whether every bucket that adds to the total is known."""
        return len(self.known) == len(_BUCKETS)

    @property
    def input(self) -> Count:
        """The prompt: the whole where it was told, else the sum of the buckets that are known; ``None`` without any."""
        return self._parts if self.input_total is None else self.input_total

    @property
    def _parts(self) -> Count:
        return _add(_add(self.fresh_input, self.cache_read), self.cache_write)

    def __add__(self, other: Self) -> Self:
        """Add bucket by bucket. One side's unknown bucket leaves the other's figure as an "at least".

        Where one side told the whole of its prompt and not the parts, the sum has the whole of both.
        """
        sums = {name: _add(getattr(self, name), getattr(other, name)) for name in type(self).model_fields}
        if sums["input_total"] is not None:
            sums["input_total"] = _add(self.input, other.input)
        return type(self)(**sums)

    @classmethod
    def sum(cls, usages: Iterable[Self]) -> Self:
        """Add any number of usages; of none, the result is all unknown."""
        result = cls()
        for usage in usages:
            result += usage
        return result

    def at_least(self) -> "Usage":
        """Return the least that each bucket can be: what is known, else 0."""
        least = {name: getattr(self, name) or 0 for name in _BUCKETS}
        return self.model_copy(update={**least, "input_total": self.input or 0})

    def at_most(self) -> "Usage":
        """Return the most that each bucket of one whole answer can be; ``None`` where nothing bounds it.

        What is known is as it is. An unknown part of a known prompt is at most what the known parts leave of it.
        """
        most = {name: getattr(self, name) for name in _BUCKETS}
        if self.input_total is None:
            return Usage(**most, input_total=self._parts if None not in (most[name] for name in _INPUT) else None)
        rest = max(self.input_total - (self._parts or 0), 0)
        most |= {name: rest for name in _INPUT if most[name] is None}
        return Usage(**most, input_total=self.input_total)


class UsageReport(Record):
    """What one witness says of an attempt or a trial."""

    usage: Usage = Usage()
    completeness: Completeness = "unknown"
    requests: Count = Field(None, ge=0, description="API requests behind the figure, when the witness counts them")
    at_least: Usage | None = Field(
        None,
        exclude_if=lambda bound: bound is None,
        description="the least that each bucket can be; absent with at_most",
    )
    at_most: Usage | None = Field(
        None,
        exclude_if=lambda bound: bound is None,
        description="the most that each bucket can be, null where nothing bounds it; absent where all is known"
        " and where nothing is bounded, as after an answer that broke off",
    )

    @classmethod
    def of(cls, usage: Usage, *, whole: bool = True, requests: int | None = None) -> Self:
        """Return the report of one answer, or of figures that one program adds up by itself.

        It is complete when all was told to its end (``whole``) and every bucket is known. What breaks off bounds
        nothing, so its figures are the least and have no most.
        """
        if whole and usage.is_whole:
            return cls(usage=usage, completeness="complete", requests=requests)
        if usage.total is None:
            return cls(usage=usage, requests=requests)
        return cls.bounded(usage, usage.at_most() if whole else Usage(), requests)

    @property
    def most(self) -> Usage:
        """The most that each bucket can be; ``None`` where nothing bounds it."""
        if self.completeness == "complete":
            return self.usage.at_most()
        return self.at_most or Usage()

    def __add__(self, other: Self) -> Self:
        """Join two reports; the sum is no more complete than its least complete part.

        A bucket that only one of the two knows makes the sum a lower bound as well. The bounds add up bucket by
        bucket; what nothing bounds on one side is not bounded in the sum.
        """
        usage, requests = self.usage + other.usage, _add(self.requests, other.requests)
        completeness = weakest(self.completeness, other.completeness)
        if self.usage.known != other.usage.known:
            completeness = "lower_bound"
        if completeness != "lower_bound":
            return type(self)(usage=usage, completeness=completeness, requests=requests)
        return self.bounded(usage, _add_most(self.most, other.most), requests)

    @classmethod
    def sum(cls, reports: Iterable[Self]) -> Self:
        """Join any number of reports; of none, nothing is known."""
        each = list(reports)
        return reduce(cls.__add__, each) if each else cls()

    @classmethod
    def bounded(cls, usage: Usage, most: Usage, requests: int | None) -> Self:
        """Return a lower bound with what bounds it from above; without bounds where there are none."""
        is_bounded = any(getattr(most, name) is not None for name in (*_BUCKETS, "input_total"))
        return cls(
            usage=usage,
            completeness="lower_bound",
            requests=requests,
            at_least=usage.at_least() if is_bounded else None,
            at_most=most if is_bounded else None,
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


def _add_most(first: Usage, second: Usage) -> Usage:
    sums = {}
    for name in (*_BUCKETS, "input_total"):
        one, other = getattr(first, name), getattr(second, name)
        sums[name] = None if one is None or other is None else one + other
    return Usage(**sums)
