"""Usage that is told in odd shapes is never complete and wrong at once, and never below what the wire saw."""

import asyncio
import gzip
import zlib
from pathlib import Path

import orjson
import pytest

from swetrials.records.requests import PriceTerms, RequestsBlock
from swetrials.records.usage import Usage
from swetrials.wire import sse
from swetrials.wire.route import Dialect
from swetrials.wire.usage import Told
from swetrials.wire.usage_readers import dialect_of, reader_for
from wire.meter.raw import Request, metering, raw_server, route_to

Json = dict[str, object]
SSE = "text/event-stream"
CHAT: Json = {"prompt_tokens": 100, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 70}}
STOPPED: Json = {"choices": [{"finish_reason": "stop"}]}
PROMPT: Json = {"input_tokens": 3600, "cache_read_input_tokens": 2700, "cache_creation_input_tokens": 0}
START: Json = {"type": "message_start", "message": {"model": "claude-x", "usage": {**PROMPT, "output_tokens": 1}}}
STOP: Json = {"type": "message_stop"}


def delta(**usage: object) -> Json:
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}


def read(dialect: Dialect, *pieces: Json | bytes, media_type: str = SSE, path: str = "/x") -> Told:
    reader = reader_for(dialect, path, media_type)
    assert reader is not None
    for piece in pieces:
        framed = sse.frame(piece) if isinstance(piece, dict) and media_type == SSE else piece
        reader.feed(framed if isinstance(framed, bytes) else orjson.dumps(framed))
    reader.finish()
    return reader.told


def is_sure(told: Told) -> bool:
    """Whether the meter would take an answer's counts for all there was."""
    whole = told.usage is not None and told.usage.is_whole
    return whole and told.final and not (told.doubts or told.lost or told.broken_off)


@pytest.mark.parametrize("value", ["1200", -5, 1.5, 1e30, True, [7], {"n": 7}])
def test_a_value_that_is_no_count_is_unknown_and_not_absent(value: object) -> None:
    chat = {**CHAT, "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": value}}
    assert not is_sure(read("openai-chat", {"choices": [], **STOPPED, "usage": chat}))
    later = read("anthropic", START, delta(output_tokens=5), delta(output_tokens=value), STOP)
    assert not is_sure(later)
    converse = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 0, "cacheWriteInputTokens": value}
    body: Json = {"stopReason": "end_turn", "usage": converse}
    assert not is_sure(read("bedrock", body, media_type="application/json", path="/model/m/converse"))


def test_details_that_are_no_object_hide_their_counts() -> None:
    chat: Json = {**CHAT, "prompt_tokens_details": [{"cache_write_tokens": 9}], "cached_tokens": 0}
    assert not is_sure(read("openai-chat", {**STOPPED, "usage": chat}))


def test_a_last_event_without_its_empty_line_is_read() -> None:
    early: Json = {**STOPPED, "usage": {**CHAT, "completion_tokens": 3}}
    late = b"data: " + orjson.dumps({"choices": [], "usage": CHAT})
    told = read("openai-chat", early, late)
    assert told.usage == Usage(fresh_input=30, cache_read=70, cache_write=0, output=40) and is_sure(told)


@pytest.mark.parametrize("damaged", [b'data: {"choices": [], "usage": {"comp\n\n', b'data: {"usage": NaN}\n\n'])
def test_an_event_that_cannot_be_read_takes_certainty_away(damaged: bytes) -> None:
    assert is_sure(read("openai-chat", {**STOPPED, "usage": CHAT}, sse.DONE))
    assert not is_sure(read("openai-chat", {**STOPPED, "usage": CHAT}, damaged, sse.DONE))


def test_an_event_that_is_too_long_takes_certainty_away() -> None:
    long = b"data: " + b"x" * (sse.LONGEST_EVENT_BYTES + 1) + b"\n\n"
    assert not is_sure(read("openai-chat", {**STOPPED, "usage": CHAT}, long, sse.DONE))


def test_an_error_after_the_usage_ends_no_answer() -> None:
    error: Json = {"type": "error", "error": {"message": "overloaded"}}
    assert not is_sure(read("openai-chat", {**STOPPED, "usage": CHAT}, error, sse.DONE))
    assert not is_sure(read("anthropic", START, delta(output_tokens=5), error))


def test_a_later_report_that_is_smaller_does_not_replace_the_greater() -> None:
    told = read("anthropic", START, delta(output_tokens=40), delta(input_tokens=5, output_tokens=7), STOP)
    assert told.usage is not None and not is_sure(told)
    assert (told.usage.input, told.usage.output) == (6300, 40)
    chat = read("openai-chat", {**STOPPED, "usage": CHAT}, {"usage": {**CHAT, "prompt_tokens": 90}}, sse.DONE)
    assert chat.usage is not None and chat.usage.input == 100 and not is_sure(chat)


def test_a_later_report_may_split_the_same_prompt() -> None:
    start: Json = {"type": "message_start", "message": {"usage": {"input_tokens": 6000, "output_tokens": 1}}}
    split = delta(input_tokens=1000, cache_read_input_tokens=5000, cache_creation_input_tokens=0, output_tokens=7)
    told = read("anthropic", start, split, STOP)
    assert told.usage == Usage(fresh_input=1000, cache_read=5000, cache_write=0, output=7) and is_sure(told)


def test_a_lifetime_that_is_not_known_is_not_left_out_of_the_cache_writes() -> None:
    parts = {"ephemeral_5m_input_tokens": 10, "ephemeral_24h_input_tokens": 500}
    usage = {"input_tokens": 1, "cache_read_input_tokens": 0, "cache_creation": parts, "output_tokens": 5}
    body: Json = {"type": "message", "stop_reason": "end_turn", "usage": usage}
    assert not is_sure(read("anthropic", body, media_type="application/json"))


def test_a_response_that_is_under_way_is_not_whole() -> None:
    usage = {"input_tokens": 100, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 0}}
    for status, sure in (("in_progress", False), ("queued", False), ("completed", True)):
        body: Json = {"status": status, "usage": usage}
        assert is_sure(read("openai-responses", body, media_type="application/json")) is sure


@pytest.mark.parametrize(
    ("usage", "terms"),
    [
        ({"service_tier": {"type": "priority"}}, PriceTerms(service_tier="priority")),
        ({"speed": {"mode": "fast"}}, PriceTerms(speed='{"mode":"fast"}')),
        ({"server_tool_use": {"web_search": {"requests": 5}}}, PriceTerms(server_tools={"requests": 5})),
        ({"web_search_requests": "50"}, PriceTerms(server_tools={"web_search_requests": 50})),
        (
            {"prompt_tokens_details": {"cached_tokens": 70, "web_search_requests": 2}},
            PriceTerms(server_tools={"web_search_requests": 2}),
        ),
    ],
)
def test_terms_in_other_shapes_and_places_are_terms(usage: Json, terms: PriceTerms) -> None:
    assert read("openai-chat", {**STOPPED, "usage": {**CHAT, **usage}}, sse.DONE).terms == terms


def test_uses_and_a_price_never_fall() -> None:
    first = delta(output_tokens=5, server_tool_use={"web_search_requests": 5}, cost=0.5)
    told = read("anthropic", START, first, delta(output_tokens=6, server_tool_use={"fetches": 1}, cost=0), STOP)
    assert told.terms == PriceTerms(server_tools={"web_search_requests": 5, "fetches": 1}, reported_usd=0.5)


def test_tools_that_only_the_events_tell_of_are_uses() -> None:
    ran: Json = {"type": "response.web_search_call.completed"}
    last: Json = {"type": "response.completed", "response": {"status": "completed", "output": []}}
    assert read("openai-responses", ran, ran, last).terms == PriceTerms(server_tools={"web_search_call": 2})


def test_a_slash_at_the_end_makes_no_other_call() -> None:
    assert dialect_of("POST", "/v1/messages/") == "anthropic"
    assert dialect_of("POST", "/v1/messages/count_tokens") is None


async def asked(folder: Path, path: str, body: bytes, *headers: str, cut: int = 0) -> RequestsBlock:
    """Return what the meter makes of one answer, the body of which is sent in two pieces where it is cut."""

    async def answer(request: Request) -> None:
        head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""])
        await request.send(head.encode() + body[:cut])
        await asyncio.sleep(0.2 if cut else 0)
        await request.send(body[cut:])

    async with raw_server(answer) as server, metering(route_to(server.base_url), folder) as (meter, http):
        async with http.stream("POST", path, json={"model": "m"}) as response:
            async for _ in response.aiter_raw():
                pass
        return meter.block()


@pytest.mark.anyio
async def test_a_call_of_another_kind_that_tells_usage_is_not_left_out(tmp_path: Path) -> None:
    body = b'{"data": [], "usage": {"prompt_tokens": 9000, "total_tokens": 9000}}'
    block = await asked(tmp_path, "/v1/embeddings", body, "Content-Type: application/json")
    assert block.usage.completeness == "unknown" and block.usage.requests == 1 and block.usage_doubts


@pytest.mark.anyio
async def test_counting_tokens_is_no_call(tmp_path: Path) -> None:
    body = b'{"input_tokens": 9000}'
    block = await asked(tmp_path, "/v1/messages/count_tokens", body, "Content-Type: application/json")
    assert block.usage.requests is None and not block.usage_doubts


@pytest.mark.anyio
async def test_each_member_of_a_gzip_body_is_read(tmp_path: Path) -> None:
    usage: Json = {**CHAT, "prompt_tokens_details": {"cached_tokens": 70}}
    early, late = ({**STOPPED, "usage": {**usage, "completion_tokens": made}} for made in (3, 40))
    body = gzip.compress(sse.frame(early)) + gzip.compress(sse.frame(late) + sse.DONE)
    block = await asked(tmp_path, "/v1/chat/completions", body, f"Content-Type: {SSE}", "Content-Encoding: gzip")
    assert (block.usage.usage.output, block.usage.completeness) == (40, "complete")


@pytest.mark.anyio
async def test_an_encoding_that_breaks_after_the_usage_takes_certainty_away(tmp_path: Path) -> None:
    deflate = zlib.compressobj(wbits=31)
    good = deflate.compress(sse.frame({**STOPPED, "usage": CHAT})) + deflate.flush(zlib.Z_SYNC_FLUSH)
    body = good + b"\xff" * 30
    block = await asked(
        tmp_path, "/v1/chat/completions", body, f"Content-Type: {SSE}", "Content-Encoding: gzip", cut=len(good)
    )
    assert block.usage.usage.output == 40 and block.usage.completeness == "lower_bound"
