"""Giving records other prices: their cost changes, the tokens and everything else stay as they are."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from swetrials.pricing.book import PriceBook
from swetrials.pricing.hardware import THROUGHPUT, Rent, hardware_cost
from swetrials.records.cost import SELF_HOSTED, Cost
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.store.files import write_atomically
from swetrials.store.reading import read_bytes
from swetrials.store.results import TrialFolder


@dataclass(frozen=True)
class Repriced:
    """A trial's record with other prices, not written yet."""

    folder: TrialFolder
    metrics: Metrics
    cost: Cost
    attempts: tuple[Cost, ...]

    @property
    def changed(self) -> bool:
        """Whether any cost in the record is another one now."""
        return self.attempts != tuple(attempt.cost for attempt in self.metrics.attempts)

    def write(self) -> None:
        """Put the new costs into ``metrics.json``, atomically: its cost blocks and ``total_cost_usd``, nothing else."""
        path = self.folder.metrics_file
        data = orjson.loads(read_bytes(self.folder.file_to_read))
        data["total_cost_usd"] = self.cost.amount_usd
        data["cost"] = self.cost.model_dump(mode="json")
        data["cost_winning_attempt"] = self.attempts[-1].model_dump(mode="json")
        for attempt, cost in zip(data["attempts"], self.attempts, strict=True):
            attempt["cost"] = cost.model_dump(mode="json")
        write_atomically(path, orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def reprice(folder: TrialFolder, book: PriceBook, rent: Rent | None) -> Repriced:
    """Return a trial's record at other prices. Those of the day of the trial are taken where the book knows them.

    A free trial stays free. A self-hosted one without a price per token is priced by ``rent``, and without that
    keeps the cost it has.

    Raises:
        RecordError: there is no record, or it cannot be read.
    """
    metrics = folder.metrics()
    attempts = tuple(_priced(metrics, attempt, book, rent) for attempt in metrics.attempts)
    total = metrics.cost
    for index, cost in enumerate(attempts):
        total = cost if index == 0 else total + cost
    return Repriced(folder, metrics, total, attempts)


def default_book(config: Path) -> PriceBook:
    """Return the project's own price book, or genai-prices alone where the project has no price file.

    Raises:
        DocumentError: one problem per fault, with its line.
    """
    path = config / "pricing.yaml"
    return PriceBook.load(path if path.is_file() else None)


def _priced(metrics: Metrics, attempt: AttemptRecord, book: PriceBook, rent: Rent | None) -> Cost:
    old, usage = attempt.cost, attempt.usage
    model, provider, region = metrics.model, metrics.provider, metrics.aws_region
    at = datetime.fromisoformat(attempt.started_at)
    if old.basis == "free":
        return old
    unlisted = provider in SELF_HOSTED and book.token_price(model, provider, region, at=at) is None
    if unlisted or old.basis == "hardware":
        return _rented(metrics, attempt, rent) if rent else old
    parts = attempt.requests.parts if attempt.requests else ()
    cost = book.token_cost(usage.headline, model, provider, region, usage.by_model, parts=parts, at=at)
    return cost.model_copy(update={"reported_usd": old.reported_usd})


def _rented(metrics: Metrics, attempt: AttemptRecord, rent: Rent) -> Cost:
    old, tokens = attempt.cost, attempt.usage.headline
    counted = metrics.vllm_prometheus.derived.get(THROUGHPUT) if metrics.vllm_prometheus else None
    measured = next((line.tokens_per_second for line in old.hardware if line.tokens_per_second), counted)
    cost = hardware_cost(
        tokens.usage.total,
        rent.tokens_per_second or measured,
        rent.dollars_per_hour,
        rent.share_of_box,
        attempt.time.wall_seconds or 0.0,
        rent.concurrency,
        completeness=tokens.completeness,
        source=rent.source,
        date=rent.date,
    )
    return cost.model_copy(update={"reported_usd": old.reported_usd})
