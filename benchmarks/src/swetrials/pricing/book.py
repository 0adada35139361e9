"""The price book: what the project's own price file says, and behind it the genai-prices package."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from swetrials.pricing.bill import Item, bill
from swetrials.pricing.model_names import places, price_name
from swetrials.pricing.token_price import Rates, TokenPrice, anthropic_writes
from swetrials.records.cost import Bucket, Cost
from swetrials.records.prices import TERMS, PriceFile, TokenPriceRow
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
        """Return what a model's tokens cost; ``None`` when no list names this very model.

        Args:
            model: the id as the provider knows it: raw, an inference profile, with vendor prefix, date or hint.
            provider: of this project: ``bedrock``, ``litellm``, ``endpoint``, ...
            region: where it was called, if that is known.
            at: when the tokens were used; ``None``: now. Only genai-prices knows prices of other days.
        """
        known_as = self._aliases().get(price_name(model), model)
        row = self._row(known_as, provider, places(model, region))
        price = self._from_row(known_as, row) if row else self._from_package(known_as, provider, at)
        return _with_anthropic_writes(price) if price and price_name(known_as).startswith("claude-") else price

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
        requests: Mapping[str, Sequence[Usage]] | None = None,
        at: datetime | None = None,
    ) -> Cost:
        """Return what the tokens of an attempt or a trial cost, as a bill of buckets x rates.

        Args:
            report: the tokens, from one witness.
            model: the main model. What ``by_model`` does not account for is its.
            provider: of this project.
            region: where it was called, if that is known.
            by_model: the same witness's tokens by model, where subagents or side calls use others.
            requests: the same again for each single request, by model: long requests may cost more.
            at: when the tokens were used; ``None``: now.
        """
        shares = _shares(report.usage, model, by_model or {})
        items = [
            Item(name, usage, self.token_price(name, provider, region, at=at), (requests or {}).get(name, ()))
            for name, usage in shares.items()
        ]
        return bill(report, items, f"provider {provider}" + (f", {region}" if region else ""))

    def _aliases(self) -> dict[str, str]:
        return {price_name(alias): target for alias, target in self.file.aliases.items()}

    def _row(self, model: str, provider: str, where: tuple[str, ...]) -> TokenPriceRow | None:
        name = price_name(model)
        rows = [row for row in self.file.tokens if provider in row.providers and name in map(price_name, row.models)]
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

    def _from_package(self, model: str, provider: str, at: datetime | None) -> TokenPrice | None:
        # The package is large: who has an own price for every model never loads it.
        from swetrials.pricing.price_lists import installed_release, listed_price

        release = self.file.genai_prices
        date = release.date if release and release.version == installed_release() else None
        return listed_price(model, self.file.price_lists.get(provider, ()), at or datetime.now(UTC), date)


def _shares(usage: Usage, model: str, by_model: Mapping[str, Usage]) -> dict[str, Usage]:
    """Return the tokens by model, so that they come to the total bucket by bucket.

    The total is the better figure: what the other models leave of it is the main model's.
    """
    main = next((name for name in by_model if price_name(name) == price_name(model)), model)
    others = {name: part for name, part in by_model.items() if name != main}
    buckets: dict[str, dict[str, int | None]] = {name: {} for name in (main, *others)}
    for bucket in Usage.model_fields:
        left: int | None = getattr(usage, bucket)
        for name, part in others.items():
            count: int | None = getattr(part, bucket)
            if left is not None and count is not None:
                buckets[name][bucket] = min(count, left)
                left -= min(count, left)
        buckets[main][bucket] = left
    return {name: Usage(**counts) for name, counts in buckets.items()}


def _with_anthropic_writes(price: TokenPrice) -> TokenPrice:
    missing = anthropic_writes(price.rates)
    rates = {**price.rates, **{bucket: rate for bucket, (rate, _) in missing.items()}}
    return replace(price, rates=rates, derived={bucket: rule for bucket, (_, rule) in missing.items()})


def _faults(file: PriceFile) -> list[tuple[str, str]]:
    """Return field and message of what only shows across several entries."""
    found: dict[tuple[str, str, str], int] = {}
    faults = []
    for index, row in enumerate(file.tokens):
        for name in row.models:
            for provider in row.providers:
                for place in row.regions or ("",):
                    key = (price_name(name), provider, place)
                    first = found.setdefault(key, index)
                    if first != index:
                        said = f"{name} has a price for {provider} {place}".rstrip()
                        faults.append((f"tokens[{index}].models", f"{said} in tokens[{first}] already"))
    return faults
