"""Tokens x price, line by line, with what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swetrials.pricing.token_price import Rates, TokenPrice, span
from swetrials.records.cost import BUCKETS, Bucket, Cost, CostStatus, TokenLine
from swetrials.records.usage import Usage, UsageReport

_MILLION = 1_000_000
_DIGITS = 12


@dataclass(frozen=True)
class Item:
    """The tokens of one model, to be priced.

    ``requests`` are the usages of its single requests where they are known, which long-context prices depend on.
    """

    model: str
    usage: Usage
    price: TokenPrice | None
    requests: Sequence[Usage] = ()


def counts(usage: Usage) -> dict[Bucket, int]:
    """Return the buckets that a bill lists and that are known and not empty; cache writes by how long they are kept."""
    parts: dict[Bucket, int | None] = {
        "fresh_input": usage.fresh_input,
        "cache_read": usage.cache_read,
        "output": usage.output,
        **_writes(usage),
    }
    return {bucket: count for bucket in BUCKETS if (count := parts.get(bucket))}


def bill(report: UsageReport, items: Sequence[Item], place: str) -> Cost:
    """Return what the tokens of an attempt or a trial cost.

    Args:
        report: the witness whose tokens these are: how complete they are decides how complete the cost is.
        items: the same tokens, by model.
        place: where the models were looked up, for the note on a model without a price.
    """
    lines = tuple(line for item in items for line in _lines(item))
    amounts = [low for _, low, _ in lines if low is not None]
    unpriced = sorted({line.model for line, low, _ in lines if low is None})
    if report.usage.total is None:
        note = f"nobody counted the tokens of {', '.join(item.model for item in items)}"
        return Cost(note=note)
    notes = list(_notes(report, items, [line for line, _, _ in lines], place))
    if not amounts and unpriced:
        return Cost(note="; ".join(sorted(notes)), lines=tuple(line for line, _, _ in lines))
    low = round(sum(amounts), _DIGITS)
    high = round(sum(high for _, _, high in lines if high is not None), _DIGITS)
    whole = report.completeness == "complete" and not unpriced and not _unknown_buckets(report.usage)
    status: CostStatus = "complete" if whole and high == low else "lower_bound"
    used = [item.price for item in items if item.price is not None]
    dates = [price.date for price in used if price.date]
    return Cost(
        amount_usd=low,
        basis="metered",
        status=status,
        note="; ".join(sorted(notes)),
        source="; ".join(sorted({price.source for price in used})),
        price_date=min(dates) if dates else None,
        low_usd=low if high > low and not unpriced else None,
        high_usd=high if high > low and not unpriced else None,
        lines=tuple(sorted((line for line, _, _ in lines), key=lambda line: line.key)),
    )


def _writes(usage: Usage) -> dict[Bucket, int | None]:
    five, hour, whole = usage.cache_write_5m, usage.cache_write_1h, usage.cache_write
    if five is None and hour is None:
        return {"cache_write": whole}
    if whole is not None:
        five = max(0, whole - (hour or 0)) if five is None else five
        hour = max(0, whole - five) if hour is None else hour
    rest = max(0, (whole or 0) - (five or 0) - (hour or 0))
    return {"cache_write_5m": five, "cache_write_1h": hour, "cache_write": rest}


def _lines(item: Item) -> Iterator[tuple[TokenLine, float | None, float | None]]:
    """Yield each line of a model's bill with the least and the most that it can come to."""
    for usage, low_rates, high_rates in _by_rates(item):
        for bucket, tokens in counts(usage).items():
            low, high = span(low_rates, bucket), span(high_rates, bucket)
            if item.price is None or low is None or high is None:
                yield TokenLine(model=item.model, bucket=bucket, tokens=tokens), None, None
                continue
            amount = round(tokens * low[0] / _MILLION, _DIGITS)
            line = TokenLine(
                model=item.model,
                bucket=bucket,
                tokens=tokens,
                usd_per_million=low[0],
                amount_usd=amount,
                priced_as=item.price.model,
                source=item.price.source_of(bucket),
                price_date=item.price.date,
            )
            yield line, amount, round(tokens * high[1] / _MILLION, _DIGITS)


def _by_rates(item: Item) -> Iterator[tuple[Usage, Rates, Rates]]:
    """Yield a model's tokens in parts, each with the lowest and the highest rates that it may have been billed at."""
    price = item.price
    if price is None:
        yield item.usage, {}, {}
    elif _sums_up(item):
        groups: dict[int, Usage] = {}
        for request in item.requests:
            tier = _tier(price, request)
            groups[tier] = groups[tier] + request if tier in groups else request
        for tier, usage in sorted(groups.items()):
            rates = price.rates if tier == 0 else price.long_context[tier - 1].rates
            yield usage, rates, rates
    else:
        # No single request can be longer than all of them together.
        tier = _tier(price, item.usage)
        yield item.usage, price.rates, price.rates if tier == 0 else price.long_context[tier - 1].rates


def _sums_up(item: Item) -> bool:
    return bool(item.requests) and counts(Usage.sum(item.requests)) == counts(item.usage)


def _tier(price: TokenPrice, usage: Usage) -> int:
    input_tokens = sum(count or 0 for count in (usage.fresh_input, usage.cache_read, usage.cache_write))
    return sum(input_tokens > tier.above_input_tokens for tier in price.long_context)


def _unknown_buckets(usage: Usage) -> list[str]:
    known: Mapping[str, int | None] = {
        "fresh_input": usage.fresh_input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
    }
    return [name for name, count in known.items() if count is None]


def _notes(report: UsageReport, items: Sequence[Item], lines: Sequence[TokenLine], place: str) -> Iterator[str]:
    for item in items:
        if item.price is None and counts(item.usage):
            yield f"no price is known for {item.model} ({place})"
        missing = [line.bucket for line in lines if line.model == item.model and line.usd_per_million is None]
        if item.price is not None and missing:
            yield f"no price is known for {', '.join(missing)} of {item.model}"
        if item.price is not None and not _sums_up(item) and _tier(item.price, item.usage):
            threshold = item.price.long_context[0].above_input_tokens
            yield f"requests of {item.model} above {threshold:,} tokens cost more, and which were is not known"
        if any(line.bucket == "cache_write" and line.model == item.model for line in lines):
            yield f"how long the cache writes of {item.model} are kept is not known, so they count at the lower rate"
    if unknown := _unknown_buckets(report.usage):
        yield f"nobody counted {', '.join(unknown)}"
    if report.completeness != "complete":
        yield "the tokens are a lower bound"
