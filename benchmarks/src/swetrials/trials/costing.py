"""What an attempt cost, on the basis that its hosting path is paid by; and who else says what it cost."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from swetrials.hosting.base import Provider
from swetrials.pricing.book import PriceBook
from swetrials.pricing.hardware import THROUGHPUT, hardware_cost
from swetrials.pricing.second_opinions import cost_disagreements
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.metrics import Finding
from swetrials.records.requests import RequestsBlock
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import UsageBlock


class Pricing(Protocol):
    """What prices an attempt: how the model is hosted, and what that costs. A context is one."""

    @property
    def config(self) -> RunnerConfig:
        """The run's configuration."""

    @property
    def provider(self) -> Provider:
        """Where the model is hosted."""

    @property
    def prices(self) -> PriceBook:
        """What tokens cost."""


def unpriced(config: RunnerConfig, provider: Provider, prices: PriceBook) -> str:
    """Return why what is run will have no price; empty when it has one."""
    if not _by_tokens(config, provider):
        if provider.priced == "hardware" and config.dollars_per_hour is None:
            return f"{config.model} runs on a machine of no stated rate; say --dollars-per-hour"
        return ""
    if prices.token_price(config.model, config.provider, config.aws_region) is None:
        return f"no price is known for {config.model}"
    return ""


def unpriced_buckets(config: RunnerConfig, provider: Provider, prices: PriceBook) -> tuple[str, ...]:
    """Return the buckets that agents fill and that the run's model has no price for, though it has others."""
    price = (
        prices.token_price(config.model, config.provider, config.aws_region) if _by_tokens(config, provider) else None
    )
    if price is None:
        return ()
    return tuple(bucket for bucket in ("fresh_input", "cache_read", "output") if bucket not in price.rates)


def _by_tokens(config: RunnerConfig, provider: Provider) -> bool:
    return provider.priced not in {"free", "hardware"} and config.dollars_per_hour is None


def attempt_cost(
    context: Pricing,
    usage: UsageBlock,
    telemetry: VllmPrometheus | None,
    *,
    reported_usd: float | None,
    wall_seconds: float,
    at: datetime,
    requests: RequestsBlock | None = None,
) -> Cost:
    """Return the cost of an attempt: free where declared, else tokens x price, or hours x rate.

    Args:
        context: the run, with its provider and its prices.
        usage: the attempt's tokens; the headline is what is paid.
        telemetry: the server's counters, whose throughput shares a rented machine out.
        reported_usd: the agent's own figure. It stands beside the cost and is never used: with a custom endpoint
            it is invented.
        wall_seconds: of the attempt.
        at: when it began, since prices change.
        requests: what the meter saw, whose parts say which model answered at which terms.
    """
    config = context.config
    if context.provider.priced == "free":
        cost = Cost(amount_usd=0, basis="free", status="complete")
    elif config.dollars_per_hour is not None:
        cost = hardware_cost(
            usage.headline.usage.total,
            telemetry.derived.get(THROUGHPUT) if telemetry else None,
            config.dollars_per_hour,
            config.box_share,
            wall_seconds,
            config.concurrency,
            completeness=usage.headline.completeness,
        )
    elif context.provider.priced == "hardware":
        cost = Cost(note=unpriced(config, context.provider, context.prices))
    else:
        cost = context.prices.token_cost(
            usage.headline,
            config.model,
            config.provider,
            config.aws_region,
            usage.by_model,
            parts=requests.parts if requests else (),
            at=at,
        )
    return cost.model_copy(update={"reported_usd": reported_usd})


def cost_doubts(
    context: Pricing, usage: UsageBlock, cost: Cost, requests: RequestsBlock | None, at: datetime
) -> Sequence[Finding]:
    """Return findings on an attempt's cost: other figures that differ from it, and a limit that cannot be kept."""
    config = context.config
    if not _by_tokens(config, context.provider):
        return ()
    parts = requests.parts if requests else ()
    found = cost_disagreements(context.prices, usage, cost, parts, config.model, config.provider, config.aws_region, at)
    if config.max_budget_usd is not None and cost.lacks_a_price:
        message = f"--max-budget-usd cannot be kept: {cost.note}"
        found.append(Finding(code="cost_limit_not_kept", severity="warning", message=message))
    return found
