"""``config/pricing.yaml``: prices of tokens and hourly rates of machines, each with its source and date."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from swetrials.records.record import SCHEMA_VERSION, Record

PER_MILLION = (0.001, 1_000.0)
"""Between these lie all prices of a million tokens and of 1,000 uses, in USD; beyond them a unit was mistaken."""

PER_HOUR = (0.01, 10_000.0)
"""Between these lie all rates of a machine, in USD per hour."""


def _per_million(price: float) -> float:
    return _plausible(price, PER_MILLION, "in dollars per million tokens")


def _per_thousand(price: float) -> float:
    return _plausible(price, PER_MILLION, "in dollars per 1,000 uses")


def _per_hour(rate: float) -> float:
    return _plausible(rate, PER_HOUR, "in dollars per hour for the whole machine")


def _plausible(price: float, bounds: tuple[float, float], unit: str) -> float:
    if price != 0 and not bounds[0] <= price <= bounds[1]:
        kind = unit.removeprefix("in dollars ")
        told = f"{price:.12f}".rstrip("0") if 0 < price < 1 else f"{price:g}"
        raise ValueError(f"{told} {kind}? Prices here are {unit}: {bounds[0]:g} to {bounds[1]:,g}, or 0 for none")
    return price


Price = Annotated[float, Field(ge=0), AfterValidator(_per_million)]
"""USD per million tokens. 0 says that the bucket is free."""

UsePrice = Annotated[float, Field(ge=0), AfterValidator(_per_thousand)]
HourlyPrice = Annotated[float, Field(ge=0), AfterValidator(_per_hour)]
Text = Annotated[str, Field(min_length=1)]
AsOf = Annotated[str, Field(pattern=r"^20\d\d-\d\d(-\d\d)?$")]
"""The day or the month as of which a price holds: ``2026-09-30`` or ``2026-09``."""

TERMS = ("on_demand", "one_year", "three_years")
"""For how long a machine can be committed to."""


class Release(Record):
    """Which release of the genai-prices package the project has pinned, and when that came out."""

    version: Text
    date: AsOf


class TokenPriceRow(Record):
    """What a model's tokens cost at a provider, in USD per million; a price that is left out is unknown.

    For Claude models a cache write that is left out costs what Anthropic's rule says: 1.25 x input for five minutes,
    2 x input for one hour.
    """

    models: tuple[Text, ...] = Field(min_length=1, description="the same prices hold for all of these")
    providers: tuple[Text, ...] = Field(min_length=1, description="of this project: bedrock, litellm, ...")
    regions: tuple[Text, ...] = Field(
        (),
        description="where the prices hold: a region (eu-west-1), the first part of one (eu), or the prefix of an "
        "inference profile (apac); empty: wherever no other row says more",
    )
    service_tier: Text | None = Field(
        None, description="for answers that name this tier alone; absent: the standard one"
    )
    speed: Text | None = Field(None, description="for answers at this speed alone; absent: the standard one")
    fresh_input: Price | None = None
    cache_read: Price | None = None
    cache_write_5m: Price | None = None
    cache_write_1h: Price | None = None
    output: Price | None = None
    source: Text
    date: AsOf
    reason: Text | None = Field(None, description="why this row differs from the one that genai-prices has")


class ServerToolRow(Record):
    """What a use of a tool costs that the model's server runs, in USD per 1,000 uses."""

    tool: Text = Field(description="as answers count it: web_search_requests, ...")
    providers: tuple[Text, ...] = Field(min_length=1, description="of this project: endpoint, bedrock, ...")
    models: tuple[Text, ...] = Field((), description="the models that it holds for; empty: all")
    usd_per_1000: UsePrice
    source: Text
    date: AsOf


class Instance(Record):
    """A machine to rent, in USD per hour for the whole of it. No discount of anybody's own is in it."""

    gpu: Text
    gpus: int = Field(ge=1)
    region: Text
    on_demand: HourlyPrice | None = None
    one_year: HourlyPrice | None = None
    three_years: HourlyPrice | None = None
    source: Text
    date: AsOf


class PriceFile(Record):
    """All of ``config/pricing.yaml``."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    genai_prices: Release | None = None
    price_lists: dict[Text, tuple[Text, ...]] = Field(
        {"bedrock": ("aws",), "litellm": ("aws",), "endpoint": ("anthropic", "openai")},
        description="by provider of this project: the lists of genai-prices to look in, in this order",
    )
    aliases: dict[Text, Text] = Field({}, description="a model's other name, and the one that the prices are under")
    tokens: tuple[TokenPriceRow, ...] = Field((), description="beat genai-prices")
    server_tools: tuple[ServerToolRow, ...] = Field((), description="beat genai-prices")
    instances: dict[Text, Instance] = {}
