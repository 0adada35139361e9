"""Adding up the usages of many answers fast: the sum of their reports, without making a record of every step."""

from dataclasses import dataclass, field
from typing import Self

from swetrials.records.usage import Usage, UsageReport

BUCKETS = tuple(name for name in Usage.model_fields if name != "input_total")
_BOUNDED = ("fresh_input", "cache_read", "cache_write", "output", "input_total")


@dataclass
class UsageSum:
    """Answers added up as :meth:`UsageReport.of` and ``+`` do it.

    ``unbounded`` holds the buckets that nothing bounds, ``over`` how far the bounds lie above the known sum.
    """

    count: int = 0
    buckets: dict[str, int] = field(default_factory=dict)
    input: int = 0
    tells_whole: bool = False
    every_whole: bool = True
    unbounded: set[str] = field(default_factory=set)
    over: dict[str, int] = field(default_factory=dict)

    def add(self, usage: Usage, *, whole: bool = True) -> None:
        """Add one more answer; ``whole`` says that it was told to its end."""
        self.count += 1
        told_whole = usage.input_total is not None
        missing = False
        for name in BUCKETS:
            value = getattr(usage, name)
            if value is not None:
                self.buckets[name] = self.buckets.get(name, 0) + value
            elif name in _BOUNDED:
                missing = True
        self.input += usage.input or 0
        self.tells_whole = self.tells_whole or told_whole
        if missing or not whole:
            self.every_whole = False
            self._bound(usage.at_most() if whole and usage.total is not None else Usage(), usage)

    def copy(self) -> Self:
        """Return the same sum, to which more can be added."""
        return type(self)(
            self.count,
            dict(self.buckets),
            self.input,
            self.tells_whole,
            self.every_whole,
            set(self.unbounded),
            dict(self.over),
        )

    @property
    def usage(self) -> Usage:
        """The sum so far."""
        return Usage(**self.buckets, input_total=self.input if self.tells_whole else None)

    def report(self, requests: int | None = None) -> UsageReport:
        """Return what the answers come to: complete where each was told to its end, with every bucket."""
        usage = self.usage
        if self.every_whole or usage.total is None:
            return UsageReport.of(usage, requests=requests)
        known = {**self.buckets, "input_total": self.input}
        most = {name: known.get(name, 0) + self.over.get(name, 0) for name in _BOUNDED if name not in self.unbounded}
        return UsageReport.bounded(usage, Usage(**most), requests)

    def _bound(self, most: Usage, usage: Usage) -> None:
        for name in _BOUNDED:
            bound = getattr(most, name)
            if bound is None:
                self.unbounded.add(name)
            else:
                known = usage.input if name == "input_total" else getattr(usage, name)
                self.over[name] = self.over.get(name, 0) + bound - (known or 0)
