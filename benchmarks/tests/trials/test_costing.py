"""From what a server answers, over the meter, to the bill; and what is said where there is no price."""

from pathlib import Path
from typing import Any

import pytest

from rehearsal.clients import KEY, OPENING, SCENARIO, Anthropic, Chat, Client, playing
from swetrials.hosting import PROVIDERS
from swetrials.pricing.book import PriceBook
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.requests import RequestRecord
from swetrials.records.usage import Usage
from swetrials.rehearsal.scenario import ScriptStep
from swetrials.store.project import find_project
from swetrials.trials.costing import unpriced, unpriced_buckets
from swetrials.wire.meter import requests_block
from wire.meter.raw import metering, route_to

BOOK = PriceBook.load(find_project().root / "config" / "pricing.yaml")
DEEPSEEK = {
    "prompt_tokens": 20_000,
    "completion_tokens": 500,
    "total_tokens": 20_500,
    "prompt_cache_hit_tokens": 19_000,
    "prompt_cache_miss_tokens": 1_000,
}
PLAIN = {"prompt_tokens": 20_000, "completion_tokens": 500, "total_tokens": 20_500}
OPUS = {
    "input_tokens": 3_000,
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 0,
    "output_tokens": 4_000,
}
"""0.14 dollars of Claude Opus."""


async def billed(client: Client, model: str, usage: dict[str, Any], folder: Path, answering: str | None = None) -> Cost:
    """Return the bill for one answer with this usage, as the meter saw it."""
    step = ScriptStep(say="hi", usage_as=usage, model_as=answering or model)
    scenario = SCENARIO.model_copy(update={"scripts": (SCENARIO.scripts[0].model_copy(update={"steps": (step,)}),)})
    async with playing(scenario) as (server, _):
        route = route_to(server.base_url, "anthropic", "openai-chat", key=KEY)
        async with metering(route, folder) as (meter, http):
            body = {**client.body(OPENING), "model": model}
            answer = await http.post(client.path, json=body)
            assert answer.status_code == 200, answer.text
            block = meter.block()
    return BOOK.token_cost(block.usage, model, "endpoint", None, parts=block.parts)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("besides", "dollars", "status"),
    [
        ({}, 0.14, "complete"),
        ({"server_tool_use": {"web_search_requests": 50}}, 0.64, "complete"),
        ({"speed": "fast"}, 0.84, "complete"),
        ({"inference_geo": "us"}, 0.154, "complete"),
        ({"service_tier": "standard"}, 0.14, "complete"),
        ({"service_tier": "priority"}, 0.14, "lower_bound"),
        ({"server_tool_use": {"code_execution_requests": 1}}, 0.14, "lower_bound"),
    ],
    ids=str,
)
async def test_an_answer_of_claude_is_billed_with_its_terms(
    besides: dict[str, Any], dollars: float, status: str, tmp_path: Path
) -> None:
    bill = await billed(Anthropic(), "claude-opus-4-6", {**OPUS, **besides}, tmp_path)
    assert bill.amount_usd == pytest.approx(dollars)
    assert bill.status == status
    assert (bill.note == "") == (status == "complete")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("usage", "low", "high", "status"),
    [
        (DEEPSEEK, 0.008625, None, "complete"),
        ({**PLAIN, "prompt_tokens_details": {"cached_tokens": 19_000}}, 0.008625, None, "complete"),
        (PLAIN, 0.0075, 0.03, "lower_bound"),
    ],
)
async def test_an_answer_over_chat_completions_is_exact_or_a_range(
    usage: dict[str, Any], low: float, high: float | None, status: str, tmp_path: Path
) -> None:
    bill = await billed(Chat(), "gpt-5", usage, tmp_path)
    assert (bill.amount_usd, bill.high_usd, bill.status) == (low, high, status)


@pytest.mark.parametrize(
    ("prompts", "status"),
    [((200_000, 200_000), "complete"), ((200_000, None), "lower_bound"), ((300_000, 100_000), "lower_bound")],
)
def test_short_calls_are_exact_however_many_they_are(prompts: tuple[int | None, ...], status: str) -> None:
    usages = [None if p is None else Usage(fresh_input=p, cache_read=0, cache_write=0, output=10) for p in prompts]
    calls = [
        RequestRecord(
            number=number, method="POST", path="/v1/responses", dialect="openai-responses", started_seconds=0,
            ended_seconds=1, status=200, complete=True, model_served="gpt-5.6-sol", usage=usage, request_bytes=1,
        )
        for number, usage in enumerate(usages, 1)
    ]  # fmt: skip
    block = requests_block(calls)
    bill = BOOK.token_cost(block.usage, "gpt-5.6-sol", "endpoint", None, parts=block.parts)
    assert bill.status == status
    assert ("above 272,000 tokens cost more" in bill.note) == (prompts == (300_000, 100_000))


@pytest.mark.anyio
async def test_the_model_that_answered_is_paid(tmp_path: Path) -> None:
    bill = await billed(Anthropic(), "claude-opus-4-6", OPUS, tmp_path, answering="claude-haiku-4-5")
    assert bill.amount_usd == pytest.approx(0.14 / 5)
    assert [line.model for line in bill.lines] == ["claude-haiku-4-5"] * 3


@pytest.mark.anyio
async def test_a_model_that_answered_and_has_no_price_is_named(tmp_path: Path) -> None:
    bill = await billed(Anthropic(), "claude-opus-4-6", OPUS, tmp_path, answering="stranger")
    assert (bill.amount_usd, bill.status) == (None, "unknown")
    assert bill.note.startswith("answers of stranger are billed as its own; no price is known for stranger")


def config(model: str, provider: str, **changes: object) -> RunnerConfig:
    base = {"provider": provider, "model": model, "dataset": "d.yaml", "endpoint": "http://127.0.0.1:9"}
    return RunnerConfig.model_validate({**base, **changes})


@pytest.mark.parametrize(
    ("model", "provider", "without", "buckets"),
    [
        ("claude-opus-5", "endpoint", "", ()),
        ("zai.glm-4.6", "litellm", "no price is known for zai.glm-4.6", ()),
        ("moonshotai.kimi-k2.5", "litellm", "", ("cache_read",)),
        ("rehearsal", "rehearsal", "", ()),
    ],
)
def test_what_has_no_price_is_known_before_anything_is_spent(
    model: str, provider: str, without: str, buckets: tuple[str, ...]
) -> None:
    run = config(model, provider)
    assert unpriced(run, PROVIDERS[provider], BOOK) == without
    assert unpriced_buckets(run, PROVIDERS[provider], BOOK) == buckets
