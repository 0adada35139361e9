"""Prices: which list wins, what no list knows, and what the shipped price file says."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from swetrials.pricing.book import PriceBook
from swetrials.store.documents import DocumentError
from swetrials.store.project import find_project

ROOT = find_project().root
SHIPPED = PriceBook.load(ROOT / "config" / "pricing.yaml")

ROW = """\
schema_version: "1.0"
aliases: {gateway-model: mine}
tokens:
  - {models: [mine], providers: [endpoint], fresh_input: 1, output: 2, source: contract, date: 2026-10}
  - {models: [mine], providers: [endpoint], regions: [eu], fresh_input: 3, output: 4, source: contract, date: 2026-10}
"""


@pytest.fixture
def book(tmp_path: Path) -> PriceBook:
    return PriceBook.load(written(tmp_path, ROW))


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_of_the_price_file_names_file_source_and_date(book: PriceBook, tmp_path: Path) -> None:
    price = book.token_price("mine", "endpoint", None)
    assert price is not None
    assert (price.model, price.rates, price.date) == ("mine", {"fresh_input": 1, "output": 2}, "2026-10")
    assert price.source == f"{tmp_path.name}/prices.yaml (contract)"


def test_an_alias_leads_to_the_row(book: PriceBook) -> None:
    assert book.token_price("gateway-model", "endpoint", None) == book.token_price("mine", "endpoint", None)


@pytest.mark.parametrize(("region", "input_rate"), [("eu-west-1", 3), ("us-east-1", 1), (None, 1)])
def test_a_row_for_the_region_beats_the_one_for_everywhere(
    book: PriceBook, region: str | None, input_rate: float
) -> None:
    price = book.token_price("mine", "endpoint", region)
    assert price is not None
    assert price.rates["fresh_input"] == input_rate


def test_a_row_holds_for_its_providers_alone(book: PriceBook) -> None:
    assert book.token_price("mine", "vllm", None) is None


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("us.anthropic.claude-opus-5[1m]", "bedrock"),
        ("anthropic.claude-opus-4-6-v1", "bedrock"),
        ("global.anthropic.claude-opus-4-8-20260101-v1:0", "bedrock"),
        ("bedrock/us.anthropic.claude-opus-4-7", "litellm"),
        ("claude-opus-4-5", "bedrock"),
    ],
)
def test_shipped_prices_of_claude_opus_on_bedrock(model: str, provider: str) -> None:
    price = SHIPPED.token_price(model, provider, "us-east-1")
    assert price is not None
    assert price.source == "config/pricing.yaml (published bills)"
    assert price.rates == {
        "fresh_input": 5,
        "output": 25,
        "cache_read": 0.5,
        "cache_write_5m": 6.25,
        "cache_write_1h": 10,
    }
    assert price.source_of("cache_write_1h") == f"{price.source}, Anthropic's rule: 2 x input"


def test_outside_the_us_a_geographic_profile_costs_more_and_a_global_one_does_not() -> None:
    regional = SHIPPED.token_price("eu.anthropic.claude-haiku-4-5", "bedrock", "eu-west-1")
    everywhere = SHIPPED.token_price("global.anthropic.claude-haiku-4-5", "bedrock", "eu-west-1")
    assert regional is not None
    assert everywhere is not None
    assert (regional.rates["fresh_input"], everywhere.rates["fresh_input"]) == (1.1, 1.0)


def test_what_the_file_does_not_know_the_package_may() -> None:
    price = SHIPPED.token_price("mistral.devstral-2-123b", "litellm", None)
    assert price is not None
    assert price.rates == {"fresh_input": 0.4, "output": 2}
    assert price.source.startswith("genai-prices ")


@pytest.mark.parametrize("raw", ["openai.gpt-oss-120b", "qwen.qwen3-coder-480b-a35b-instruct"])
def test_shipped_aliases_lead_to_a_price(raw: str) -> None:
    assert SHIPPED.token_price(raw, "litellm", "us-east-1") is not None
    assert PriceBook.load(None).token_price(raw, "litellm", "us-east-1") is None


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-55", "bedrock"),  # the package itself would take it for claude-opus-5
        ("claude-opus-5-turbo", "endpoint"),
        ("qwen.qwen3-32b-tuned", "litellm"),
        ("moonshotai.kimi-k2.5", "litellm"),
        ("qwen3-coder-30b", "vllm"),
        ("claude-opus-5", "a-provider-nobody-knows"),
        ("rehearsal", "rehearsal"),
    ],
)
def test_a_model_that_no_list_spells_out_has_no_price(model: str, provider: str) -> None:
    assert SHIPPED.token_price(model, provider, None) is None


def test_prices_are_those_of_the_day() -> None:
    early, late = datetime(2026, 2, 10, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)
    before = SHIPPED.token_price("claude-opus-4-6", "endpoint", None, at=early)
    after = SHIPPED.token_price("claude-opus-4-6", "endpoint", None, at=late)
    assert before is not None
    assert after is not None
    assert [tier.above_input_tokens for tier in before.long_context] == [200_000]
    assert after.long_context == ()


def test_the_date_of_the_package_is_that_of_the_pinned_release() -> None:
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    pinned = re.search(
        r'name = "genai-prices"\nversion = "([^"]+)".*?upload-time = "(\d{4}-\d\d-\d\d)', lock, re.DOTALL
    )
    release = SHIPPED.file.genai_prices
    assert pinned is not None
    assert release is not None
    assert (release.version, release.date) == pinned.groups()


def test_without_a_declared_release_a_package_price_has_no_date() -> None:
    price = PriceBook.load(None).token_price("claude-haiku-4-5", "endpoint", None)
    assert price is not None
    assert price.date is None


@pytest.mark.parametrize(
    ("instance", "term", "rate"),
    [
        ("g6e.12xlarge", "on_demand", 10.493),
        ("p5en.48xlarge", "three_years", 27.72),
        ("p6-b300.48xlarge", "on_demand", None),
        ("p5en.48xlarge", "forever", None),
        ("p5en.48xlarge", "gpus", None),
        ("nobody's", "on_demand", None),
    ],
)
def test_hourly_rates(instance: str, term: str, rate: float | None) -> None:
    found = SHIPPED.hourly_rate(instance, term)
    assert (found.usd_per_hour if found else None) == rate


def test_a_model_takes_its_share_of_the_box() -> None:
    rate = SHIPPED.hourly_rate("p5en.48xlarge", "three_years")
    assert rate is not None
    assert (rate.share(4), rate.share(8)) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("fresh_input: 1,", "fresh_imput: 1,", "prices.yaml:4: tokens[0].fresh_imput: unknown key"),
        ("fresh_input: 1,", "fresh_input: -1,", "prices.yaml:4: tokens[0].fresh_input: must be"),
        ("source: contract, date: 2026-10}", "date: 2026-10}", "prices.yaml:4: tokens[0].source: the key is required"),
        ("date: 2026-10}", "date: autumn}", "prices.yaml:4: tokens[0].date:"),
        ("regions: [eu], ", "", "tokens[1].models: mine has a price for endpoint in tokens[0] already"),
    ],
)
def test_a_faulty_price_file_is_refused_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = written(tmp_path, ROW.replace(old, new, 1))
    with pytest.raises(DocumentError) as refused:
        PriceBook.load(path)
    assert problem in str(refused.value)
