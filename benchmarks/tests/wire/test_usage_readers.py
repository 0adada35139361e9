"""Usage out of responses, dialect by dialect, however the bytes are cut and whatever else is among them."""

import tracemalloc
from base64 import b64encode
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.records.usage import Usage
from swetrials.wire import eventstream, sse
from swetrials.wire.route import Dialect
from swetrials.wire.usage import Told
from swetrials.wire.usage_readers import LONGEST_BODY_BYTES, bedrock_model, dialect_of, reader_for

Json = dict[str, object]

START: Json = {
    "type": "message_start",
    "message": {
        "model": "claude-x",
        "stop_reason": None,
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            "output_tokens": 1,
        },
    },
}
DELTA: Json = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"output_tokens": 40, "output_tokens_details": {"thinking_tokens": 5}},
}
STOP: Json = {"type": "message_stop"}
PROMPT = Usage(fresh_input=10, cache_read=200, cache_write=30, cache_write_5m=10, cache_write_1h=20, output=1)
WHOLE = PROMPT.model_copy(update={"output": 40, "reasoning": 5})

CHAT_USAGE: Json = {
    "prompt_tokens": 100,
    "completion_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 70},
    "completion_tokens_details": {"reasoning_tokens": 8},
}
RESPONSES_USAGE: Json = {
    "input_tokens": 100,
    "output_tokens": 40,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    "output_tokens_details": {"reasoning_tokens": 8},
}
CONVERSE_USAGE: Json = {
    "inputTokens": 10,
    "outputTokens": 40,
    "cacheReadInputTokens": 200,
    "cacheWriteInputTokens": 30,
    "cacheDetails": [{"ttl": "5m", "inputTokens": 10}, {"ttl": "1h", "inputTokens": 20}],
}


def events(*items: Json) -> bytes:
    return b"".join(sse.frame(item, str(item["type"]) if "type" in item else None) for item in items)


def chunks(*items: Json) -> bytes:
    return b"".join(
        eventstream.encode_event("chunk", orjson.dumps({"bytes": b64encode(orjson.dumps(item)).decode(), "p": "abc"}))
        for item in items
    )


def read(
    dialect: Dialect, content_type: str, pieces: Sequence[bytes], path: str = "/model/m/invoke", ended: bool = True
) -> Told:
    reader = reader_for(dialect, path, content_type)
    assert reader is not None
    for piece in pieces:
        reader.feed(piece)
    if ended:
        reader.finish()
    return reader.told


CHAT: tuple[Json, ...] = (
    {"model": "gpt-x", "choices": [{"delta": {"content": "é"}, "finish_reason": None}]},
    {"model": "gpt-x", "choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"model": "gpt-x", "choices": [], "usage": CHAT_USAGE},
)
RESPONSE: Json = {"model": "gpt-x", "status": "completed", "error": None, "usage": RESPONSES_USAGE}
CONVERSED = [
    eventstream.encode_event(name, orjson.dumps(body))
    for name, body in (
        ("messageStart", {"role": "assistant"}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": CONVERSE_USAGE, "metrics": {"latencyMs": 1}}),
    )
]
WHOLE_MESSAGE: Json = {
    "type": "message",
    "model": "claude-x",
    "stop_reason": "end_turn",
    "usage": {**START["message"]["usage"], **DELTA["usage"]},  # type: ignore[index,dict-item]
}
CHAT_TOLD = Usage(fresh_input=30, cache_read=70, cache_write=0, output=40, reasoning=8)
RESPONSES_TOLD = Usage(fresh_input=10, cache_read=60, cache_write=30, output=40, reasoning=8)
CONVERSE_TOLD = WHOLE.model_copy(update={"reasoning": None})

SSE, FRAMES, JSON = "text/event-stream; charset=utf-8", eventstream.CONTENT_TYPE, "application/json"
CASES: dict[str, tuple[Dialect, str, str, bytes, Told]] = {
    "anthropic": ("anthropic", "", SSE, events(START, DELTA, STOP), Told("claude-x", "end_turn", WHOLE, True)),
    "anthropic whole": ("anthropic", "", JSON, orjson.dumps(WHOLE_MESSAGE), Told("claude-x", "end_turn", WHOLE, True)),
    "anthropic crlf": (
        "anthropic",
        "",
        SSE,
        (b": hello\n" + events(START, DELTA, STOP)).replace(b"\n", b"\r\n"),
        Told("claude-x", "end_turn", WHOLE, True),
    ),
    "bedrock": (
        "bedrock",
        "/model/m/invoke-with-response-stream",
        FRAMES,
        chunks(START, DELTA, STOP),
        Told("claude-x", "end_turn", WHOLE, True),
    ),
    "bedrock whole": (
        "bedrock",
        "/model/m/invoke",
        JSON,
        orjson.dumps(WHOLE_MESSAGE),
        Told("claude-x", "end_turn", WHOLE, True),
    ),
    "converse": (
        "bedrock",
        "/model/m/converse-stream",
        FRAMES,
        b"".join(CONVERSED),
        Told(None, "end_turn", CONVERSE_TOLD, True),
    ),
    "converse whole": (
        "bedrock",
        "/model/m/converse",
        JSON,
        orjson.dumps({"output": {}, "stopReason": "end_turn", "usage": CONVERSE_USAGE}),
        Told(None, "end_turn", CONVERSE_TOLD, True),
    ),
    "chat": ("openai-chat", "", SSE, events(*CHAT) + sse.DONE, Told("gpt-x", "stop", CHAT_TOLD, True)),
    "chat without its last event": ("openai-chat", "", SSE, events(*CHAT), Told("gpt-x", "stop", CHAT_TOLD, True)),
    "chat that was not asked for usage": (
        "openai-chat",
        "",
        SSE,
        events(*CHAT[:2]) + sse.DONE,
        Told("gpt-x", "stop", None, True),
    ),
    "chat whole": (
        "openai-chat",
        "",
        JSON,
        orjson.dumps({"model": "gpt-x", "choices": [{"finish_reason": "stop"}], "usage": CHAT_USAGE}),
        Told("gpt-x", "stop", CHAT_TOLD, True),
    ),
    "responses": (
        "openai-responses",
        "",
        SSE,
        events(
            {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "usage": None}},
            {"type": "response.completed", "response": RESPONSE},
        ),
        Told("gpt-x", "completed", RESPONSES_TOLD, True),
    ),
    "responses cut short": (
        "openai-responses",
        "",
        JSON,
        orjson.dumps({**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}),
        Told("gpt-x", "max_output_tokens", RESPONSES_TOLD, True),
    ),
    "responses failed": (
        "openai-responses",
        "",
        SSE,
        events(
            {
                "type": "response.failed",
                "response": {"model": "gpt-x", "status": "failed", "error": {"message": "no"}, "usage": None},
            }
        ),
        Told("gpt-x", "failed", None, True, "no"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_each_dialect_is_read_however_its_bytes_are_cut(case: tuple[Dialect, str, str, bytes, Told], size: int) -> None:
    dialect, path, content_type, body, told = case
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert read(dialect, content_type, pieces, path) == told


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@given(rubbish=st.binary(max_size=200), place=st.floats(0, 1))
def test_rubbish_never_stops_a_reader(
    case: tuple[Dialect, str, str, bytes, Told], rubbish: bytes, place: float
) -> None:
    dialect, path, content_type, body, _ = case
    middle = int(len(body) * place)
    read(dialect, content_type, [body[:middle], rubbish, body[middle:]], path)


@pytest.mark.parametrize(
    "rubbish",
    [
        b"[]",
        b"1",
        b'"text"',
        b"null",
        b'{"type":["x"],"choices":{},"usage":[1],"message":3,"response":""}',
        b'{"type":["x"],"response":{"model":1}}',
    ],
)
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses"])
def test_json_of_another_shape_tells_nothing(dialect: Dialect, rubbish: bytes) -> None:
    assert read(dialect, SSE, [b"data: " + rubbish + b"\n\n"]).usage is None
    assert read(dialect, JSON, [rubbish]).usage is None


def test_lifetimes_of_another_shape_tell_nothing() -> None:
    body = b'{"usage":{"inputTokens":1,"cacheDetails":[{"ttl":["5m"],"inputTokens":1},{"ttl":{}}]}}'
    assert read("bedrock", JSON, [body], "/model/m/converse").usage == Usage(fresh_input=1)


def test_a_cut_stream_tells_what_had_been_reported_by_then() -> None:
    assert read("anthropic", SSE, [events(START)], ended=False) == Told("claude-x", None, PROMPT, final=False)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        ({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 40}, (10, 200, 30, 40)),
        ({"input_tokens": None, "output_tokens": 40}, (10, 200, 30, 40)),
        ({"input_tokens": 4, "cache_read_input_tokens": 236, "output_tokens": 40}, (4, 236, 30, 40)),
        ({"output_tokens": 0}, (10, 200, 30, None)),
        ({"input_tokens": True, "output_tokens": "40"}, (10, 200, 30, None)),
        ({"input_tokens": 10, "output_tokens": 0}, (10, 200, 30, 0)),
    ],
    ids=["zeros", "nulls", "corrected", "all zero", "no numbers", "no output"],
)
def test_cumulative_counts_replace_earlier_ones(reported: Json, expected: tuple[int | None, ...]) -> None:
    usage = read("anthropic", SSE, [events(START, {**DELTA, "usage": reported}, STOP)]).usage
    assert usage is not None
    assert (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output) == expected


@pytest.mark.parametrize("name", ["content_block_delta", "message", "", None])
def test_an_event_counts_whatever_its_name_unless_events_of_that_name_never_tell_anything(name: str | None) -> None:
    reader = reader_for("anthropic", "/v1/messages", sse.MEDIA_TYPE)
    assert reader is not None
    reader.feed(sse.frame(START, name) + sse.frame(DELTA) + sse.frame(STOP))
    told_at_start = reader.told.model == "claude-x"
    assert told_at_start == (name != "content_block_delta")
    assert (reader.told.stop_reason, reader.told.final) == ("end_turn", True)


def test_a_prompt_that_is_told_at_the_end_only_is_read_there() -> None:
    start: Json = {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}}
    delta: Json = {**DELTA, "usage": {"input_tokens": 7, "cache_read_input_tokens": 0, "output_tokens": 3}}
    assert read("anthropic", SSE, [events(start, delta)]).usage == Usage(fresh_input=7, cache_read=0, output=3)


def test_parts_of_a_cache_write_make_its_whole() -> None:
    usage: Json = {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}}
    told = read("anthropic", JSON, [orjson.dumps({"type": "message", "usage": usage})])
    assert told.usage == Usage(cache_write=7, cache_write_5m=3, cache_write_1h=4)


@pytest.mark.parametrize(
    ("dialect", "content_type", "body", "error"),
    [
        ("anthropic", SSE, events({"type": "error", "error": {"message": "Overloaded"}}), "Overloaded"),
        ("openai-chat", SSE, events({"error": {"message": "no room"}}), "no room"),
        ("openai-responses", SSE, events({"type": "error", "message": "gone"}), "gone"),
        (
            "bedrock",
            FRAMES,
            eventstream.encode_exception("throttlingException", b'{"message":"slow down"}'),
            "throttlingException: slow down",
        ),
    ],
)
def test_an_error_in_a_stream_is_told_and_is_no_end(
    dialect: Dialect, content_type: str, body: bytes, error: str
) -> None:
    told = read(dialect, content_type, [body])
    assert (told.error, told.final) == (error, False)


def test_a_damaged_frame_ends_the_reading_but_not_what_was_read() -> None:
    damaged = bytearray(chunks(DELTA))
    damaged[-1] ^= 1
    told = read("bedrock", FRAMES, [chunks(START), bytes(damaged), chunks(STOP)])
    assert (told.usage, told.final) == (PROMPT, False)
    assert "checksum" in told.error


@pytest.mark.parametrize("content_type", [SSE, JSON], ids=["stream", "whole"])
def test_memory_stays_bounded_and_what_comes_after_is_read(content_type: str) -> None:
    reader = reader_for("anthropic", "/v1/messages", content_type)
    assert reader is not None
    piece = b"x" * 1_000_000
    tracemalloc.start()
    try:
        reader.feed(b"data: ")
        for _ in range(100):
            reader.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * LONGEST_BODY_BYTES
    reader.feed(b"\n\n" + events(START))
    reader.finish()
    assert reader.told.usage == (PROMPT if content_type == SSE else None)


@pytest.mark.parametrize(
    ("method", "path", "dialect"),
    [
        ("POST", "/v1/messages", "anthropic"),
        ("POST", "/prefix/v1/messages", "anthropic"),
        ("POST", "/v1/messages/count_tokens", None),
        ("GET", "/v1/messages", None),
        ("POST", "/v1/chat/completions", "openai-chat"),
        ("POST", "/v1/responses", "openai-responses"),
        ("GET", "/v1/models", None),
        ("POST", "/model/us.anthropic.claude-opus-5%5B1m%5D/invoke", "bedrock"),
        ("POST", "/bedrock/model/arn:aws:bedrock:us-east-1:1:inference-profile/us.x/converse-stream", "bedrock"),
        ("POST", "/model/m/count-tokens", None),
        ("POST", "/", None),
    ],
)
def test_calls_of_a_model_are_told_from_other_requests(method: str, path: str, dialect: Dialect | None) -> None:
    assert dialect_of(method, path) == dialect


def test_a_model_is_named_in_the_path_of_bedrock() -> None:
    assert bedrock_model("/p/model/us.x%3A0/invoke") == "us.x%3A0"
    assert bedrock_model("/model/arn:aws:x/us.y/invoke") == "arn:aws:x/us.y"
    assert bedrock_model("/v1/messages") is None


@pytest.mark.parametrize("content_type", ["text/html", "", "application/x-ndjson"])
def test_what_no_model_sends_has_no_reader(content_type: str) -> None:
    assert reader_for("anthropic", "/v1/messages", content_type) is None
