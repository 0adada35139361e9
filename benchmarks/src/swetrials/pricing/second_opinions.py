"""Other figures for what was paid, held against ours: the agent's own sum, and what the answers state themselves."""

from collections.abc import Sequence
from datetime import datetime

from swetrials.pricing.book import PriceBook
from swetrials.pricing.model_names import price_name
from swetrials.records.cost import Cost
from swetrials.records.known import known_sum
from swetrials.records.metrics import Finding
from swetrials.records.requests import BilledPart
from swetrials.records.usage import UsageBlock, UsageReport

COST_DISAGREEMENT = 0.05
"""Two figures for the same tokens that differ by more than this share are a finding."""

_VENDOR = "endpoint"
# The provider of this project whose models are looked up in their vendors' own lists.


def cost_disagreements(
    prices: PriceBook,
    usage: UsageBlock,
    cost: Cost,
    parts: Sequence[BilledPart],
    model: str,
    provider: str,
    region: str | None,
    at: datetime,
) -> list[Finding]:
    """Return a finding for each other figure that differs from ours by more than :data:`COST_DISAGREEMENT`.

    An agent applies its vendor's list prices, wherever it was sent. Its dollars are therefore held against the same
    tokens at the list of the model's vendor. They are invented for a model that is not its vendor's, and then nothing
    is compared; nor is anything where the tokens themselves are incomplete.

    Args:
        prices: the price book.
        usage: the attempt's tokens.
        cost: our own figure, by tokens, with the agent's in ``reported_usd``.
        parts: what the meter saw, with the price that each answer states, if it does.
        model: the main model.
        provider: of this project.
        region: where it was called.
        at: when.
    """
    findings = []
    if cost.reported_usd and usage.headline.completeness == "complete" and _all_claude(cost, model):
        listed = prices.vendor_list().token_cost(
            usage.headline, price_name(model), _VENDOR, None, usage.by_model, parts=parts, at=at
        )
        if _differ(cost.reported_usd, listed):
            findings.append(_finding("the agent reports", cost.reported_usd, "at its vendor's list prices", listed))
    telling = [part for part in parts if part.terms.reported_usd is not None]
    stated = known_sum(part.terms.reported_usd for part in telling)
    if stated is not None:
        tokens = UsageReport.sum(part.usage for part in telling)
        ours = prices.token_cost(tokens, model, provider, region, parts=telling, at=at)
        if _differ(stated, ours):
            findings.append(_finding("the answers state", stated, "by our prices", ours))
    return findings


def _all_claude(cost: Cost, model: str) -> bool:
    names = {model, *(line.model for line in cost.lines)}
    return all(price_name(name).startswith("claude-") for name in names)


def _differ(theirs: float, ours: Cost) -> bool:
    if ours.amount_usd is None:
        return False
    low = ours.amount_usd
    high = low if ours.high_usd is None else ours.high_usd
    nearest = min(max(theirs, low), high)
    return abs(theirs - nearest) > COST_DISAGREEMENT * max(theirs, nearest)


def _finding(who: str, theirs: float, how: str, ours: Cost) -> Finding:
    low, high = ours.amount_usd or 0.0, ours.high_usd
    told = f"${low:,.4f}" + (f" to ${high:,.4f}" if high is not None else "")
    message = f"{who} ${theirs:,.4f}, the tokens come to {told} {how}"
    return Finding(code="cost_disagrees", severity="warning", message=message)
