"""The server as its clients see it: dialects, steps, accounts, life and end."""

import itertools
import logging
import signal
import time

import anyio
import httpx
import pytest

from rehearsal.clients import CLIENTS, KEY, SCENARIO, Anthropic, Chat, Client, Heard, Responses, ask, events_of, playing
from swetrials.records.usage import Usage
from swetrials.rehearsal import FaultKind, rehearse
from swetrials.rehearsal.ledger import NOTHING
from swetrials.rehearsal.play import CLOSING, UNSCRIPTED
from swetrials.rehearsal.scenario import ScriptStep

pytestmark = pytest.mark.anyio

DOCUMENT = {"write": {"path": "${artifacts_dir}/lld.md", "content": "x"}}
WRITING = tuple(
    ScriptStep.model_validate(step)
    for step in (
        {"say": "I read."},
        {"say": "Two documents.", "all": [DOCUMENT, DOCUMENT]},
        {"say": "A document and a file.", "all": [DOCUMENT, {"write": {"path": "a.py", "content": "x"}}]},
        {"shell": "ls"},
    )
)
each_dialect = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: type(client).__name__)


@each_dialect
async def test_streamed_whole_and_ledger_agree_to_the_token(client: Client) -> None:
    async with playing() as (server, http):
        total = NOTHING
        for turns in range(5):
            whole = await ask(http, client, turns, stream=False)
            streamed = await ask(http, client, turns, stream=True)
            assert streamed == whole
            assert [request.usage for request in server.requests[-2:]] == [whole.usage, whole.usage]
            total += whole.usage + whole.usage
            report = server.served(KEY)
            assert (report.usage, report.completeness, report.requests) == (total, "complete", 2 * turns + 2)


@each_dialect
async def test_a_turn_reads_from_the_cache_what_the_turn_before_it_sent(client: Client) -> None:
    async with playing() as (_, http):
        turns = [(await ask(http, client, number, stream=True)).usage for number in range(4)]
    assert turns[0].cache_read == 0
    for before, after in itertools.pairwise(turns):
        stored = before.cache_write if isinstance(client, Anthropic) else (before.fresh_input or 0) - 3
        assert after.cache_read == (before.cache_read or 0) + (stored or 0)


async def test_a_cache_write_is_split_by_the_marks_of_the_request() -> None:
    async with playing() as (_, http):
        first = (await ask(http, Anthropic(), 0, stream=False)).usage
        later = (await ask(http, Anthropic(), 1, stream=False)).usage
    assert first.cache_write_1h and first.cache_write_5m
    assert first.cache_write_1h + first.cache_write_5m == first.cache_write
    assert (later.cache_write_1h, later.cache_write_5m) == (0, later.cache_write)


async def test_without_marks_all_input_is_fresh() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    async with playing() as (_, http):
        heard = Anthropic().read_whole((await http.post("/v1/messages", json=body)).json())
        counted = (await http.post("/v1/messages/count_tokens?beta=true", json=body)).json()
    assert (heard.usage.cache_read, heard.usage.cache_write) == (0, 0)
    assert counted == {"input_tokens": heard.usage.fresh_input}


async def test_anthropic_streams_in_the_order_of_the_protocol() -> None:
    async with playing() as (_, http):
        response = await http.post("/v1/messages?beta=true", json=Anthropic().body(turns=1, stream=True))
    events = events_of(response.content)
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    start, end = events[0]["message"]["usage"], events[-2]["usage"]
    assert start["output_tokens"] == 1
    assert {**start, "output_tokens": end["output_tokens"]} == end
    blocks = [(event["type"].removeprefix("content_block_"), event["index"]) for event in events[2:-2]]
    assert list(dict.fromkeys(blocks)) == [(kind, index) for index in (0, 1) for kind in ("start", "delta", "stop")]
    assert blocks.count(("delta", 1)) > 2


async def test_chat_streams_usage_only_where_it_is_asked_for() -> None:
    body = Chat().body(turns=3, stream=True)
    async with playing() as (_, http):
        with_usage = (await http.post(Chat.path, json=body)).content
        without = (await http.post(Chat.path, json={**body, "stream_options": None})).content
    assert with_usage.endswith(b"data: [DONE]\n\n") and without.endswith(b"data: [DONE]\n\n")
    assert len(events_of(with_usage)) == len(events_of(without)) + 1
    assert events_of(without)[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_responses_stream_in_the_order_of_the_protocol() -> None:
    async with playing() as (_, http):
        response = await http.post(Responses.path, json=Responses().body(turns=1, stream=True))
    kinds = [event["type"].removeprefix("response.") for event in events_of(response.content)]
    assert list(dict.fromkeys(kinds)) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "completed",
    ]


@each_dialect
async def test_the_request_alone_says_which_step_is_next(client: Client) -> None:
    async with playing() as (server, http):
        heard: list[Heard] = [await ask(http, client, turns, stream=True) for turns in (2, 0, 2, 4)]
        assert [request.step for request in server.requests] == [2, 0, 2, 4]
    assert heard[0] == heard[2]
    assert [len(one.calls) for one in heard] == [2, 0, 2, 0]
    assert heard[3].text == CLOSING


@each_dialect
async def test_a_conversation_without_a_script_gets_a_short_answer(client: Client) -> None:
    async with playing(SCENARIO.with_fault(FaultKind.STATUS_500)) as (server, http):
        heard = await ask(http, client, 0, stream=True, opening="Say ready.")
        assert (heard.text, heard.calls) == (UNSCRIPTED, [])
        assert (server.requests[0].script, server.requests[0].step) == (None, None)


@each_dialect
async def test_a_file_is_written_only_where_the_opening_tells_of_its_place(client: Client) -> None:
    scenario = SCENARIO.model_copy(update={"scripts": (SCENARIO.scripts[0].model_copy(update={"steps": WRITING}),)})
    for opening, calls in (
        ("task_id: word-tally\nartifacts_dir: /out", [0, 2, 2, 1, 0]),
        ("task_id: word-tally", [0, 1, 1, 0]),
    ):
        async with playing(scenario) as (_, http):
            said = [await ask(http, client, turns, stream=False, opening=opening) for turns in range(len(calls))]
        assert [len(heard.calls) for heard in said] == calls
        assert said[-1].text == CLOSING
        assert ("lld.md" in str([heard.calls for heard in said])) == ("/out" in opening)


async def test_text_after_the_first_answer_does_not_choose_the_script() -> None:
    body = Anthropic().body("Say ready.")
    body["messages"] += [{"role": "assistant", "content": "ready"}, {"role": "user", "content": "task_id: word-tally"}]
    async with playing() as (_, http):
        assert Anthropic().read_whole((await http.post("/v1/messages", json=body)).json()).text == UNSCRIPTED


async def test_each_key_has_its_own_account() -> None:
    async with playing() as (server, http):
        bearer = {"authorization": "Bearer other"}
        async with httpx.AsyncClient(base_url=server.base_url, headers=bearer, trust_env=False) as other:
            theirs = await ask(other, Chat(), 1, stream=True)
        ours = await ask(http, Anthropic(), 0, stream=False)
        assert server.served("other").usage == theirs.usage
        assert server.served(KEY).usage == ours.usage
        assert server.served("nobody").model_dump() == {
            "usage": NOTHING.model_dump(),
            "completeness": "complete",
            "requests": 0,
        }


@each_dialect
@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"messages": [], "input": []}', b'{"messages": 1, "input": 1}'])
async def test_a_bad_request_is_answered_in_the_dialects_own_shape(client: Client, body: bytes) -> None:
    async with playing() as (server, http):
        response = await http.post(client.path, content=body)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "invalid_request_error"
        assert (server.requests[0].status, server.requests[0].usage) == (400, NOTHING)


async def test_the_model_list_serves_both_kinds_of_client() -> None:
    async with rehearse(SCENARIO, model="m-1", context_window=32_768) as server:
        async with httpx.AsyncClient(base_url=server.base_url, trust_env=False) as http:
            listed = (await http.get("/v1/models")).json()
            assert (await http.get("/health")).status_code == 200
        assert server.requests == []
    [model] = listed["data"]
    assert (listed["object"], listed["has_more"], listed["first_id"]) == ("list", False, "m-1")
    assert (model["id"], model["object"], model["type"], model["max_model_len"]) == ("m-1", "model", "model", 32_768)


async def test_a_client_that_leaves_is_charged_for_what_it_was_sent() -> None:
    async with playing(SCENARIO.with_fault(FaultKind.SLOW)) as (server, http):
        async with http.stream("POST", "/v1/messages", json=Anthropic().body(stream=True)) as response:
            async for line in response.aiter_lines():
                if "content_block_delta" in line:
                    break
        with anyio.fail_after(5):
            while server.served(KEY).completeness == "complete":
                await anyio.sleep(0.01)
        usage = server.served(KEY).usage
        assert usage.output == 1
        assert usage.cache_write and usage.cache_write > 0


async def test_a_client_killed_while_it_asks_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    async with playing() as (server, http):
        port = int(server.base_url.rsplit(":", 1)[1])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
            with anyio.fail_after(5):
                while not server.requests:
                    await anyio.sleep(0.01)
        await ask(http, Anthropic(), 0, stream=True)
        assert [request.status for request in server.requests] == [None, 200]
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


async def test_a_taken_port_is_named() -> None:
    async with rehearse(SCENARIO) as server:
        port = int(server.base_url.rsplit(":", 1)[1])
        with pytest.raises(OSError, match=rf"127\.0\.0\.1:{port} cannot be listened on"):
            async with rehearse(SCENARIO, port=port):
                pass


async def test_its_host_keeps_signals_and_logging() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    loggers = [logging.getLogger(name) for name in ("", "uvicorn", "uvicorn.error", "uvicorn.access")]
    state = [(logger.level, list(logger.handlers), logger.propagate) for logger in loggers]
    async with playing() as (_, http):
        await ask(http, Anthropic(), 0, stream=True)
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
        assert [(logger.level, list(logger.handlers), logger.propagate) for logger in loggers] == state


@pytest.mark.parametrize("fault", [FaultKind.HANG_BEFORE_HEADERS, FaultKind.HANG_MID_STREAM, FaultKind.SLOW])
async def test_it_stops_at_once_whatever_hangs(fault: FaultKind, caplog: pytest.LogCaptureFixture) -> None:
    async with anyio.create_task_group() as group:
        async with rehearse(SCENARIO.with_fault(fault)) as server:

            async def be_left_hanging() -> None:
                async with httpx.AsyncClient(base_url=server.base_url, timeout=30, trust_env=False) as http:
                    with pytest.raises(httpx.TransportError):
                        await http.post("/v1/messages", json=Anthropic().body(stream=True))

            group.start_soon(be_left_hanging)
            with anyio.fail_after(5):
                while not server.requests:
                    await anyio.sleep(0.01)
            await anyio.sleep(0.05)
            started = time.monotonic()
        assert time.monotonic() - started < 10
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


async def test_a_cancelled_host_leaves_nothing_behind() -> None:
    with anyio.move_on_after(0.2) as scope:
        async with rehearse(SCENARIO) as server:
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    with pytest.raises(httpx.ConnectError):
        async with httpx.AsyncClient(trust_env=False) as http:
            await http.get(server.base_url + "/health")


def test_the_usage_of_nothing_is_known_to_be_zero() -> None:
    assert Usage(**dict.fromkeys(Usage.model_fields, 0)).model_copy(update={"input_total": None}) == NOTHING
