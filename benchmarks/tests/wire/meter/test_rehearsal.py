"""The rehearsal server seen through the meter: the same figures, and each of its faults told apart."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
import pytest
from pydantic import SecretStr

from rehearsal.clients import CLIENTS, KEY, SCENARIO, Anthropic, Client, ask, playing
from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.records.usage import Usage, UsageReport
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario
from swetrials.wire.route import Dialect, Route
from wire.meter.raw import metering, until

pytestmark = pytest.mark.anyio
each_dialect = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: type(client).__name__)
streamed_or_not = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])

EVERY: frozenset[Dialect] = frozenset({"anthropic", "openai-chat", "openai-responses"})


def route_to(server: RehearsalServer) -> Route:
    return Route(EVERY, server.base_url, SecretStr(KEY), "m")


def same(metered: Usage | None, served: Usage) -> bool:
    """Whether every bucket that the dialect tells is the one that was served; those it does not tell are zero."""
    assert metered is not None
    told, real = metered.model_dump(), served.model_dump()
    assert told["fresh_input"] is not None and told["output"] is not None and told["cache_read"] is not None
    return all((real[name] or 0) == (value or 0) for name, value in told.items())


@each_dialect
@streamed_or_not
async def test_what_is_metered_is_what_is_served_and_heard(tmp_path: Path, client: Client, stream: bool) -> None:
    async with playing() as (server, direct), metering(route_to(server), tmp_path) as (meter, http):
        for turns in range(3):
            without, heard = await ask(direct, client, turns, stream), await ask(http, client, turns, stream)
            assert (without.text, without.stop, without.usage) == (heard.text, heard.stop, heard.usage)
            record = meter.requests()[-1]
            assert same(record.usage, heard.usage)
            assert (record.status, record.complete, record.stream, record.error) == (200, True, stream, "")
            assert (record.model_asked, record.model_served) == ("m", "m")
            assert record.stop_reason == heard.stop
            assert record.dialect == server.requests[-1].dialect
        block, served = meter.block(), [request.usage for request in server.requests[1::2]]
        assert same(block.usage.usage, Usage.sum(served))
        assert (block.usage.completeness, block.turns, block.retries) == ("complete", 3, 0)


async def test_chat_without_usage_in_its_stream_is_unknown(tmp_path: Path) -> None:
    body = CLIENTS[1].body(stream=True)
    del body["stream_options"]
    async with playing() as (server, _), metering(route_to(server), tmp_path) as (meter, http):
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
        [record] = meter.requests()
        assert (record.complete, record.usage, record.stop_reason) == (True, None, "stop")
        assert meter.block().usage == UsageReport(requests=1)


@dataclass(frozen=True)
class Sign:
    """What a fault leaves in the record, and what becomes of the sum."""

    status: int | None
    complete: bool
    error: str
    completeness: str = "lower_bound"
    turns: int = 0


TURNED_DOWN = {
    kind: Sign(status, True, "rehearsed", "complete")
    for kind, status in (
        (FaultKind.STATUS_401, 401),
        (FaultKind.STATUS_429, 429),
        (FaultKind.STATUS_500, 500),
        (FaultKind.STATUS_529, 529),
    )
}
SIGNS = {
    **TURNED_DOWN,
    FaultKind.RESET_BEFORE_ANSWER: Sign(None, False, "broke off"),
    FaultKind.CUT_MID_EVENT: Sign(200, False, "broke off"),
    FaultKind.HTML: Sign(200, False, "text/html"),
    FaultKind.BROKEN_SSE: Sign(200, False, "what it says does not"),
    FaultKind.CUT: Sign(200, False, "broke off"),
    FaultKind.HANG_MID_STREAM: Sign(200, False, "the agent closed the connection"),
    FaultKind.HANG_BEFORE_HEADERS: Sign(None, False, "the agent closed the connection"),
    FaultKind.EMPTY: Sign(200, True, "", "complete", turns=1),
    FaultKind.REFUSAL: Sign(200, True, "", "complete", turns=1),
    FaultKind.MAX_TOKENS: Sign(200, True, "", "complete", turns=1),
}


async def suffer(
    server: RehearsalServer, folder: Path, client: Client, stream: bool
) -> tuple[RequestRecord, RequestsBlock]:
    """Send one request through a meter into a fault; return its record and the block."""
    async with metering(route_to(server), folder) as (meter, http):
        try:
            await http.post(client.path, json=client.body(turns=1, stream=stream), timeout=httpx.Timeout(5, read=0.6))
        except (httpx.RemoteProtocolError, httpx.ReadTimeout):
            await until(lambda: meter.requests()[0].error != "")
        return meter.requests()[0], meter.block()


@pytest.mark.parametrize("kind", SIGNS)
async def test_each_fault_leaves_its_own_sign(tmp_path: Path, kind: FaultKind) -> None:
    sign = SIGNS[kind]
    ways = [(client, stream) for client in CLIENTS for stream in (True, False)]
    async with playing(SCENARIO.with_fault(kind)) as (server, _):
        left = await asyncio.gather(*(suffer(server, tmp_path / str(number), *way) for number, way in enumerate(ways)))
        served = {(request.dialect, request.stream): request.usage for request in server.requests}
    for record, block in left:
        assert (record.status, record.complete) == (sign.status, sign.complete), record
        assert sign.error in record.error and bool(sign.error) == bool(record.error), record
        nothing_known = sign.completeness == "lower_bound" and record.usage is None
        completeness = "unknown" if nothing_known else sign.completeness
        assert (block.usage.completeness, block.turns) == (completeness, sign.turns), record
        paid = served[cast(Dialect, record.dialect), record.stream]
        assert (block.usage.usage.total or 0) <= (paid.total or 0)
        if sign.turns:
            assert same(record.usage, paid)


async def test_what_a_cut_stream_had_reported_is_kept(tmp_path: Path) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.CUT)) as (server, _):
        record, block = await suffer(server, tmp_path, Anthropic(), stream=True)
        served = server.requests[0].usage
    assert record.usage is not None and record.usage.output == 1
    assert record.usage.fresh_input == served.fresh_input
    assert record.usage.cache_write_1h == served.cache_write_1h
    assert block.usage.completeness == "lower_bound"


async def test_retries_and_the_waits_before_them_are_told(tmp_path: Path) -> None:
    fault = {"kind": "status_429", "times": 2}
    scenario = Scenario.model_validate(
        {
            **SCENARIO.model_dump(mode="json", exclude_none=True),
            "scripts": [{**SCENARIO.scripts[0].model_dump(mode="json", exclude_none=True), "fault": fault}],
        }
    )
    async with playing(scenario) as (server, _), metering(route_to(server), tmp_path) as (meter, http):
        for turns in (0, 0, 0, 1):
            response = await http.post("/v1/messages", json=Anthropic().body(turns=turns))
            if response.status_code == 429:
                assert response.headers["retry-after"] == "1"
        block = meter.block()
    assert [record.retry for record in meter.requests()] == [False, True, True, False]
    assert (block.retries, block.turns, block.statuses) == (2, 2, {"429": 2, "200": 2})
    assert block.waiting_seconds is not None and 0 < block.waiting_seconds < 10


async def test_a_call_for_one_token_is_a_probe(tmp_path: Path) -> None:
    async with playing() as (server, _), metering(route_to(server), tmp_path) as (meter, http):
        await http.post("/v1/messages", json={**Anthropic().body(), "max_tokens": 1})
        await http.post("/v1/messages/count_tokens", json=Anthropic().body())
        block = meter.block()
    assert [(record.probe, record.dialect) for record in meter.requests()] == [(True, "anthropic"), (False, None)]
    assert (block.count, block.probes, block.turns) == (2, 1, 0)
    assert same(block.usage.usage, server.requests[0].usage)
