"""Tokens x price, line by line, with what is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swetrials.pricing.shares import NOTHING_UNSPLIT, PROMPT, Unsplit, is_bounded
from swetrials.pricing.token_price import Rates, TokenPrice, span
from swetrials.records.cost import (
    BUCKETS,
    Bucket,
    Cost,
    CostStatus,
    TokenLine,
    UseLine,
    merged_lines,
    merged_uses,
)
from swetrials.records.usage import Usage, UsageReport

_MILLION = 1_000_000
_WORDS: Mapping[str, str] = {"input": "a part that the prompt may have (cache_read, cache_write)"}
_DIGITS = 12


@dataclass(frozen=True)
class Item:
    """The tokens of one model at one set of terms, to be priced.

    Attributes:
        model: the one that answered.
        usage: its tokens.
        price: ``None``: none is known.
        requests: the usages of its single requests where they are known, which long-context prices depend on.
        unsplit: tokens of its prompts besides, of which the bucket was not told.
        longest_input: the longest of its prompts, where that is known: none costs more than it.
        terms: what its answers said of their price, in words; empty: the standard price.
        doubt: why the price is not exactly known; empty where it is.
    """

    model: str
    usage: Usage
    price: TokenPrice | None
    requests: Sequence[Usage] = ()
    unsplit: Unsplit = NOTHING_UNSPLIT
    longest_input: int | None = None
    terms: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class _Priced:
    """A line with the least and the most that it can come to; ``None``: unknown, or without a bound."""

    line: TokenLine
    low: float | None
    high: float | None


def counts(usage: Usage) -> dict[Bucket, int]:
    """Return the buckets that a bill lists and that are known and not empty; cache writes by how long they are kept."""
    parts: dict[Bucket, int | None] = {
        "fresh_input": usage.fresh_input,
        "cache_read": usage.cache_read,
        "output": usage.output,
        **_writes(usage),
    }
    return {bucket: count for bucket in BUCKETS if (count := parts.get(bucket))}


def bill(report: UsageReport, items: Sequence[Item], uses: Sequence[UseLine], place: str) -> Cost:
    """Return what the tokens of an attempt or a trial cost.

    The amount is the least that they can have cost, and the sum of the lines. It is ``complete`` when every bucket of
    every answer is known and everything that has a price has a known one. Where only prices or buckets inside a known
    total are open, the upper end is known as well.

    Args:
        report: the witness whose tokens these are: how complete they are decides how complete the cost is.
        items: the same tokens, by model and terms.
        uses: uses of tools that the model's server ran.
        place: where the models were looked up, for the note on a model without a price.
    """
    priced = [line for item in items for line in _lines(item)]
    lines = merged_lines(part.line for part in priced)
    notes = "; ".join(sorted(set(_notes(report, items, priced, uses, place))))
    ends = [(part.low, part.high) for part in priced] + [(use.amount_usd, use.amount_usd) for use in uses]
    amounts = [least for least, _ in ends if least is not None]
    unpriced = len(amounts) < len(ends)
    if report.usage.total is None and not any(item.unsplit.tokens for item in items) and not uses:
        return Cost(note=notes)
    if not amounts and unpriced:
        return Cost(note=notes, lines=lines, uses=merged_uses(uses))
    low = round(sum(amounts), _DIGITS)
    highs = [most for _, most in ends if most is not None]
    bounded = is_bounded(report) and len(highs) == len(ends) and not any(item.doubt for item in items)
    high = round(sum(highs), _DIGITS) if bounded else None
    whole = report.completeness == "complete" and not _unknown_buckets(report.usage) and high == low
    status: CostStatus = "complete" if whole else "lower_bound"
    sources = {item.price.source for item in items if item.price is not None} | {
        use.source for use in uses if use.source
    }
    given = [line.price_date for line in lines] + [use.price_date for use in uses]
    dates = [date for date in given if date]
    return Cost(
        amount_usd=low,
        basis="metered",
        status=status,
        note=notes,
        source="; ".join(sorted(sources)),
        price_date=min(dates) if dates else None,
        low_usd=None if whole or high is None else low,
        high_usd=None if whole else high,
        lines=lines,
        uses=merged_uses(uses),
    )


def _writes(usage: Usage) -> dict[Bucket, int | None]:
    five, hour, whole = usage.cache_write_5m, usage.cache_write_1h, usage.cache_write
    if five is None and hour is None:
        return {"cache_write": whole}
    rest = max(0, (whole or 0) - (five or 0) - (hour or 0))
    return {"cache_write_5m": five, "cache_write_1h": hour, "cache_write": rest}


def _lines(item: Item) -> Iterator[_Priced]:
    """Yield each line of a model's bill with the least and the most that it can come to."""
    for usage, low_rates, high_rates in _by_rates(item):
        for bucket, tokens in counts(usage).items():
            low, high = span(low_rates, bucket), span(high_rates, bucket)
            if low is None or high is None:
                yield _Priced(_line(item, bucket, tokens, None), None, None)
            else:
                line = _line(item, bucket, tokens, low[0])
                yield _Priced(line, line.amount_usd, round(tokens * high[1] / _MILLION, _DIGITS))
    yield from _unsplit_lines(item)


def _line(item: Item, bucket: Bucket, tokens: int, rate: float | None) -> TokenLine:
    if item.price is None or rate is None:
        return TokenLine(model=item.model, bucket=bucket, tokens=tokens, terms=item.terms)
    return TokenLine(
        model=item.model,
        bucket=bucket,
        tokens=tokens,
        usd_per_million=rate,
        amount_usd=round(tokens * rate / _MILLION, _DIGITS),
        priced_as=item.price.model,
        source=item.price.source if bucket == "input" else item.price.source_of(bucket),
        price_date=item.price.date,
        terms=item.terms,
    )


def _unsplit_lines(item: Item) -> Iterator[_Priced]:
    """Yield lines for tokens that may be in one of several buckets: the cheapest ones, up to the dearest ones."""
    total = item.unsplit.tokens
    if not total:
        return
    rates, dearest = _ends(item)
    spans = {bucket: (span(rates, bucket), span(dearest, bucket)) for bucket in PROMPT if bucket in item.unsplit.widths}
    if item.price is None or any(low is None or high is None for low, high in spans.values()):
        yield _Priced(_line(item, "input", total, None), None, None)
        return
    low = {name: ends[0][0] for name, ends in spans.items() if ends[0]}
    high = {name: ends[1][1] for name, ends in spans.items() if ends[1]}
    most = sum(tokens * rate for tokens, rate in _filled(item, total, high, dearest=True)) / _MILLION
    cheapest = list(_filled(item, total, low, dearest=False))
    whole = sum(tokens for tokens, _ in cheapest)
    for tokens, rate in cheapest:
        line = _line(item, "input", tokens, rate)
        yield _Priced(line, line.amount_usd, round(most * tokens / whole, _DIGITS))


def _filled(item: Item, total: int, rates: Mapping[Bucket, float], *, dearest: bool) -> Iterator[tuple[int, float]]:
    """Yield how many of the tokens go at which rate, when each bucket is filled up before the next one."""
    left = total
    for name, rate in sorted(rates.items(), key=lambda pair: -pair[1] if dearest else pair[1]):
        tokens = min(item.unsplit.widths[name], left)
        if tokens:
            yield tokens, rate
        left -= tokens


def _ends(item: Item) -> tuple[Rates, Rates]:
    """Return the lowest and the highest rates that a request of an item may have been billed at."""
    price = item.price
    if price is None:
        return {}, {}
    tier = _highest_tier(item, price)
    return price.rates, price.rates if tier == 0 else price.long_context[tier - 1].rates


def _by_rates(item: Item) -> Iterator[tuple[Usage, Rates, Rates]]:
    """Yield a model's tokens in parts, each with the lowest and the highest rates that it may have been billed at."""
    price = item.price
    if price is None:
        yield item.usage, {}, {}
    elif _sums_up(item):
        groups: dict[int, Usage] = {}
        for request in item.requests:
            tier = _tier(price, _prompt(request))
            groups[tier] = groups[tier] + request if tier in groups else request
        for tier, usage in sorted(groups.items()):
            rates = price.rates if tier == 0 else price.long_context[tier - 1].rates
            yield usage, rates, rates
    else:
        yield item.usage, *_ends(item)


def _sums_up(item: Item) -> bool:
    return bool(item.requests) and counts(Usage.sum(item.requests)) == counts(item.usage)


def _highest_tier(item: Item, price: TokenPrice) -> int:
    """Return the dearest tier that a request of an item can be in: none is longer than all of them together."""
    longest = item.longest_input
    return _tier(price, _prompt(item.usage) + item.unsplit.tokens if longest is None else longest)


def _prompt(usage: Usage) -> int:
    return sum(getattr(usage, bucket) or 0 for bucket in PROMPT)


def _tier(price: TokenPrice, input_tokens: int) -> int:
    """Return how many of a price's thresholds a prompt is above."""
    return sum(input_tokens > tier.above_input_tokens for tier in price.long_context)


def _unknown_buckets(usage: Usage) -> list[str]:
    known: Mapping[str, int | None] = {
        "fresh_input": usage.fresh_input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
    }
    return [name for name, count in known.items() if count is None]


def _notes(
    report: UsageReport, items: Sequence[Item], priced: Sequence[_Priced], uses: Sequence[UseLine], place: str
) -> Iterator[str]:
    if report.usage.total is None and not any(item.unsplit.tokens for item in items):
        yield f"nobody counted the tokens of {', '.join(item.model for item in items)}"
        return
    for item in items:
        yield from _doubts(item, [line.line for line in priced if line.line.model == item.model], place)
    for use in uses:
        if use.usd_per_1000 is None:
            yield f"no price is known for {use.uses:,} {use.tool} of {use.model} ({place})"
    open_buckets = {name for item in items for name in item.unsplit.widths}
    if unknown := [name for name in _unknown_buckets(report.usage) if name not in open_buckets]:
        yield f"nobody counted {', '.join(unknown)}"
    if report.completeness != "complete" and not (open_buckets and is_bounded(report)):
        yield "the tokens are a lower bound"


def _doubts(item: Item, lines: Sequence[TokenLine], place: str) -> Iterator[str]:
    """Yield what keeps a model's part of a bill from being exact."""
    if item.doubt:
        yield item.doubt
    elif item.price is None and (counts(item.usage) or item.unsplit.tokens):
        yield f"no price is known for {item.model} ({place})"
    missing = sorted({line.bucket for line in lines if line.usd_per_million is None and line.terms == item.terms})
    if item.price is not None and missing:
        yield f"no price is known for {', '.join(_WORDS.get(bucket, bucket) for bucket in missing)} of {item.model}"
    if item.price is not None and not _sums_up(item) and _highest_tier(item, item.price):
        threshold = item.price.long_context[0].above_input_tokens
        yield f"requests of {item.model} above {threshold:,} tokens cost more, and which were is not known"
    if item.price is not None and any(line.bucket == "cache_write" for line in lines):
        yield f"how long the cache writes of {item.model} are kept is not known, so they count at the lower rate"
    if item.unsplit.tokens:
        names = ", ".join(sorted(item.unsplit.widths))
        yield f"of {item.unsplit.tokens:,} tokens of {item.model} it is not told which are {names}"
