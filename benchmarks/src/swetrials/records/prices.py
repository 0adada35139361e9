"""``config/pricing.yaml``: prices of tokens and hourly rates of machines, each with its source and date."""

from typing import Annotated, Literal

from pydantic import Field

from swetrials.records.base import SCHEMA_VERSION, Record

Price = Annotated[float, Field(ge=0)]
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
    fresh_input: Price | None = None
    cache_read: Price | None = None
    cache_write_5m: Price | None = None
    cache_write_1h: Price | None = None
    output: Price | None = None
    source: Text
    date: AsOf


class Instance(Record):
    """A machine to rent, in USD per hour for the whole of it. No discount of anybody's own is in it."""

    gpu: Text
    gpus: int = Field(ge=1)
    region: Text
    on_demand: Price | None = None
    one_year: Price | None = None
    three_years: Price | None = None
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
    instances: dict[Text, Instance] = {}
