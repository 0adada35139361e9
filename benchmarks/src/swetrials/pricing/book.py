"""The price book: what the project's own price file says, and behind it the genai-prices package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from swetrials.pricing.bill import Item, bill
from swetrials.pricing.model_names import hides_its_reach, places, price_name
from swetrials.pricing.shares import Share, answered_besides, shares, uses
from swetrials.pricing.terms import Quote, Special, quote
from swetrials.pricing.token_price import Rates, TokenPrice, anthropic_writes
from swetrials.records.cost import Bucket, Cost, UseLine
from swetrials.records.prices import TERMS, PriceFile, TokenPriceRow
from swetrials.records.requests import BilledPart, PriceTerms
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.documents import DocumentError, Problem, load_document


@dataclass(frozen=True)
class HourlyRate:
    """What renting a machine costs: USD per hour for the whole box, at a term of commitment."""

    instance: str
    term: str
    usd_per_hour: float
    gpu: str
    gpus: int
    region: str
    source: str
    date: str

    def share(self, gpus_used: int) -> float:
        """Return which share of the box a model on so many of its GPUs takes."""
        return min(1.0, gpus_used / self.gpus)


@dataclass(frozen=True)
class PriceBook:
    """All prices that are known, each with its source and its date.

    Attributes:
        file: the project's own prices, which beat those of the package.
        label: what the records call that file.
    """

    file: PriceFile
    label: str = "config/pricing.yaml"

    @classmethod
    def load(cls, path: Path | None) -> Self:
        """Read a price file; without one, genai-prices is all there is.

        Raises:
            DocumentError: one problem per fault, with its line.
        """
        if path is None:
            return cls(PriceFile())
        file = load_document(path, PriceFile)
        problems = [Problem(str(path), None, field, message) for field, message in _faults(file)]
        if problems:
            raise DocumentError(problems)
        return cls(file, f"{path.resolve().parent.name}/{path.name}")

    def token_price(
        self, model: str, provider: str, region: str | None, *, at: datetime | None = None
    ) -> TokenPrice | None:
        """Return what a model's tokens cost at standard terms; ``None`` when no list names this very model.

        Args:
            model: the id as the provider knows it: raw, an inference profile, with vendor prefix, date or hint.
            provider: of this project: ``bedrock``, ``litellm``, ``endpoint``, ...
            region: where it was called, if that is known.
            at: when the tokens were used; ``None``: now. Only genai-prices knows prices of other days.
        """
        return self._price(model, provider, places(model, region), Special(), at)

    def quote(
        self,
        model: str,
        provider: str,
        region: str | None,
        terms: PriceTerms | None = None,
        *,
        asked: str = "",
        at: datetime | None = None,
    ) -> Quote:
        """Return what a model's tokens cost at the terms that its answers name.

        Args:
            model: the one that answered, as in :meth:`token_price`.
            provider: of this project.
            region: where it was called, if that is known.
            terms: what the answers say of their price.
            asked: the model that the run asked for. An answer gives the bare name; by which inference profile it was
                called, which decides the price on Bedrock, only the id that was asked for tells.
            at: when the tokens were used; ``None``: now.
        """
        special = Special.of(terms)
        where = places(model, None) or places(asked, region)
        standard = self._price(model, provider, where, Special(), at)
        changed = self._price(model, provider, where, special, at) if special.rates else standard
        by_geo = "aws" not in self.file.price_lists.get(provider, ())
        found = quote(model, special, standard, changed, by_geo)
        if not hides_its_reach(asked) or places(model, None):
            return found
        anywhere = self._price(model, provider, ("global",), special, at)
        if anywhere is None or found.price is None or anywhere.rates == found.price.rates:
            return found
        doubt = (
            f"whether {model} ran by a global profile or a regional one is not told, so it counts at the lower price"
        )
        return replace(found, price=anywhere, doubt="; ".join(filter(None, (found.doubt, doubt))))

    def use_line(self, model: str, tool: str, count: int, provider: str, *, at: datetime | None = None) -> UseLine:
        """Return the line of a bill for uses of a tool that the model's server ran, unpriced where no list says.

        Args:
            model: whose answers used it.
            tool: as the answers count it.
            count: uses, at least 1.
            provider: of this project.
            at: when it was used; ``None``: now.
        """
        names = {price_name(model)}
        for row in self.file.server_tools:
            if (
                row.tool == tool
                and provider in row.providers
                and (not row.models or names & set(map(price_name, row.models)))
            ):
                return _use_line(model, tool, count, row.usd_per_1000, f"{self.label} ({row.source})", row.date)
        if tool in _WEB_SEARCHES:
            from swetrials.pricing.price_lists import listed_search_price

            known_as = self._aliases().get(price_name(model), model)
            lists = self.file.price_lists.get(provider, ())
            if listed := listed_search_price(known_as, lists, at or datetime.now(UTC)):
                return _use_line(model, tool, count, *listed, self._package_date())
        return UseLine(model=model, tool=tool, uses=count)

    def hourly_rate(self, instance: str, term: str) -> HourlyRate | None:
        """Return what a machine costs at a term (``on_demand``, ``one_year``, ``three_years``), if that is known."""
        row = self.file.instances.get(instance)
        usd_per_hour: float | None = getattr(row, term, None) if term in TERMS else None
        if row is None or usd_per_hour is None:
            return None
        source = f"{self.label} ({row.source}: {instance}, {term}, {row.region})"
        return HourlyRate(instance, term, usd_per_hour, row.gpu, row.gpus, row.region, source, row.date)

    def token_cost(
        self,
        report: UsageReport,
        model: str,
        provider: str,
        region: str | None,
        by_model: Mapping[str, Usage] | None = None,
        *,
        parts: Sequence[BilledPart] = (),
        requests: Mapping[str, Sequence[Usage]] | None = None,
        at: datetime | None = None,
    ) -> Cost:
        """Return what the tokens of an attempt or a trial cost, as a bill of buckets x rates.

        Args:
            report: the tokens, from one witness.
            model: the main model. What neither ``parts`` nor ``by_model`` account for is its.
            provider: of this project.
            region: where it was called, if that is known.
            by_model: the same witness's tokens by model, where subagents or side calls use others.
            parts: what the meter saw, by what it is billed as: the model that answered and the terms it named.
            requests: the same again for each single request, by model: long requests may cost more.
            at: when the tokens were used; ``None``: now.
        """
        items = [
            self._item(share, model, provider, region, requests or {}, at)
            for share in shares(report, model, by_model or {}, parts)
        ]
        lines = [
            self.use_line(name, tool, count, provider, at=at)
            for (name, tool), count in sorted(uses(model, parts).items())
        ]
        cost = bill(report, items, lines, f"provider {provider}" + (f", {region}" if region else ""))
        others = [f"answers of {name} are billed as its own" for name in answered_besides(model, parts)]
        return cost.model_copy(update={"note": "; ".join(sorted({*filter(None, cost.note.split("; ")), *others}))})

    def vendor_list(self) -> Self:
        """Return the book without prices of one's own: what vendors ask for their own models, terms included."""
        kept = tuple(row for row in self.file.tokens if row.service_tier or row.speed)
        return replace(
            self, file=PriceFile(genai_prices=self.file.genai_prices, tokens=kept, server_tools=self.file.server_tools)
        )

    def _item(
        self,
        share: Share,
        model: str,
        provider: str,
        region: str | None,
        requests: Mapping[str, Sequence[Usage]],
        at: datetime | None,
    ) -> Item:
        found = self.quote(share.model, provider, region, share.terms, asked=model, at=at)
        return Item(
            share.model,
            share.usage,
            found.price,
            requests.get(share.model, ()),
            unsplit=share.unsplit,
            longest_input=share.longest_input,
            terms=found.terms,
            doubt=found.doubt,
        )

    def _price(
        self, model: str, provider: str, where: tuple[str, ...], special: Special, at: datetime | None
    ) -> TokenPrice | None:
        known_as = self._aliases().get(price_name(model), model)
        row = self._row(known_as, provider, where, special)
        if row is not None:
            price: TokenPrice | None = self._from_row(known_as, row)
        elif special.rates and self._row(known_as, provider, where, Special()) is not None:
            price = None  # whose standard price is of one's own has no other one out of a list
        else:
            price = self._from_package(known_as, provider, where[:1] == ("global",), special, at)
        return _with_anthropic_writes(price) if price and price_name(known_as).startswith("claude-") else price

    def _aliases(self) -> dict[str, str]:
        return {price_name(alias): target for alias, target in self.file.aliases.items()}

    def _row(self, model: str, provider: str, where: tuple[str, ...], special: Special) -> TokenPriceRow | None:
        name = price_name(model)
        rows = [
            row
            for row in self.file.tokens
            if provider in row.providers and name in map(price_name, row.models) and _terms_of(row) == special.rates
        ]
        for place in where:
            for row in rows:
                if place in row.regions:
                    return row
        return next((row for row in rows if not row.regions), None)

    def _from_row(self, model: str, row: TokenPriceRow) -> TokenPrice:
        given: dict[Bucket, float | None] = {
            "fresh_input": row.fresh_input,
            "cache_read": row.cache_read,
            "cache_write_5m": row.cache_write_5m,
            "cache_write_1h": row.cache_write_1h,
            "output": row.output,
        }
        rates: Rates = {bucket: rate for bucket, rate in given.items() if rate is not None}
        name = next(name for name in row.models if price_name(name) == price_name(model))
        return TokenPrice(name, rates, f"{self.label} ({row.source})", row.date)

    def _from_package(
        self, model: str, provider: str, everywhere: bool, special: Special, at: datetime | None
    ) -> TokenPrice | None:
        # The package is large: who has an own price for every model never loads it.
        from swetrials.pricing.price_lists import listed_price

        lists = self.file.price_lists.get(provider, ())
        when = at or datetime.now(UTC)
        return listed_price(model, lists, when, self._package_date(), everywhere=everywhere, terms=special.rates)

    def _package_date(self) -> str | None:
        from swetrials.pricing.price_lists import installed_release

        release = self.file.genai_prices
        return release.date if release and release.version == installed_release() else None


_WEB_SEARCHES = frozenset({"web_search_requests", "web_search", "web_search_call", "web_search_calls"})
"""What answers call the web searches of their server: Anthropic's usage counts ``web_search_requests``."""


def _use_line(model: str, tool: str, count: int, usd_per_1000: float, source: str, date: str | None) -> UseLine:
    amount = round(count * usd_per_1000 / 1_000, 12)
    return UseLine(
        model=model,
        tool=tool,
        uses=count,
        usd_per_1000=usd_per_1000,
        amount_usd=amount,
        source=source,
        price_date=date,
    )


def _terms_of(row: TokenPriceRow) -> Mapping[str, str]:
    """Return for which terms a row is; empty: the standard ones, by whichever word it says so."""
    return Special.of(PriceTerms(service_tier=row.service_tier, speed=row.speed)).rates


def _with_anthropic_writes(price: TokenPrice) -> TokenPrice:
    missing = anthropic_writes(price.rates)
    rates = {**price.rates, **{bucket: rate for bucket, (rate, _) in missing.items()}}
    return replace(price, rates=rates, derived={bucket: rule for bucket, (_, rule) in missing.items()})


def _faults(file: PriceFile) -> list[tuple[str, str]]:
    """Return field and message of what only shows across several entries."""
    found: dict[tuple[str, ...], int] = {}
    faults = []
    for index, row in enumerate(file.tokens):
        for name in row.models:
            for provider in row.providers:
                for place in row.regions or ("",):
                    key = (price_name(name), provider, place, *sorted(f"{k} {v}" for k, v in _terms_of(row).items()))
                    first = found.setdefault(key, index)
                    if first != index:
                        said = f"{name} has a price for {provider} {place}".rstrip()
                        faults.append((f"tokens[{index}].models", f"{said} in tokens[{first}] already"))
    return faults
