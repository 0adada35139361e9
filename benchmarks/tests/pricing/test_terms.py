"""What answers say of their price beside their tokens: each word is billed, or takes ``complete`` away and is named."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swetrials.pricing.book import PriceBook
from swetrials.records.cost import Cost
from swetrials.records.requests import BilledPart, PriceTerms
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.project import find_project

BOOK = PriceBook.load(find_project().root / "config" / "pricing.yaml")

OPUS = Usage(fresh_input=3_000, cache_read=50_000, cache_write=0, output=4_000)
"""At 5 / 0.50 / 25 dollars: 0.015 + 0.025 + 0.100 = 0.14."""


def part(terms: dict[str, Any], usage: Usage = OPUS, model: str = "claude-opus-4-6") -> BilledPart:
    report = UsageReport(usage=usage, completeness="complete")
    return BilledPart(model=model, terms=PriceTerms.model_validate(terms), calls=1, usage=report)


def cost(*parts: BilledPart, model: str = "claude-opus-4-6", provider: str = "endpoint") -> Cost:
    total = UsageReport(usage=Usage.sum(p.usage.usage for p in parts), completeness="complete")
    return BOOK.token_cost(total, model, provider, None, parts=parts)


def summed(bill: Cost) -> float:
    return sum(line.amount_usd or 0 for line in bill.lines) + sum(use.amount_usd or 0 for use in bill.uses)


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"service_tier": "standard", "speed": "standard", "inference_geo": "global"},
        {"service_tier": "default", "inference_geo": "not_available"},
        {"service_tier": "auto"},
    ],
)
def test_words_for_nothing_special_cost_the_standard_price(terms: dict[str, Any]) -> None:
    bill = cost(part(terms))
    assert (bill.amount_usd, bill.status, bill.note) == (0.14, "complete", "")
    assert {line.terms for line in bill.lines} == {""}


@pytest.mark.parametrize(
    ("model", "terms", "dollars"),
    [
        ("claude-opus-4-6", {"server_tools": {"web_search_requests": 50}}, 0.14 + 0.50),
        ("claude-opus-4-6", {"server_tools": {"web_fetch_requests": 7}}, 0.14),
        ("claude-opus-4-6", {"speed": "fast"}, 0.84),
        ("claude-opus-5", {"speed": "fast"}, 0.28),
        ("claude-opus-5", {"service_tier": "batch"}, 0.07),
        ("claude-opus-4-6", {"inference_geo": "us"}, 0.154),
        ("claude-opus-5", {"inference_geo": "US", "speed": "fast"}, 0.308),
        ("claude-opus-5", {"inference_geo": "us", "server_tools": {"web_search_requests": 1}}, 0.154 + 0.01),
    ],
)
def test_what_has_a_published_price_is_billed(model: str, terms: dict[str, Any], dollars: float) -> None:
    bill = cost(part(terms, model=model), model=model)
    assert bill.amount_usd == pytest.approx(dollars)
    assert (bill.status, bill.note) == ("complete", "")
    assert summed(bill) == pytest.approx(dollars)
    for line in bill.lines:
        assert line.usd_per_million is not None
        assert line.amount_usd == pytest.approx(line.tokens * line.usd_per_million / 1e6)


def test_a_tier_of_openai_has_the_price_that_its_list_gives() -> None:
    usage = Usage(fresh_input=1_000_000, cache_read=0, cache_write=0, output=0)
    for tier, dollars in {"default": 1.25, "flex": 0.625, "priority": 2.5}.items():
        bill = cost(part({"service_tier": tier}, usage, "gpt-5"), model="gpt-5")
        assert (bill.amount_usd, bill.status) == (dollars, "complete")


@pytest.mark.parametrize(
    ("model", "provider", "terms", "named", "dollars"),
    [
        ("claude-opus-4-6", "endpoint", {"service_tier": "priority"}, "service_tier priority", 0.14),
        ("claude-opus-4-7", "endpoint", {"speed": "fast"}, "speed fast", 0.14),
        ("claude-opus-4-6", "endpoint", {"inference_geo": "eu"}, "inference_geo eu", 0.14),
        ("claude-opus-4-5", "endpoint", {"inference_geo": "us"}, "inference_geo us", 0.14),
        ("claude-opus-5", "bedrock", {"service_tier": "priority"}, "service_tier priority", 0.154),
        ("claude-opus-4-6", "endpoint", {"server_tools": {"code_execution_requests": 3}}, "3 code_execution", 0.14),
        ("claude-opus-4-6", "endpoint", {"server_tools": {"brand_new": 1}}, "1 brand_new", 0.14),
        ("global.anthropic.claude-opus-5", "bedrock", {"server_tools": {"web_search_requests": 1}}, "web_search", 0.14),
        ("claude-opus-4-6", "endpoint", {"service_tier": "reserved"}, "service_tier reserved", None),
        ("claude-opus-4-6", "endpoint", {"speed": "glacial"}, "speed glacial", None),
        ("claude-opus-5", "endpoint", {"speed": "fast", "service_tier": "batch"}, "service_tier batch", None),
    ],
)
def test_what_has_none_takes_complete_away_and_is_named(
    model: str, provider: str, terms: dict[str, Any], named: str, dollars: float | None
) -> None:
    bill = cost(part(terms, model=model), model=model, provider=provider)
    assert bill.status == ("unknown" if dollars is None else "lower_bound")
    assert bill.amount_usd == pytest.approx(dollars)
    assert named in bill.note
    assert bill.high_usd is None


def test_another_model_is_billed_at_its_own_price() -> None:
    bill = cost(part({}, model="claude-opus-4-6"), part({}, model="claude-haiku-4-5-20251001"))
    assert bill.amount_usd == pytest.approx(0.14 + 0.14 / 5)
    assert bill.status == "complete"
    assert bill.note == "answers of claude-haiku-4-5-20251001 are billed as its own"


def test_another_model_without_a_price_takes_complete_away() -> None:
    bill = cost(part({}, model="claude-opus-4-6"), part({}, model="someone-else"))
    assert (bill.amount_usd, bill.status) == (0.14, "lower_bound")
    assert "no price is known for someone-else" in bill.note
    assert bill.lacks_a_price


@pytest.mark.parametrize(
    ("asked", "dollars"),
    [
        ("global.anthropic.claude-opus-5", 0.14),
        ("us.anthropic.claude-opus-5", 0.154),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-opus-5", 0.14),
    ],
)
def test_an_answer_by_its_bare_name_was_called_as_was_asked(asked: str, dollars: float) -> None:
    bill = cost(part({}, model="claude-opus-5-20260101"), model=asked, provider="bedrock")
    assert bill.amount_usd == pytest.approx(dollars)
    assert bill.status == "complete"


def test_a_profile_that_hides_its_reach_is_counted_low_and_not_complete() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"
    bill = cost(part({}, model="claude-opus-5"), model=arn, provider="bedrock")
    assert bill.amount_usd == pytest.approx(0.14)
    assert bill.status == "lower_bound"
    assert "whether claude-opus-5 ran by a global profile or a regional one is not told" in bill.note


def test_an_own_price_has_no_other_terms_out_of_a_list() -> None:
    row = {
        "models": ["gpt-5"],
        "providers": ["endpoint"],
        "fresh_input": 1,
        "output": 1,
        "source": "c",
        "date": "2026-11",
    }
    book = PriceBook(BOOK.file.model_validate({"tokens": [row]}))
    usage = Usage(fresh_input=1_000_000, cache_read=0, cache_write=0, output=0)
    told = part({"service_tier": "flex"}, usage, "gpt-5")
    bill = book.token_cost(told.usage, "gpt-5", "endpoint", None, parts=[told])
    assert (bill.amount_usd, bill.status) == (None, "unknown")


def test_what_the_meter_did_not_see_is_the_main_models() -> None:
    seen = part({"speed": "fast"})
    total = UsageReport(usage=OPUS + OPUS, completeness="complete")
    bill = BOOK.token_cost(total, "claude-opus-4-6", "endpoint", None, parts=[seen])
    assert bill.amount_usd == pytest.approx(0.84 + 0.14)


def open_prompt(**known: int) -> UsageReport:
    return UsageReport.of(Usage(input_total=20_000, output=500, **known))


def test_a_prompt_told_apart_is_exact() -> None:
    usage = Usage(fresh_input=1_000, cache_read=19_000, cache_write=0, output=500)
    bill = BOOK.token_cost(UsageReport(usage=usage, completeness="complete"), "gpt-5", "endpoint", None)
    assert (bill.amount_usd, bill.status) == (0.008625, "complete")


def test_a_prompt_not_told_apart_is_a_range_from_all_cached_to_none() -> None:
    bill = BOOK.token_cost(open_prompt(cache_write=0), "gpt-5", "endpoint", None)
    assert (bill.low_usd, bill.high_usd) == (0.0075, 0.03)
    assert (bill.amount_usd, bill.status) == (0.0075, "lower_bound")
    assert [(line.bucket, line.tokens, line.usd_per_million) for line in bill.lines] == [
        ("input", 20_000, 0.125),
        ("output", 500, 10),
    ]
    assert bill.note == "of 20,000 tokens of gpt-5 it is not told which are cache_read, fresh_input"


def test_calls_that_tell_and_calls_that_do_not_are_a_range_over_the_latter() -> None:
    told = UsageReport.of(Usage(fresh_input=1_000, cache_read=19_000, cache_write=0, output=500))
    bill = BOOK.token_cost(told + open_prompt(cache_write=0), "gpt-5", "endpoint", None)
    assert bill.low_usd == pytest.approx(0.008625 + 0.0075)
    assert bill.high_usd == pytest.approx(0.008625 + 0.03)


def test_a_call_that_broke_off_leaves_no_upper_end() -> None:
    cut = UsageReport.of(Usage(input_total=20_000, output=500, cache_write=0), whole=False)
    bill = BOOK.token_cost(open_prompt(cache_write=0) + cut, "gpt-5", "endpoint", None)
    assert (bill.amount_usd, bill.status, bill.high_usd) == (0.015, "lower_bound", None)


def test_ranges_of_attempts_add_up_and_an_open_end_stays_open() -> None:
    wide = BOOK.token_cost(open_prompt(cache_write=0), "gpt-5", "endpoint", None)
    exact = Cost(amount_usd=1, basis="metered", status="complete")
    assert ((wide + exact).low_usd, (wide + exact).high_usd) == (1.0075, 1.03)
    killed = Cost(amount_usd=1, basis="metered", status="lower_bound")
    assert ((wide + killed).amount_usd, (wide + killed).high_usd) == (1.0075, None)
    assert (wide + Cost() + exact).high_usd is None


COUNT = st.integers(0, 10**7)
WORDS = st.none() | st.sampled_from(["", "standard", "fast", "priority", "batch", "flex", "us", "global", "??"])
MODELS = st.none() | st.sampled_from(
    ["claude-opus-5", "claude-haiku-4-5", "gpt-5", "gpt-5.6-sol", "nobodys", "arn:x", ""]
)
USAGES = st.builds(
    Usage,
    fresh_input=st.none() | COUNT,
    cache_read=st.none() | COUNT,
    cache_write=st.none() | COUNT,
    output=st.none() | COUNT,
    input_total=st.none() | COUNT,
)
REPORTS = st.builds(
    UsageReport,
    usage=USAGES,
    completeness=st.sampled_from(["complete", "lower_bound", "unknown"]),
    at_least=st.none() | USAGES,
    at_most=st.none() | USAGES,
)
TERMS = st.builds(
    PriceTerms,
    service_tier=WORDS,
    speed=WORDS,
    inference_geo=WORDS,
    server_tools=st.dictionaries(
        st.sampled_from(["web_search_requests", "web_fetch_requests", "x"]), COUNT, max_size=2
    ),
)
PARTS = st.lists(st.builds(BilledPart, model=MODELS, terms=TERMS, calls=st.just(1), usage=REPORTS), max_size=3)


@settings(deadline=None)
@given(REPORTS, PARTS, MODELS, st.sampled_from(["endpoint", "bedrock", "litellm", "nowhere"]))
def test_a_bill_of_any_shape_adds_up_and_is_complete_only_when_all_of_it_is_known(
    report: UsageReport, parts: list[BilledPart], model: str | None, provider: str
) -> None:
    bill = BOOK.token_cost(report, model or "some-model", provider, "us-east-1", {}, parts=parts)
    priced = [line.amount_usd for line in bill.lines if line.amount_usd is not None]
    priced += [use.amount_usd for use in bill.uses if use.amount_usd is not None]
    if bill.amount_usd is None:
        assert (bill.status, priced) == ("unknown", [])
        assert bill.note
    else:
        assert bill.amount_usd == pytest.approx(sum(priced))
    if bill.status == "complete":
        assert not bill.lacks_a_price
        assert report.completeness == "complete"
        assert None not in {report.usage.fresh_input, report.usage.cache_read, report.usage.cache_write}
        assert report.usage.output is not None
        assert sum(line.tokens for line in bill.lines) == report.usage.total or report.at_least is not None
    else:
        assert bill.note
    if bill.high_usd is not None:
        assert bill.low_usd is not None
        assert bill.low_usd <= bill.high_usd


@settings(deadline=None)
@given(st.lists(st.tuples(COUNT, COUNT, COUNT, st.booleans()), min_size=1, max_size=4))
def test_the_ends_of_a_range_hold_the_true_cost(calls: list[tuple[int, int, int, bool]]) -> None:
    """Some calls tell how much of their prompt was cached, others the prompt alone."""
    truth, told, joined = Cost(), Cost(), UsageReport()
    for index, (fresh, read, output, telling) in enumerate(calls):
        whole = Usage(fresh_input=fresh, cache_read=read, cache_write=0, output=output)
        blind = UsageReport.of(Usage(cache_write=0, output=output, input_total=fresh + read))
        exact = UsageReport(usage=whole, completeness="complete")
        true = BOOK.token_cost(exact, "gpt-5", "endpoint", None)
        seen = BOOK.token_cost(exact if telling else blind, "gpt-5", "endpoint", None)
        report = exact if telling else blind
        truth, told, joined = (true, seen, report) if index == 0 else (truth + true, told + seen, joined + report)
    assert truth.amount_usd is not None
    assert told.amount_usd is not None
    for bill in (told, BOOK.token_cost(joined, "gpt-5", "endpoint", None)):
        assert bill.amount_usd is not None
        high = bill.amount_usd if bill.status == "complete" else bill.high_usd
        assert high is not None
        assert bill.amount_usd - 1e-9 <= truth.amount_usd <= high + 1e-9
