"""What the meter makes of usage as servers in the field tell it, against a scripted server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from rehearsal.clients import SCENARIO, Anthropic, Chat, Client, Responses, playing
from swetrials.records.requests import PriceTerms, RequestsBlock
from swetrials.records.usage import Usage
from swetrials.rehearsal import FaultKind, Scenario, ScriptStep
from wire.meter.raw import metering, route_to

pytestmark = pytest.mark.anyio

TOTALS = {"prompt_tokens": 20_000, "completion_tokens": 500, "total_tokens": 20_500}
ANSWER = {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 40}


def script(*steps: dict[str, Any], fault: FaultKind | None = None) -> Scenario:
    """Return a scenario of the steps."""
    first = SCENARIO.scripts[0].model_copy(update={"steps": tuple(ScriptStep(say="hi", **step) for step in steps)})
    scenario = SCENARIO.model_copy(update={"scripts": (first,)})
    return scenario if fault is None else scenario.with_fault(fault)


async def played(folder: Path, client: Client, scenario: Scenario, stream: bool = True) -> RequestsBlock:
    """Return what the requests of a conversation come to, one for each step."""
    async with playing(scenario) as (server, _), metering(route_to(server.base_url), folder) as (meter, http):
        for turn in range(len(scenario.scripts[0].steps)):
            try:
                await http.post(client.path, json=client.body(turns=turn, stream=stream))
            except (httpx.RemoteProtocolError, httpx.ReadError):
                continue
        return meter.block()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"usage_as": {**TOTALS, "prompt_cache_hit_tokens": 19_000, "prompt_cache_miss_tokens": 1000}}, (1000, 19000)),
        ({"usage_as": {**TOTALS, "cached_tokens": 19_000}}, (1000, 19_000)),
    ],
)
async def test_cached_tokens_are_known_under_each_name(
    tmp_path: Path, stream: bool, step: dict[str, Any], expected: tuple[int, int]
) -> None:
    report = (await played(tmp_path, Chat(), script(step), stream)).usage
    assert report.usage == Usage(fresh_input=expected[0], cache_read=expected[1], cache_write=0, output=500)
    assert report.completeness == "complete"


async def test_a_prompt_whose_caching_nobody_tells_is_a_range(tmp_path: Path) -> None:
    report = (await played(tmp_path, Chat(), script({"usage_as": TOTALS}))).usage
    assert (report.usage.fresh_input, report.usage.cache_read, report.usage.input) == (None, None, 20_000)
    assert report.at_least is not None and report.at_most is not None
    assert (report.at_least.cache_read, report.at_most.cache_read) == (0, 20_000)
    assert report.completeness == "lower_bound"


async def test_a_later_usage_of_zeros_replaces_nothing(tmp_path: Path) -> None:
    told = {**TOTALS, "cached_tokens": 0}
    block = await played(tmp_path, Chat(), script({"usage_as": told, "usage_again_as": dict.fromkeys(TOTALS, 0)}))
    assert block.usage.usage == Usage(fresh_input=20_000, cache_read=0, cache_write=0, output=500)
    assert block.usage.completeness == "complete"


@pytest.mark.parametrize("client", [Anthropic(), Chat(), Responses()], ids=["anthropic", "chat", "responses"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_usage_of_null_is_unknown(tmp_path: Path, client: Client, stream: bool) -> None:
    block = await played(tmp_path, client, script({"usage_as": None}, {"usage_as": None}), stream)
    assert (block.usage.usage, block.usage.completeness, block.turns) == (Usage(), "unknown", 2)


async def test_one_answer_without_its_output_takes_completeness_away(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = [{"usage_as": ANSWER}, {"usage_as": None, "usage_at_start_as": ANSWER}]
    report = (await played(tmp_path, Anthropic(), script(*steps))).usage
    assert (report.usage.fresh_input, report.usage.output, report.completeness) == (20, 40, "lower_bound")
    assert report.at_most is not None and (report.at_most.fresh_input, report.at_most.output) == (20, None)


@pytest.mark.parametrize(
    ("fault", "output"), [(FaultKind.CUT_AFTER_USAGE, 40), (FaultKind.CUT_MID_EVENT, 1), (FaultKind.CUT, 1)]
)
async def test_an_answer_that_is_cut_is_a_lower_bound_of_what_it_told(
    tmp_path: Path, fault: FaultKind, output: int
) -> None:
    report = (await played(tmp_path, Anthropic(), script({"usage_as": ANSWER}, fault=fault))).usage
    assert report.usage == Usage(fresh_input=10, cache_read=20, cache_write=30, output=output)
    assert (report.completeness, report.at_most) == ("lower_bound", None)


async def test_calls_that_are_reset_before_an_answer_are_unknown_and_not_zero(tmp_path: Path) -> None:
    block = await played(tmp_path, Anthropic(), script({}, {}, fault=FaultKind.RESET_BEFORE_ANSWER))
    assert (block.usage.usage, block.usage.completeness, block.usage.requests) == (Usage(), "unknown", 2)
    assert block.statuses == {"none": 2}


async def test_a_check_that_fails_is_told(tmp_path: Path) -> None:
    wrong = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 150}}
    block = await played(tmp_path, Chat(), script({"usage_as": wrong}, {"usage_as": wrong}))
    assert block.usage_doubts == {"the cached parts of prompt_tokens do not fit into it": 2}
    assert (block.usage.completeness, block.usage.usage.fresh_input) == ("lower_bound", None)


async def test_what_an_answer_says_of_its_price_is_kept_by_model(tmp_path: Path) -> None:
    searched = {**ANSWER, "server_tool_use": {"web_search_requests": 50}, "speed": "fast", "service_tier": "priority"}
    steps: list[dict[str, Any]] = [{"usage_as": searched}, {"usage_as": ANSWER, "model_as": "another"}]
    first, second = (await played(tmp_path, Anthropic(), script(*steps))).parts
    assert first.terms == PriceTerms(service_tier="priority", speed="fast", server_tools={"web_search_requests": 50})
    assert (second.model, second.terms, second.usage.completeness) == ("another", PriceTerms(), "complete")


async def test_a_repeat_is_known_whatever_the_order_of_its_keys(tmp_path: Path) -> None:
    scenario = SCENARIO.with_fault(FaultKind.STATUS_500)
    body = Responses().body(stream=True)
    turned = json.dumps(dict(reversed(body.items())), indent=1)
    other = json.dumps({**body, "model": "other"})
    async with playing(scenario) as (server, _), metering(route_to(server.base_url), tmp_path) as (meter, http):
        for content in (json.dumps(body), turned, other):
            await http.post("/v1/responses", content=content)
        assert [record.retry for record in meter.requests()] == [False, True, False]
