"""What an attempt cost, on the basis that its hosting path is paid by."""

from datetime import datetime
from typing import Protocol

from swetrials.pricing.book import PriceBook
from swetrials.pricing.hardware import hardware_cost
from swetrials.providers.base import Provider
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import UsageBlock

_THROUGHPUT = "processed_tokens_per_second"


class Pricing(Protocol):
    """What prices an attempt: how the model is hosted, and what that costs. A crew is one."""

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
    if provider.priced == "free" or config.dollars_per_hour is not None:
        return ""
    if provider.priced == "hardware":
        return f"{config.model} runs on a machine of no stated rate; say --dollars-per-hour"
    if prices.token_price(config.model, config.provider, config.aws_region) is None:
        return f"no price is known for {config.model}"
    return ""


def attempt_cost(
    crew: Pricing,
    usage: UsageBlock,
    telemetry: VllmPrometheus | None,
    *,
    reported_usd: float | None,
    wall_seconds: float,
    at: datetime,
) -> Cost:
    """Return the cost of an attempt: free where declared, else tokens x price, or hours x rate.

    Args:
        crew: the run, with its provider and its prices.
        usage: the attempt's tokens; the headline is what is paid.
        telemetry: the server's counters, whose throughput shares a rented machine out.
        reported_usd: the agent's own figure. It stands beside the cost and is never used: with a custom endpoint
            it is invented.
        wall_seconds: of the attempt.
        at: when it began, since prices change.
    """
    config = crew.config
    if crew.provider.priced == "free":
        cost = Cost(amount_usd=0, basis="free", status="complete")
    elif config.dollars_per_hour is not None:
        cost = hardware_cost(
            usage.headline.usage.total,
            telemetry.derived.get(_THROUGHPUT) if telemetry else None,
            config.dollars_per_hour,
            config.box_share,
            wall_seconds,
            config.concurrency,
            completeness=usage.headline.completeness,
        )
    elif crew.provider.priced == "hardware":
        cost = Cost(note=unpriced(config, crew.provider, crew.prices))
    else:
        cost = crew.prices.token_cost(
            usage.headline, config.model, config.provider, config.aws_region, usage.by_model, at=at
        )
    return cost.model_copy(update={"reported_usd": reported_usd})
