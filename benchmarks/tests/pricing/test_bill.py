"""From tokens to dollars: buckets, what is missing, several models, long requests; and bills that people have paid."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.pricing.bill import counts
from swetrials.pricing.book import PriceBook
from swetrials.records.cost import Cost
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.project import find_project

BOOK = PriceBook.load(find_project().root / "config" / "pricing.yaml")
PUBLISHED = Path(__file__).with_name("published-bills.csv")

FULL = Usage(
    fresh_input=1_000_000,
    cache_read=1_000_000,
    cache_write=2_000_000,
    cache_write_5m=1_000_000,
    cache_write_1h=1_000_000,
    output=1_000_000,
)


def cost(usage: Usage, model: str = "claude-opus-5", *, by_model: dict[str, Usage] | None = None) -> Cost:
    return BOOK.token_cost(UsageReport(usage=usage, completeness="complete"), model, "endpoint", None, by_model)


def test_every_bucket_has_its_rate() -> None:
    bill = cost(FULL)
    assert bill.amount_usd == 5 + 0.5 + 6.25 + 10 + 25
    assert (bill.basis, bill.status, bill.price_date) == ("metered", "complete", "2026-11-10")
    assert bill.source == "genai-prices 0.2.3 (anthropic)"
    assert [(line.bucket, line.amount_usd) for line in bill.lines] == [
        ("fresh_input", 5),
        ("cache_read", 0.5),
        ("cache_write_5m", 6.25),
        ("cache_write_1h", 10),
        ("output", 25),
    ]


@pytest.mark.parametrize("row", list(csv.DictReader(PUBLISHED.open(encoding="utf-8"))), ids=lambda row: row["model"])
def test_published_sums_are_the_vendors_list_prices(row: dict[str, str]) -> None:
    """They are the agent's own sums, which know nothing of where the model was called."""
    usage = Usage(
        fresh_input=int(row["input_tokens"]),
        cache_read=int(row["cache_read_tokens"]),
        cache_write=int(row["cache_write_tokens"]),
        cache_write_5m=int(row["cache_write_tokens"]),
        output=int(row["output_tokens"]),
    )
    bill = cost(usage, row["model"])
    assert bill.status == "complete"
    assert bill.amount_usd == pytest.approx(float(row["total_cost_usd"]), abs=0.005)


def test_an_unknown_model_has_no_cost_and_is_named() -> None:
    bill = cost(FULL, "nobodys-model")
    assert (bill.amount_usd, bill.status, bill.basis) == (None, "unknown", "none")
    assert bill.note == "no price is known for nobodys-model (provider endpoint)"
    assert sum(line.tokens for line in bill.lines) == FULL.total


def test_tokens_that_nobody_counted_have_no_cost() -> None:
    bill = cost(Usage())
    assert (bill.amount_usd, bill.status) == (None, "unknown")
    assert "claude-opus-5" in bill.note


def test_no_tokens_cost_nothing() -> None:
    bill = cost(Usage(fresh_input=0, cache_read=0, cache_write=0, output=0))
    assert (bill.amount_usd, bill.status) == (0, "complete")


def test_an_unknown_bucket_makes_a_lower_bound() -> None:
    bill = cost(FULL.model_copy(update={"cache_read": None}))
    assert (bill.amount_usd, bill.status) == (46.25, "lower_bound")
    assert "cache_read" in bill.note


def test_tokens_that_are_a_lower_bound_make_the_cost_one() -> None:
    report = UsageReport(usage=FULL, completeness="lower_bound")
    assert BOOK.token_cost(report, "claude-opus-5", "bedrock", None).status == "lower_bound"


def test_a_bucket_without_a_price_makes_a_lower_bound() -> None:
    usage = Usage(fresh_input=1_000_000, cache_read=1_000_000, cache_write=0, output=0)
    report = UsageReport(usage=usage, completeness="complete")
    bill = BOOK.token_cost(report, "mistral.devstral-2-123b", "litellm", None)
    assert (bill.amount_usd, bill.status) == (0.4, "lower_bound")
    assert bill.note == "no price is known for cache_read of mistral.devstral-2-123b"


def test_cache_writes_of_unknown_duration_are_a_range() -> None:
    bill = cost(Usage(fresh_input=0, cache_read=0, cache_write=1_000_000, output=0))
    assert (bill.amount_usd, bill.low_usd, bill.high_usd) == (6.25, 6.25, 10)
    assert bill.status == "lower_bound"


def test_subagents_on_another_model_have_its_rates() -> None:
    haiku = Usage(fresh_input=400_000, cache_read=0, cache_write=0, output=0)
    whole = Usage(fresh_input=1_000_000, cache_read=0, cache_write=0, output=0)
    bill = cost(whole, by_model={"claude-haiku-4-5-20251001": haiku})
    assert [(line.model, line.amount_usd) for line in bill.lines] == [
        ("claude-haiku-4-5-20251001", 0.4),
        ("claude-opus-5", 3.0),
    ]
    assert bill.amount_usd == 3.4


def test_the_main_model_is_known_by_any_of_its_names() -> None:
    usage = Usage(fresh_input=1_000_000, cache_read=0, cache_write=0, output=0)
    bill = cost(usage, "us.anthropic.claude-opus-5[1m]", by_model={"claude-opus-5": usage})
    assert [(line.model, line.tokens) for line in bill.lines] == [("claude-opus-5", 1_000_000)]


def test_one_model_without_a_price_leaves_the_rest_a_lower_bound() -> None:
    strange = Usage(fresh_input=100, cache_read=0, cache_write=0, output=0)
    bill = cost(FULL, by_model={"nobodys-model": strange})
    assert bill.status == "lower_bound"
    assert bill.amount_usd == pytest.approx(46.75 - 100 * 5 / 1e6)
    assert "nobodys-model" in bill.note


LONG = Usage(fresh_input=300_000, cache_read=0, cache_write=0, output=0)
SHORT = Usage(fresh_input=100_000, cache_read=0, cache_write=0, output=0)


def sonnet(usage: Usage, requests: list[Usage] | None = None) -> Cost:
    model = "claude-sonnet-4-5"  # 3 USD per million, 6 in requests above 200,000 tokens
    report = UsageReport(usage=usage, completeness="complete")
    return BOOK.token_cost(report, model, "endpoint", None, requests={model: requests or []})


def test_requests_decide_which_tokens_are_long_context() -> None:
    bill = sonnet(LONG + SHORT, [LONG, SHORT])
    assert [(line.tokens, line.usd_per_million) for line in bill.lines] == [(100_000, 3), (300_000, 6)]
    assert (bill.amount_usd, bill.status) == (2.1, "complete")


def test_without_the_single_requests_long_context_is_a_range() -> None:
    bill = sonnet(LONG + SHORT)
    assert (bill.amount_usd, bill.low_usd, bill.high_usd, bill.status) == (1.2, 1.2, 2.4, "lower_bound")


def test_a_total_below_the_threshold_holds_no_long_request() -> None:
    assert (sonnet(SHORT).amount_usd, sonnet(SHORT).status) == (0.3, "complete")


BUCKET = st.integers(0, 10**10)


@given(BUCKET, BUCKET, BUCKET, BUCKET, BUCKET)
def test_a_bill_holds_every_token_at_its_rate(fresh: int, read: int, five: int, hour: int, output: int) -> None:
    usage = Usage(
        fresh_input=fresh,
        cache_read=read,
        cache_write=five + hour,
        cache_write_5m=five,
        cache_write_1h=hour,
        output=output,
    )
    bill = cost(usage)
    assert sum(line.tokens for line in bill.lines) == usage.total
    assert bill.amount_usd == pytest.approx((fresh * 5 + read * 0.5 + five * 6.25 + hour * 10 + output * 25) / 1e6)


def test_a_sum_does_not_give_writes_of_unknown_lifetime_to_the_other_lifetime() -> None:
    told = Usage(fresh_input=0, cache_read=0, cache_write=30, cache_write_5m=30, output=0)
    untold = Usage(fresh_input=0, cache_read=0, cache_write=40, output=0)
    assert counts(told + untold) == {"cache_write_5m": 30, "cache_write": 40}
