"""Prices: which list wins, what no list knows, and what the shipped price file says."""

import re
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from swetrials.pricing.book import PriceBook
from swetrials.records.cost import BUCKETS
from swetrials.records.prices import TokenPriceRow
from swetrials.records.requests import PriceTerms
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


REGIONAL = [
    "us.anthropic.claude-opus-5[1m]",
    "anthropic.claude-opus-5",
    "claude-opus-5",
    "eu.anthropic.claude-opus-5",
    "jp.anthropic.claude-opus-5",
    "ca.anthropic.claude-opus-5",
    "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-5",
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-5",
    "bedrock/us.anthropic.claude-opus-5",
    "us.anthropic.claude-opus-4-5",
    "us.anthropic.claude-opus-4-6-v1",
    "us.anthropic.claude-opus-4-7",
    "au.anthropic.claude-opus-4-8-20260101-v1:0",
]
"""Ids of Claude models at 5/25 dollars by a global profile, as they are called otherwise."""


@pytest.mark.parametrize("provider", ["bedrock", "litellm"])
@pytest.mark.parametrize("model", REGIONAL)
def test_on_bedrock_claude_costs_a_tenth_more_than_by_a_global_profile(model: str, provider: str) -> None:
    price = SHIPPED.token_price(model, provider, "us-east-1")
    assert price is not None
    assert price.rates == {
        "fresh_input": 5.5,
        "output": 27.5,
        "cache_read": 0.55,
        "cache_write_5m": 6.875,
        "cache_write_1h": 11,
    }


@pytest.mark.parametrize(
    ("name", "input_rate"),
    [("opus-5", 5), ("opus-4-5", 5), ("sonnet-5", 2), ("sonnet-4-5", 3), ("haiku-4-5", 1), ("haiku-4-5-20251001", 1)],
)
@pytest.mark.parametrize("region", [None, "us-east-1", "eu-west-1"])
def test_a_global_profile_costs_the_same_everywhere(name: str, input_rate: float, region: str | None) -> None:
    everywhere = SHIPPED.token_price(f"global.anthropic.claude-{name}", "bedrock", region)
    regional = SHIPPED.token_price(f"anthropic.claude-{name}", "bedrock", region)
    assert everywhere is not None
    assert regional is not None
    assert everywhere.rates["fresh_input"] == input_rate
    assert regional.rates == pytest.approx({bucket: rate * 1.1 for bucket, rate in everywhere.rates.items()})


@pytest.mark.parametrize("row", SHIPPED.file.tokens, ids=lambda row: " ".join((row.models[0], *row.regions)))
def test_each_own_row_is_the_packages_or_says_why_it_is_not(row: TokenPriceRow) -> None:
    bare = PriceBook(SHIPPED.file.model_copy(update={"tokens": ()}))
    terms = PriceTerms(service_tier=row.service_tier, speed=row.speed)
    for model, provider, region in product(row.models, row.providers, row.regions or (None,)):
        found = bare.quote(model, provider, region, terms)
        listed = found.price if found.price is not None and not found.doubt else None
        own = {bucket: getattr(row, bucket) for bucket in BUCKETS if getattr(row, bucket, None) is not None}
        same = listed is not None and all(listed.rates.get(bucket) == rate for bucket, rate in own.items())
        assert listed is None or same or row.reason, (model, provider, listed)


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
        ("zai.glm-4.6", "litellm"),  # in no list that is known
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
        ("fresh_input: 1,", "fresh_input: 0.00000125,", "prices.yaml:4: tokens[0].fresh_input: 0.00000125 per million"),
        ("output: 2,", "output: 2000,", "prices.yaml:4: tokens[0].output: 2000 per million tokens?"),
        ("fresh_input: 1,", "fresh_input: .inf,", "prices.yaml:4: tokens[0].fresh_input: "),
        ("regions: [eu], ", "", "tokens[1].models: mine has a price for endpoint in tokens[0] already"),
    ],
)
def test_a_faulty_price_file_is_refused_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = written(tmp_path, ROW.replace(old, new, 1))
    with pytest.raises(DocumentError) as refused:
        PriceBook.load(path)
    assert problem in str(refused.value)


@pytest.mark.parametrize(("rate", "refused"), [(0.0005, True), (63_296, True), (63.296, False), (0, False)])
def test_an_absurd_rate_of_a_machine_is_refused(tmp_path: Path, rate: float, refused: bool) -> None:
    machine = f"{{gpu: H200, gpus: 8, region: us-east-1, on_demand: {rate}, source: list, date: 2026-09}}"
    path = written(tmp_path, f'schema_version: "1.0"\ninstances:\n  box: {machine}\n')
    if not refused:
        assert PriceBook.load(path).hourly_rate("box", "on_demand") is not None
        return
    with pytest.raises(DocumentError, match=r"prices.yaml:3: instances\.box\.on_demand: .* per hour"):
        PriceBook.load(path)


def test_a_bucket_that_is_free_may_be_said_so(tmp_path: Path) -> None:
    book = PriceBook.load(written(tmp_path, ROW.replace("output: 2", "cache_write_5m: 0, output: 2", 1)))
    price = book.token_price("mine", "endpoint", None)
    assert price is not None
    assert price.rates["cache_write_5m"] == 0
