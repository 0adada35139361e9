"""A total split by what it is billed as, so that the parts come to it bucket by bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from swetrials.pricing.model_names import price_name
from swetrials.records.requests import BilledPart, PriceTerms
from swetrials.records.usage import Usage, UsageReport

PROMPT = ("fresh_input", "cache_read", "cache_write")
"""The buckets that the tokens of a prompt are in."""

Unsplit = Mapping[str, int | None]
"""By bucket of the prompt: how many tokens more than told it may hold; ``None``: nothing bounds it. The tokens
themselves are the largest of these figures: each is in one of the buckets, and nobody told in which."""


@dataclass(frozen=True)
class Share:
    """Tokens of one model at one set of terms."""

    model: str
    usage: Usage
    terms: PriceTerms | None = None
    unsplit: Unsplit = field(default_factory=dict)


def shares(report: UsageReport, model: str, by_model: Mapping[str, Usage], parts: Sequence[BilledPart]) -> list[Share]:
    """Return the tokens of a report by model and terms; the rest is the main model's, at standard terms.

    The total is the better figure: parts that come to more are cut to it, bucket by bucket.

    Args:
        report: the total.
        model: the main model.
        by_model: tokens by model, as the agent tells them.
        parts: tokens by model and terms, as the meter saw them. They go first.
    """
    main = next((name for name in by_model if price_name(name) == price_name(model)), model)
    claims = [
        Share(_named(part.model or model, main), _least(part.usage), part.terms, unsplit(part.usage)) for part in parts
    ]
    for name, usage in by_model.items():
        if name != main:
            claims.append(Share(name, _less(usage, [claim for claim in claims if _same(claim.model, name)])))
    left: dict[str, int | None] = {bucket: getattr(_least(report), bucket) for bucket in Usage.model_fields}
    open_left = dict(unsplit(report))
    found = [_take(claim, left, open_left) for claim in claims]
    rest = Share(main, Usage(**left), None, open_left)
    return [share for share in found if _holds(share)] + ([rest] if _holds(rest) or not found else [])


def uses(model: str, parts: Sequence[BilledPart]) -> dict[tuple[str, str], int]:
    """Return how often tools of the server were used, by model and tool."""
    found: dict[tuple[str, str], int] = {}
    for part in parts:
        for tool, count in part.terms.server_tools.items():
            if count > 0:
                key = (part.model or model, tool)
                found[key] = found.get(key, 0) + count
    return found


def unsplit(report: UsageReport) -> Unsplit:
    """Return what is open in a report: prompt tokens that are known, and of which the bucket is not."""
    usage, least, most = report.usage, report.at_least, report.at_most
    if most is not None:
        known = least or usage
        widths = {name: _width(getattr(known, name), getattr(most, name)) for name in PROMPT}
        return {name: width for name, width in widths.items() if width != 0}
    if usage.input_total is None:
        return {}
    rest = max(0, usage.input_total - (usage.input or 0))
    unknown = [name for name in PROMPT if getattr(usage, name) is None]
    return dict.fromkeys(unknown, rest) if rest else {}


def _least(report: UsageReport) -> Usage:
    if report.at_least is None:
        return report.usage
    known = {name: getattr(report.at_least, name) for name in Usage.model_fields}
    told = {name: getattr(report.usage, name) for name in Usage.model_fields}
    return Usage(**{name: told[name] if known[name] is None else known[name] for name in known})


def _width(least: int | None, most: int | None) -> int | None:
    return None if most is None else max(0, most - (least or 0))


def _named(name: str, main: str) -> str:
    """Return the main model's own id where a part's is another spelling of it: only that tells how it was called."""
    return main if _same(name, main) else name


def _same(first: str, second: str) -> bool:
    return price_name(first) == price_name(second)


def _less(usage: Usage, taken: Sequence[Share]) -> Usage:
    left: dict[str, int | None] = {}
    for bucket in Usage.model_fields:
        count: int | None = getattr(usage, bucket)
        gone = sum(getattr(share.usage, bucket) or 0 for share in taken)
        left[bucket] = None if count is None else max(0, count - gone)
    return Usage(**left)


def _take(claim: Share, left: dict[str, int | None], open_left: dict[str, int | None]) -> Share:
    """Take a claim out of what is left, and return what of it there was."""
    counts: dict[str, int | None] = {}
    for bucket in Usage.model_fields:
        count, there = getattr(claim.usage, bucket), left[bucket]
        if count is not None and there is not None:
            counts[bucket] = min(count, there)
            left[bucket] = there - min(count, there)
    widths: dict[str, int | None] = {}
    for bucket, width in claim.unsplit.items():
        if bucket not in open_left:
            continue
        there = open_left[bucket]
        widths[bucket] = there if width is None else width if there is None else min(width, there)
        if there is not None and width is not None:
            open_left[bucket] = there - min(width, there)
    return Share(
        claim.model, Usage(**counts), claim.terms, {name: width for name, width in widths.items() if width != 0}
    )


def _holds(share: Share) -> bool:
    return bool(share.usage.total) or any(width != 0 for width in share.unsplit.values())
