"""Adding up the usages of a stream's many responses."""

from dataclasses import dataclass, field

from swetrials.records.usage import Usage

_BUCKETS = tuple(Usage.model_fields)


@dataclass
class UsageSum:
    """Usages added up as :meth:`Usage.sum` does it, without making a record of every sum in between."""

    count: int = 0
    buckets: dict[str, int] = field(default_factory=dict)

    def add(self, usage: Usage) -> None:
        """Add one more."""
        self.count += 1
        for name in _BUCKETS:
            value = getattr(usage, name)
            if value is not None:
                self.buckets[name] = self.buckets.get(name, 0) + value

    @property
    def usage(self) -> Usage:
        """The sum so far."""
        return Usage(**self.buckets)
