"""A total split by what it is billed as, so that the parts come to it bucket by bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from swetrials.pricing.model_names import price_name
from swetrials.records.cost import Bucket
from swetrials.records.requests import BilledPart, PriceTerms
from swetrials.records.usage import Usage, UsageReport
from swetrials.records.usage_sum import BUCKETS

PROMPT: tuple[Bucket, ...] = ("fresh_input", "cache_read", "cache_write")
"""The buckets that the tokens of a prompt are in."""


@dataclass(frozen=True)
class Unsplit:
    """Tokens of prompts that were told, but not in which bucket of the prompt they are.

    Attributes:
        tokens: how many there are.
        widths: how many of them each bucket can hold; a bucket that is left out holds none.
    """

    tokens: int = 0
    widths: Mapping[str, int] = field(default_factory=dict)

    def less(self, part: "Unsplit") -> "Unsplit":
        """Return what is left without a part of it."""
        tokens = max(0, self.tokens - part.tokens)
        left = {name: min(tokens, max(0, width - part.widths.get(name, 0))) for name, width in self.widths.items()}
        if sum(left.values()) < tokens:  # the part says more of its buckets than the whole does
            left = dict.fromkeys(self.widths, tokens)
        return Unsplit(tokens, {name: width for name, width in left.items() if width})


NOTHING_UNSPLIT = Unsplit()
"""Every token has its bucket."""


@dataclass(frozen=True)
class Share:
    """Tokens of one model at one set of terms; ``longest_input``: the longest prompt among them, where it is known."""

    model: str
    usage: Usage
    terms: PriceTerms | None = None
    unsplit: Unsplit = NOTHING_UNSPLIT
    longest_input: int | None = None


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
        Share(
            _named(part.model or model, main), _least(part.usage), part.terms, unsplit(part.usage), part.longest_input
        )
        for part in parts
    ]
    for name, usage in by_model.items():
        if name != main:
            claims.append(Share(name, _less(usage, [claim for claim in claims if _same(claim.model, name)])))
    least, rest = _least(report), unsplit(report)
    left: dict[str, int | None] = {bucket: getattr(least, bucket) for bucket in BUCKETS}
    found = []
    for claim in claims:
        share = _take(claim, left, rest)
        rest = rest.less(share.unsplit)
        found.append(share)
    remainder = Share(main, Usage(**left), None, rest)
    return [share for share in found if _holds(share)] + ([remainder] if _holds(remainder) or not found else [])


def uses(model: str, parts: Sequence[BilledPart]) -> dict[tuple[str, str], int]:
    """Return how often tools of the server were used, by model and tool."""
    found: dict[tuple[str, str], int] = {}
    for part in parts:
        for tool, count in part.terms.server_tools.items():
            if count > 0:
                key = (part.model or model, tool)
                found[key] = found.get(key, 0) + count
    return found


def answered_besides(model: str, parts: Sequence[BilledPart]) -> list[str]:
    """Return the other models that answered than the one asked for. Whom an ARN asks for is not known."""
    names = {part.model for part in parts if part.model and not _same(part.model, model)}
    return [] if model.startswith("arn:") else sorted(names)


def unsplit(report: UsageReport) -> Unsplit:
    """Return the tokens of a report's prompts of which the bucket was not told."""
    usage, least, most = report.usage, _least(report), report.at_most
    if usage.input_total is None:
        return Unsplit()
    tokens = max(0, usage.input_total - sum(getattr(least, name) or 0 for name in PROMPT))
    if most is None:
        unknown = [name for name in PROMPT if getattr(usage, name) is None] or PROMPT
        return Unsplit(tokens, dict.fromkeys(unknown, tokens) if tokens else {})
    bounds = {name: getattr(most, name) for name in PROMPT}
    widths = {
        name: tokens if bound is None else min(tokens, max(0, bound - (getattr(least, name) or 0)))
        for name, bound in bounds.items()
    }
    if sum(widths.values()) < tokens:
        widths = dict.fromkeys(PROMPT, tokens)
    return Unsplit(tokens, {name: width for name, width in widths.items() if width})


def is_bounded(report: UsageReport) -> bool:
    """Tell whether the tokens cannot be more than told: each bucket is known, or bounded by the prompts."""
    if report.at_most is None:
        return report.completeness == "complete" and all(
            getattr(report.usage, name) is not None for name in (*PROMPT, "output")
        )
    least, widths = _least(report), unsplit(report).widths
    for name in (*PROMPT, "output"):
        bound: int | None = getattr(report.at_most, name)
        if bound is None or bound > (getattr(least, name) or 0) + widths.get(name, 0):
            return False
    return True


def _least(report: UsageReport) -> Usage:
    if report.at_least is None:
        return report.usage
    known = {name: getattr(report.at_least, name) for name in BUCKETS}
    told = {name: getattr(report.usage, name) for name in BUCKETS}
    return Usage(**{name: told[name] if known[name] is None else known[name] for name in known})


def _named(name: str, main: str) -> str:
    """Return the main model's own id where a part's is another spelling of it: only that tells how it was called."""
    return main if _same(name, main) else name


def _same(first: str, second: str) -> bool:
    return price_name(first) == price_name(second)


def _less(usage: Usage, taken: Sequence[Share]) -> Usage:
    left: dict[str, int | None] = {}
    for bucket in BUCKETS:
        count: int | None = getattr(usage, bucket)
        gone = sum(getattr(share.usage, bucket) or 0 for share in taken)
        left[bucket] = None if count is None else max(0, count - gone)
    return Usage(**left)


def _take(claim: Share, left: dict[str, int | None], rest: Unsplit) -> Share:
    """Take a claim out of what is left, and return what of it there was."""
    counts: dict[str, int | None] = {}
    for bucket in BUCKETS:
        count, there = getattr(claim.usage, bucket), left[bucket]
        if count is not None and there is not None:
            counts[bucket] = min(count, there)
            left[bucket] = there - min(count, there)
    tokens = min(claim.unsplit.tokens, rest.tokens)
    widths = {name: min(width, tokens) for name, width in claim.unsplit.widths.items()} if tokens else {}
    return Share(claim.model, Usage(**counts), claim.terms, Unsplit(tokens, widths), claim.longest_input)


def _holds(share: Share) -> bool:
    return bool(share.usage.total) or share.unsplit.tokens > 0
