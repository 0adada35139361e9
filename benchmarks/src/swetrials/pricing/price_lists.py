"""Token prices out of the genai-prices package, by exact names only."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import version

from genai_prices import types
from genai_prices.data_snapshot import get_snapshot

from swetrials.pricing.model_names import is_dated, price_name, spellings
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


def listed_price(
    model: str,
    lists: Sequence[str],
    at: datetime,
    date: str | None,
    *,
    everywhere: bool = False,
    terms: Mapping[str, str] | None = None,
) -> TokenPrice | None:
    """Return a model's price in the first list that has the model; ``None`` when none has.

    The package finds models by prefixes and substrings, which would give ``claude-opus-55`` the price of
    ``claude-opus-5``. A find therefore counts only where the list spells out the very model. A list may price a model
    twice, by whether its requests may go anywhere (``global.``) or stay in a region: only the one asked for counts.

    Args:
        model: the id as the provider knows it.
        lists: names of price lists, in the order in which to look.
        at: when the tokens were used: prices change, and may depend on the hour.
        date: when the installed release of the package came out, ISO 8601.
        everywhere: whether the requests may go anywhere in the world.
        terms: service tier and speed, where an answer names other ones than the standard; a list that has no price
            for them gives ``None``.
    """
    found = _find(model, lists, everywhere=everywhere)
    if found is None:
        return None
    info, name = found
    context = _context(info, terms or {}, at)
    return None if context is None else _price(info, name, at, date, context)


def listed_search_price(model: str, lists: Sequence[str], at: datetime) -> tuple[float, str] | None:
    """Return what 1,000 web searches by a model's server cost in USD, and the list; ``None`` when no list says so."""
    found = _find(model, lists, everywhere=False)
    price = found[0].get_prices(at).web_searches_kcount if found else None
    if found is None or price is None or isinstance(price, types.TieredPrices):
        return None
    return float(price), f"genai-prices {installed_release()} ({found[1]})"


def _find(model: str, lists: Sequence[str], *, everywhere: bool) -> tuple[types.ModelInfo, str] | None:
    providers = {provider.id: provider for provider in get_snapshot().providers}
    for name in lists:
        infos = [info for info in providers[name].models if _at_home(info, everywhere)] if name in providers else []
        for reference in spellings(model):
            for info in infos:
                if _spells_out(info.match, price_name(model), model_id=reference):
                    return info, name
        # A list may spell out dated names alone: a name without a date is the same model, if it is the only one.
        namesakes = [info for info in infos if _spells_out(info.match, price_name(model), model_id=None)]
        if len(namesakes) == 1 and not is_dated(model):
            return namesakes[0], name
    return None


def _at_home(info: types.ModelInfo, everywhere: bool) -> bool:
    """Tell whether a list's entry is for requests of this reach. Without "global." or "regional." it is for all."""
    return not info.id.startswith("regional." if everywhere else "global.")


def _context(info: types.ModelInfo, terms: Mapping[str, str], at: datetime) -> Mapping[str, str] | None:
    """Return what the package calls these terms; ``None`` where it has no price for them."""
    if not terms:
        return {}
    if len(terms) > 1:  # the package has prices for one of them at a time, and not how two go together
        return None
    (name, word), *_ = terms.items()
    context = {"processing": "batch"} if (name, word) == ("service_tier", "batch") else {name: word}
    known = (v for v in info.price_variants or () if v.constraint is None or v.constraint.active(at))
    return context if any(dict(variant.when) == context for variant in known) else None


def _spells_out(rule: types.MatchLogic, name: str, *, model_id: str | None) -> bool:
    """Tell whether a list's rule for an entry spells out a model's name, and is not merely a pattern that fits it.

    Args:
        rule: by what the package finds the entry.
        name: the model's name as :func:`price_name` writes it.
        model_id: an id that the rule has to match, too. ``None``: the name is enough, and a rule that names nothing
            without an id (several conditions at once, a regular expression) does not count.
    """
    match rule:
        case types.ClauseOr():
            return any(_spells_out(part, name, model_id=model_id) for part in rule.or_)
        case types.ClauseAnd():
            parts = (_spells_out(part, name, model_id=model_id) for part in rule.and_)
            return model_id is not None and rule.is_match(model_id) and any(parts)
        case types.ClauseRegex():
            return model_id is not None and re.fullmatch(rule.regex, model_id) is not None
        case types.ClauseEquals():
            spelt = rule.equals
        case types.ClauseStartsWith():
            spelt = rule.starts_with
        case types.ClauseEndsWith():
            spelt = rule.ends_with
        case types.ClauseContains():
            spelt = rule.contains
    return price_name(spelt) == name and (model_id is None or rule.is_match(model_id))


def _price(
    info: types.ModelInfo, list_name: str, at: datetime, date: str | None, context: Mapping[str, str]
) -> TokenPrice:
    prices = info.get_prices(at, context)
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
