"""Token prices out of the genai-prices package, by exact names only."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version

from genai_prices import types
from genai_prices.data_snapshot import get_snapshot

from swetrials.pricing.model_names import price_name, spellings
from swetrials.pricing.token_price import LongContext, Rates, TokenPrice
from swetrials.records.cost import Bucket

_KEYS: dict[Bucket, str] = {
    "fresh_input": "input_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "output": "output_mtok",
}
"""Where genai-prices keeps the price of each bucket."""


@cache
def installed_release() -> str:
    """Return the version of the price package that is installed."""
    return version("genai-prices")


def list_names() -> tuple[str, ...]:
    """Return the names of all price lists in the package: vendors and hosts of models."""
    return tuple(provider.id for provider in get_snapshot().providers)


def listed_price(model: str, lists: Sequence[str], at: datetime, date: str | None) -> TokenPrice | None:
    """Return a model's price in the first list that has the model; ``None`` when none has.

    The package finds models by prefixes and substrings, which would give ``claude-opus-55`` the price of
    ``claude-opus-5``. A find therefore counts only where the list spells out the very model.

    Args:
        model: the id as the provider knows it.
        lists: names of price lists, in the order in which to look.
        at: when the tokens were used: prices change, and may depend on the hour.
        date: when the installed release of the package came out, ISO 8601.
    """
    providers = {provider.id: provider for provider in get_snapshot().providers}
    for name in lists:
        for reference in spellings(model):
            for info in providers[name].models if name in providers else ():
                if _names(info.match, reference, price_name(model)):
                    return _price(info, name, at, date)
    return None


def _names(clause: types.MatchLogic, reference: str, name: str) -> bool:
    match clause:
        case types.ClauseOr():
            return any(_names(part, reference, name) for part in clause.or_)
        case types.ClauseAnd():
            return clause.is_match(reference) and any(_names(part, reference, name) for part in clause.and_)
        case types.ClauseRegex():
            return re.fullmatch(clause.regex, reference) is not None
        case types.ClauseEquals():
            spelt = clause.equals
        case types.ClauseStartsWith():
            spelt = clause.starts_with
        case types.ClauseEndsWith():
            spelt = clause.ends_with
        case types.ClauseContains():
            spelt = clause.contains
    return clause.is_match(reference) and price_name(spelt) == name


def _price(info: types.ModelInfo, list_name: str, at: datetime, date: str | None) -> TokenPrice:
    prices = info.get_prices(at)
    thresholds = sorted({tier.start for price in _tiered(prices) for tier in price.tiers})
    return TokenPrice(
        model=info.id,
        rates=_rates(prices, None),
        source=f"genai-prices {installed_release()} ({list_name})",
        date=date,
        long_context=tuple(LongContext(threshold, _rates(prices, threshold)) for threshold in thresholds),
    )


def _tiered(prices: types.ModelPrice) -> Iterator[types.TieredPrices]:
    for key in _KEYS.values():
        price = getattr(prices, key)
        if isinstance(price, types.TieredPrices):
            yield price


def _rates(prices: types.ModelPrice, threshold: int | None) -> Rates:
    """Return the rates of a request whose input is larger than ``threshold``; ``None``: of a short one."""
    rates: dict[Bucket, float] = {}
    for bucket, key in _KEYS.items():
        price = getattr(prices, key)
        if isinstance(price, types.TieredPrices):
            reached = [tier.price for tier in price.tiers if threshold is not None and tier.start <= threshold]
            rates[bucket] = float(reached[-1] if reached else price.base)
        elif price is not None:
            rates[bucket] = float(price)
    return rates
