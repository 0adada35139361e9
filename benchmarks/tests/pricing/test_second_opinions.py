"""Dollars that the agent or the answers state, held against ours."""

from datetime import UTC, datetime

import pytest

from swetrials.pricing.book import PriceBook
from swetrials.pricing.second_opinions import cost_disagreements
from swetrials.records.metrics import Finding
from swetrials.records.requests import BilledPart, PriceTerms
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.store.project import find_project

BOOK = PriceBook.load(find_project().root / "config" / "pricing.yaml")
AT = datetime(2026, 11, 20, tzinfo=UTC)
USAGE = Usage(fresh_input=3_000, cache_read=50_000, cache_write=0, output=4_000)
"""0.14 dollars at the list price of Claude Opus."""


def findings(
    model: str,
    provider: str,
    reported_usd: float | None,
    terms: PriceTerms | None = None,
    *,
    whole: bool = True,
    book: PriceBook = BOOK,
) -> list[Finding]:
    report = UsageReport.of(USAGE, whole=whole)
    parts = (BilledPart(model=model, terms=terms or PriceTerms(), calls=1, usage=report),)
    usage = UsageBlock(headline=report, source="metered", metered=report)
    cost = book.token_cost(report, model, provider, None, parts=parts, at=AT)
    cost = cost.model_copy(update={"reported_usd": reported_usd})
    return cost_disagreements(book, usage, cost, parts, model, provider, None, AT)


@pytest.mark.parametrize("reported", [0.84, 0.148, 0.132, 0.02])
@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-opus-5", "endpoint"), ("us.anthropic.claude-opus-5", "bedrock"), ("claude-opus-4-7", "endpoint")],
)
def test_an_agents_dollars_that_differ_are_a_finding(model: str, provider: str, reported: float) -> None:
    (found,) = findings(model, provider, reported)
    assert (found.code, found.severity) == ("cost_disagrees", "warning")
    assert f"the agent reports ${reported:.4f}, the tokens come to $0.1400" in found.message


@pytest.mark.parametrize("reported", [0.14, 0.145, 0.135, None, 0.0])
@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-5", "endpoint"),
        ("us.anthropic.claude-opus-5", "bedrock"),  # 10 % dearer there, which the agent does not know
        ("global.anthropic.claude-opus-5", "bedrock"),
        ("anthropic/claude-opus-5", "litellm"),
    ],
)
def test_an_agents_dollars_at_its_vendors_list_are_none(model: str, provider: str, reported: float | None) -> None:
    assert findings(model, provider, reported) == []


@pytest.mark.parametrize(
    ("model", "provider"), [("gpt-5", "endpoint"), ("qwen.qwen3-32b", "litellm"), ("my-own", "endpoint")]
)
def test_dollars_for_another_vendors_model_are_invented_and_compared_with_nothing(model: str, provider: str) -> None:
    assert findings(model, provider, 99.0) == []


def test_tokens_that_are_a_lower_bound_compare_with_nothing() -> None:
    assert findings("claude-opus-5", "endpoint", 0.5, whole=False) == []


def test_terms_that_the_agent_knows_and_the_bill_does_not_show_up() -> None:
    (found,) = findings("claude-opus-4-7", "endpoint", 0.84, PriceTerms(speed="fast"))
    assert "the agent reports $0.8400" in found.message
    assert findings("claude-opus-4-6", "endpoint", 0.84, PriceTerms(speed="fast")) == []


def test_a_contract_of_ones_own_is_no_disagreement() -> None:
    row = {
        "models": ["claude-opus-5"],
        "providers": ["endpoint"],
        "fresh_input": 1,
        "cache_read": 1,
        "output": 1,
        "source": "contract",
        "date": "2026-11",
    }
    book = PriceBook(BOOK.file.model_validate({"tokens": [row]}))
    assert findings("claude-opus-5", "endpoint", 0.14, book=book) == []


@pytest.mark.parametrize(
    ("stated", "codes"), [(0.0453, []), (0.044, []), (0.06, ["cost_disagrees"]), (0.03, ["cost_disagrees"])]
)
def test_a_price_that_the_answers_state_is_held_against_ours(stated: float, codes: list[str]) -> None:
    # gpt-5: 0.00375 for 3,000 fresh, 0.00625 for 50,000 cached, 0.04 for 4,000 of output.
    found = findings("gpt-5", "endpoint", None, PriceTerms(reported_usd=stated + 0.005))
    assert [finding.code for finding in found] == codes
    assert all(f"the answers state ${stated + 0.005:.4f}" in finding.message for finding in found)
