"""What a model's tokens cost, as one price list says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from swetrials.records.cost import Bucket

Rates = Mapping[Bucket, float]
"""USD per million tokens. A bucket that is not in it has no known price."""

_ANTHROPIC_WRITES: Rates = {"cache_write_5m": 1.25, "cache_write_1h": 2.0}
# Anthropic's published rule for every Claude model, as multiples of the price of fresh input.


@dataclass(frozen=True)
class LongContext:
    """Rates of requests whose input, cached tokens included, is larger than a threshold. They hold for all of it."""

    above_input_tokens: int
    rates: Rates


@dataclass(frozen=True)
class TokenPrice:
    """The price of a model at a provider.

    Attributes:
        model: the entry of the price list that the model was found under.
        rates: USD per million tokens by bucket.
        source: the price list: ``config/pricing.yaml (published bills)``, ``genai-prices 0.2.3 (aws)``.
        date: as of when the list gives these prices, ISO 8601; ``None`` when the list does not say.
        long_context: other rates for long requests, the smallest threshold first.
        derived: buckets that the list leaves out and whose rate follows from a rule of the vendor; by bucket, the rule.
    """

    model: str
    rates: Rates
    source: str
    date: str | None
    long_context: tuple[LongContext, ...] = ()
    derived: Mapping[Bucket, str] = field(default_factory=dict)

    def source_of(self, bucket: Bucket) -> str:
        """Return where the rate of a bucket is from, with the rule that it was derived by."""
        rule = self.derived.get(bucket)
        return f"{self.source}, {rule}" if rule else self.source


def span(rates: Rates, bucket: Bucket) -> tuple[float, float] | None:
    """Return the lowest and the highest rate that a bucket can have; ``None`` when it has no price.

    They differ for cache writes of which nobody told how long they are kept.
    """
    if bucket != "cache_write":
        rate = rates.get(bucket)
        return None if rate is None else (rate, rate)
    known = [rates[part] for part in ("cache_write_5m", "cache_write_1h") if part in rates]
    return (min(known), max(known)) if known else None


def anthropic_writes(rates: Rates) -> dict[Bucket, tuple[float, str]]:
    """Return rate and rule of the cache writes that a list of a Claude model's prices leaves out."""
    base = rates.get("fresh_input")
    if base is None:
        return {}
    return {
        bucket: (round(base * factor, 6), f"Anthropic's rule: {factor:g} x input")
        for bucket, factor in _ANTHROPIC_WRITES.items()
        if bucket not in rates
    }
