"""Each fault, in each dialect, streamed and not, as a client meets it."""

import time

import httpx
import pytest

from rehearsal.clients import CLIENTS, KEY, SCENARIO, Anthropic, Client, ask, events_of, playing
from swetrials.rehearsal import Fault, FaultKind, Scenario, Script, ScriptStep
from swetrials.rehearsal.ledger import NOTHING

pytestmark = pytest.mark.anyio
each_dialect = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: type(client).__name__)
streamed_or_not = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def with_script_fault(fault: Fault) -> Scenario:
    script: Script = SCENARIO.scripts[0].model_copy(update={"fault": fault})
    return SCENARIO.model_copy(update={"scripts": (script,)})


async def partial(http: httpx.AsyncClient, client: Client, stream: bool) -> bytes:
    """Return what arrives of a response before it breaks or nothing more comes for a while."""
    got = b""
    body, timeout = client.body(turns=1, stream=stream), httpx.Timeout(5, read=0.5)
    async with http.stream("POST", client.path, json=body, timeout=timeout) as response:
        assert response.status_code == 200
        try:
            async for data in response.aiter_bytes():
                got += data
        except httpx.ReadTimeout:
            return got + b"<hang>"
        except httpx.RemoteProtocolError:
            return got + b"<cut>"
    return got


@each_dialect
@streamed_or_not
@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (FaultKind.STATUS_401, 401),
        (FaultKind.STATUS_429, 429),
        (FaultKind.STATUS_500, 500),
        (FaultKind.STATUS_529, 529),
    ],
)
async def test_a_status_comes_with_the_dialects_own_error(
    client: Client, stream: bool, kind: FaultKind, status: int
) -> None:
    async with playing(SCENARIO.with_fault(kind)) as (server, http):
        response = await http.post(client.path, json=client.body(stream=stream))
        assert response.status_code == status
        assert response.headers.get("retry-after") == ("1" if status == 429 else None)
        error = response.json()
        assert (error.get("type") == "error") is isinstance(client, Anthropic)
        assert "rehearsed" in error["error"]["message"]
        [request] = server.requests
        assert (request.status, request.usage, request.script) == (status, NOTHING, "task_id: word-tally")
        report = server.served(KEY)
        assert (report.usage, report.completeness, report.requests) == (NOTHING, "complete", 1)


@each_dialect
@streamed_or_not
async def test_html_is_served_as_if_all_were_well(client: Client, stream: bool) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.HTML)) as (server, http):
        response = await http.post(client.path, json=client.body(stream=stream))
        assert (response.status_code, response.headers["content-type"]) == (200, "text/html")
        assert response.text.startswith("<!doctype html>")
        assert server.requests[0].usage == NOTHING


@each_dialect
@streamed_or_not
@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        (FaultKind.BROKEN_SSE, b'data: {"type": "content_bl\xff\xfe<<garbage>>\n\n'),
        (FaultKind.CUT, b"<cut>"),
        (FaultKind.HANG_MID_STREAM, b"<hang>"),
    ],
)
async def test_a_response_breaks_off_in_its_middle(
    client: Client, stream: bool, kind: FaultKind, ending: bytes
) -> None:
    async with playing() as (_, http):
        sound = (await http.post(client.path, json=client.body(turns=1, stream=stream))).content
        usage = (await ask(http, client, 1, stream)).usage
    async with playing(SCENARIO.with_fault(kind)) as (server, http):
        got = await partial(http, client, stream)
        report = server.served(KEY)
    assert got.endswith(ending)
    assert len(sound) // 4 < len(got) - len(ending) < len(sound)
    assert report.completeness == "lower_bound"
    assert report.usage.model_copy(update={"output": None}) == usage.model_copy(update={"output": None})
    assert report.usage.output is not None and usage.output is not None
    assert 1 <= report.usage.output < usage.output


@each_dialect
@streamed_or_not
async def test_a_hang_before_headers_sends_nothing(client: Client, stream: bool) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.HANG_BEFORE_HEADERS)) as (server, http):
        with pytest.raises(httpx.ReadTimeout):
            await http.post(client.path, json=client.body(stream=stream), timeout=0.3)
        assert (server.requests[0].status, server.requests[0].usage) == (None, NOTHING)
        assert (server.served(KEY).completeness, server.served(KEY).requests) == ("complete", 1)


@each_dialect
@streamed_or_not
async def test_an_empty_success_has_no_output_and_says_so(client: Client, stream: bool) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.EMPTY)) as (server, http):
        heard = await ask(http, client, 1, stream)
        assert (heard.text, heard.calls, heard.usage.output) == ("", [], 0)
        assert heard.stop in {"end_turn", "stop", "completed"}
        assert server.served(KEY).usage == heard.usage


@each_dialect
@streamed_or_not
@pytest.mark.parametrize(
    ("kind", "stops"),
    [
        (FaultKind.REFUSAL, ("refusal", "content_filter", "content_filter")),
        (FaultKind.MAX_TOKENS, ("max_tokens", "length", "max_output_tokens")),
    ],
)
async def test_a_reply_stops_early_and_says_why(
    client: Client, stream: bool, kind: FaultKind, stops: tuple[str, str, str]
) -> None:
    async with playing(SCENARIO.with_fault(kind)) as (server, http):
        heard = await ask(http, client, 1, stream)
        assert heard.stop == stops[CLIENTS.index(client)]
        assert heard.text and heard.calls == []
        assert server.served(KEY).usage == heard.usage
        assert server.served(KEY).completeness == "complete"


@pytest.mark.parametrize(("client", "stream"), [*((client, True) for client in CLIENTS), (CLIENTS[0], False)])
async def test_slow_is_one_token_a_second(client: Client, stream: bool) -> None:
    short = Script(when="task_id: word-tally", steps=(ScriptStep(say="four"),))
    scenario = SCENARIO.model_copy(update={"scripts": (short,)}).with_fault(FaultKind.SLOW)
    async with playing(scenario) as (server, http):
        started = time.monotonic()
        heard = await ask(http, client, 0, stream)
        assert 1 <= time.monotonic() - started < 5
        assert (heard.text, heard.usage.output) == ("four", 1)
        assert server.served(KEY).usage == heard.usage


@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_takes_its_time_for_each_token(stream: bool) -> None:
    script = Script(when="task_id: word-tally", steps=(ScriptStep(say="one two three four five six seven eight " * 5),))
    scenario = SCENARIO.model_copy(update={"scripts": (script,), "seconds_per_token": 0.01})
    async with playing(scenario) as (_, http):
        started = time.monotonic()
        heard = await ask(http, CLIENTS[0], 0, stream)
        assert heard.usage.output is not None and heard.usage.output > 20
        assert heard.usage.output * 0.01 <= time.monotonic() - started < heard.usage.output * 0.01 + 2


async def test_a_counted_fault_strikes_each_key_that_often() -> None:
    async with playing(with_script_fault(Fault(kind=FaultKind.STATUS_500, times=2))) as (_, http):
        for key in ("a", "b"):
            headers = {"x-api-key": key}
            statuses = [
                (await http.post("/v1/messages", json=Anthropic().body(), headers=headers)).status_code
                for _ in range(4)
            ]
            assert statuses == [500, 500, 200, 200]


async def test_a_fault_strikes_at_its_step_alone() -> None:
    async with playing(with_script_fault(Fault(kind=FaultKind.STATUS_529, at_step=1))) as (_, http):
        statuses = [
            (await http.post("/v1/messages", json=Anthropic().body(turns=turns))).status_code for turns in (0, 1, 1, 2)
        ]
    assert statuses == [200, 529, 529, 200]


async def test_the_scenarios_fault_takes_the_place_of_the_scripts_own() -> None:
    scenario = with_script_fault(Fault(kind=FaultKind.STATUS_529)).with_fault(FaultKind.STATUS_401)
    async with playing(scenario) as (_, http):
        assert (await http.post("/v1/messages", json=Anthropic().body())).status_code == 401


async def test_a_broken_stream_still_holds_sound_events_before_the_break() -> None:
    async with playing(SCENARIO.with_fault(FaultKind.HANG_MID_STREAM)) as (_, http):
        got = await partial(http, Anthropic(), stream=True)
    kinds = [event["type"] for event in events_of(got.removesuffix(b"<hang>"))]
    assert kinds[0] == "message_start"
    assert "message_delta" not in kinds
