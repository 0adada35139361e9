"""What an answer says of its price beside its tokens: which words mean the standard price, and what others cost.

An answer may name a service tier, a speed and the place of its inference. Each has words for "nothing special"; with
one of those, or where an answer names none, the standard price holds. Any other word changes the price. Where the
changed price is known, it is billed. Where it is not, a word that always costs more leaves the standard price as the
least that it can be; of any other nothing is known.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from swetrials.pricing.model_names import price_name
from swetrials.pricing.token_price import Rates, TokenPrice
from swetrials.records.requests import PriceTerms

_STANDARD: Mapping[str, frozenset[str]] = {
    "service_tier": frozenset({"standard", "default", "auto", "on_demand", ""}),
    "speed": frozenset({"standard", "normal", "default", ""}),
    "inference_geo": frozenset({"global", "not_available", ""}),
}
"""Words for the standard price. Anthropic: platform.claude.com/docs/en/api/service-tiers, /build-with-claude/fast-mode
and /manage-claude/data-residency. OpenAI: the field service_tier of a response (``auto`` names no tier at all)."""

_DEARER = frozenset({"priority", "fast"})
"""Tiers and speeds that a vendor sells for more than the standard price."""

US_GEO_FACTOR = 1.1
"""Anthropic's rule for inference_geo "us": all token prices of Claude 4.6 and later x 1.1
(platform.claude.com/docs/en/about-claude/pricing, "Data residency pricing")."""

_CLAUDE_VERSION = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d+))?$")
_GEO_SINCE = (4, 6)


@dataclass(frozen=True)
class Special:
    """The terms of some answers that are not the standard ones, lower case; empty where they are.

    Attributes:
        rates: words that choose other rates: ``service_tier`` and ``speed``, by name.
        geo: where the answers' inference was bound to; empty: nowhere.
    """

    rates: Mapping[str, str] = field(default_factory=dict)
    geo: str = ""

    @classmethod
    def of(cls, terms: PriceTerms | None) -> "Special":
        """Return what of an answer's terms is not standard."""
        if terms is None:
            return cls()
        told = {"service_tier": terms.service_tier, "speed": terms.speed, "inference_geo": terms.inference_geo}
        words = {name: (word or "").strip().lower() for name, word in told.items()}
        special = {name: word for name, word in words.items() if word not in _STANDARD[name]}
        geo = special.pop("inference_geo", "")
        return cls(special, geo)

    @property
    def label(self) -> str:
        """The terms in words, as a line of a bill names them: ``speed fast, inference_geo us``."""
        words = dict(self.rates) | ({"inference_geo": self.geo} if self.geo else {})
        return ", ".join(f"{name} {word}" for name, word in sorted(words.items()))

    @property
    def only_dearer(self) -> bool:
        """Whether the standard price is surely the least that answers at these terms cost."""
        return all(word in _DEARER for word in self.rates.values())


@dataclass(frozen=True)
class Quote:
    """A price at some terms.

    Attributes:
        price: ``None``: none is known.
        doubt: why the price is not, or not exactly, known; empty where it is.
        terms: what is special about the answers, in words; empty at the standard price.
    """

    price: TokenPrice | None
    doubt: str = ""
    terms: str = ""


def quote(model: str, special: Special, standard: TokenPrice | None, changed: TokenPrice | None, by_geo: bool) -> Quote:
    """Return the price of a model's answers at their terms.

    Args:
        model: the one that answered.
        special: what its answers say of their price.
        standard: the standard price.
        changed: the price at the tier and speed named; the standard one where none is.
        by_geo: whether the vendor prices the place of inference by this field (Bedrock does it by the model's id).
    """
    price, doubts = changed, []
    if changed is None and special.rates:
        named = ", ".join(f"{name} {word}" for name, word in sorted(special.rates.items()))
        price = standard if special.only_dearer else None
        counted = ", so its tokens count at the standard price" if price is not None else ""
        doubts.append(f"no price is known for {named} of {model}{counted}")
    if special.geo and price is not None:
        if special.geo == "us" and by_geo and _has_geo_price(model):
            price = _times(price, US_GEO_FACTOR, f"Anthropic's rule: {US_GEO_FACTOR:g} x for inference_geo us")
        else:
            counted = "so its tokens count as if it cost nothing more"
            doubts.append(f"no price is known for inference_geo {special.geo} of {model}, {counted}")
    return Quote(price, "; ".join(doubts), special.label)


def _has_geo_price(model: str) -> bool:
    version = _CLAUDE_VERSION.fullmatch(price_name(model))
    return version is not None and (int(version.group(1)), int(version.group(2) or 0)) >= _GEO_SINCE


def _times(price: TokenPrice, factor: float, rule: str) -> TokenPrice:
    def scaled(rates: Rates) -> Rates:
        return {bucket: round(rate * factor, 9) for bucket, rate in rates.items()}

    tiers = tuple(type(tier)(tier.above_input_tokens, scaled(tier.rates)) for tier in price.long_context)
    return TokenPrice(price.model, scaled(price.rates), f"{price.source}, {rule}", price.date, tiers, price.derived)
