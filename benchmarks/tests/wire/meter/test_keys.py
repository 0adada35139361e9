"""Who gets through, with which key, and what is left of secrets on disk."""

import json
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from swetrials.store.redaction import MASK, Redactor
from swetrials.wire import eventstream
from swetrials.wire.meter import CannotSign, metered
from swetrials.wire.route import AwsCredentials, Dialect, Route
from swetrials.wire.sse import frame
from wire.meter.raw import KEY, MESSAGES, Request, chunk, head, metering, raw_server, route_to

pytestmark = pytest.mark.anyio

BEDROCK = "/model/m/invoke-with-response-stream"


async def ok(request: Request) -> None:
    await request.reply(b"{}", "Content-Type: application/json")


@pytest.mark.parametrize(
    ("sent", "path", "passed"),
    [
        ({"x-api-key": "dummy"}, MESSAGES, {"x-api-key": KEY}),
        ({"Authorization": "Bearer dummy"}, MESSAGES, {"authorization": f"Bearer {KEY}"}),
        ({"Authorization": "Bearer dummy"}, "/v1/responses", {"authorization": f"Bearer {KEY}"}),
        ({}, MESSAGES, {"x-api-key": KEY}),
        ({}, "/v1/responses", {"authorization": f"Bearer {KEY}"}),
        ({}, BEDROCK, {"authorization": f"Bearer {KEY}"}),
        ({"Authorization": "AWS4-HMAC-SHA256 x", "X-Amz-Date": "1"}, BEDROCK, {"authorization": f"Bearer {KEY}"}),
    ],
)
async def test_the_agents_key_is_replaced(
    tmp_path: Path, sent: dict[str, str], path: str, passed: dict[str, str]
) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        await http.post(path, headers=sent, content=b"{}")
    [request] = raw.requests
    shown = {name: request.header(name) for name in ("x-api-key", "authorization", "x-amz-date")}
    assert {name: value for name, value in shown.items() if value is not None} == passed


async def test_an_endpoint_without_keys_sees_none(tmp_path: Path) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url, key=""), tmp_path) as (_, http):
        await http.post(MESSAGES, headers={"x-api-key": "dummy", "authorization": "Bearer dummy"}, content=b"{}")
    assert not {"x-api-key", "authorization"} & {name.lower() for name, _ in raw.requests[0].headers}


async def test_the_agent_gets_no_key_of_the_users(tmp_path: Path) -> None:
    aws = AwsCredentials("AKID", SecretStr("secret-access-key"))
    for dialects in (frozenset[Dialect]({"anthropic"}), frozenset[Dialect]({"bedrock"})):
        route = Route(dialects, "http://127.0.0.1:9", SecretStr(KEY), "m", 200_000, "us-east-1", aws)
        async with metered(route, tmp_path / "log", Redactor()) as meter:
            given = meter.route
        assert given.base_url.startswith("http://127.0.0.1:")
        assert (given.model, given.context_window, given.region) == ("m", 200_000, "us-east-1")
        assert given.aws is None
        # Some agents do not start without a key; on Bedrock, without one they leave their requests unsigned.
        assert bool(given.api_key.get_secret_value()) == (dialects == {"anthropic"})
        assert given.api_key.get_secret_value() != KEY


@pytest.mark.parametrize("dialect_path", [MESSAGES, "/v1/responses", BEDROCK, "/"])
async def test_nobody_gets_through_without_the_secret(tmp_path: Path, dialect_path: str) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, _):
        origin, secret = meter.route.base_url.rsplit("/", 1)
        doors = ["", f"/{secret[:-1]}", f"/{secret}x", f"/x/{secret}", "/" + "0" * len(secret), f"//{secret}"]
        async with httpx.AsyncClient(trust_env=False) as stranger:
            for door in doors:
                response = await stranger.post(f"{origin}{door}{dialect_path}", content=b'{"model":"m"}')
                assert response.status_code == 401, door
                assert "secret" in json.dumps(response.json())
        assert raw.requests == []
        block = meter.block()
        assert (block.count, block.refused, block.usage.completeness) == (0, len(doors), "unknown")
        assert all(record.refused and record.status == 401 for record in meter.requests())


async def test_two_attempts_have_different_doors(tmp_path: Path) -> None:
    async with (
        raw_server(ok) as raw,
        metering(route_to(raw.base_url), tmp_path) as (one, _),
        metering(route_to(raw.base_url), tmp_path / "other") as (other, http),
    ):
        wrong = other.route.base_url.rsplit("/", 1)[0] + "/" + one.route.base_url.rsplit("/", 1)[1]
        assert (await http.post(wrong + MESSAGES)).status_code == 401
        assert (await http.post(MESSAGES)).status_code == 200


@pytest.mark.parametrize(
    ("path", "shape"),
    [(MESSAGES, {"type", "error"}), ("/v1/responses", {"error"}), (BEDROCK, {"message"}), ("/v1/models", {"error"})],
)
async def test_an_endpoint_that_is_not_there_is_a_502_in_the_agents_dialect(
    tmp_path: Path, path: str, shape: set[str]
) -> None:
    async with metering(route_to("http://127.0.0.1:9"), tmp_path) as (meter, http):
        for _ in range(2):
            response = await http.post(path, content=b'{"model":"asked"}')
            assert (response.status_code, set(response.json())) == (502, shape)
        first, second = meter.requests()
    assert (first.status, first.complete, first.request_bytes) == (None, False, 0)
    assert first.error.startswith("127.0.0.1:9 cannot be reached: ")
    if first.dialect is not None:
        assert (first.model_asked, first.retry, second.retry) == ("asked", False, True)
        assert (meter.block().usage.completeness, meter.block().statuses) == ("complete", {"none": 2})


@pytest.mark.parametrize("url", ["ftp://x", "localhost:80", "http://", ""])
async def test_a_route_that_is_no_http_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match="no URL that starts with http"):
        async with metered(route_to(url), tmp_path / "log", Redactor()):
            pass


async def test_signing_needs_a_region(tmp_path: Path) -> None:
    aws = AwsCredentials("AKID", SecretStr("secret-access-key"))
    route = Route(frozenset({"bedrock"}), "http://127.0.0.1:9", SecretStr(""), "m", aws=aws)
    with pytest.raises(CannotSign, match="region"):
        async with metered(route, tmp_path / "log", Redactor()):
            pass


async def test_the_log_has_a_line_for_each_request_and_no_secret(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.reply(b'{"error":{"message":"bad key %s"}}' % KEY.encode(), status="403 Forbidden")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        assert KEY in (await http.post(MESSAGES, content=b'{"model":"a","max_tokens":1}')).text
        log = (tmp_path / "requests.jsonl").read_text()
        [line] = log.splitlines()
        written = json.loads(line)
        assert (written["number"], written["status"], written["probe"]) == (1, 403, True)
        assert written["error"] == f"bad key {MASK}"
        assert KEY not in log and meter.route.base_url.rsplit("/", 1)[1] not in log
    assert list(tmp_path.iterdir()) == [tmp_path / "requests.jsonl"]


async def test_kept_bodies_are_legible_and_without_secrets(tmp_path: Path) -> None:
    event = frame({"type": "message_start", "message": {"model": KEY}})
    payload = json.dumps({"bytes": "eyJ0eXBlIjoi" + "bWVzc2FnZV9zdG9wIn0="}).encode()
    frames = eventstream.encode_event("chunk", payload)

    async def answer(request: Request) -> None:
        if request.line.startswith("POST /model"):
            await request.reply(frames, f"Content-Type: {eventstream.CONTENT_TYPE}")
            return
        await request.send(head("Content-Type: text/event-stream", "Transfer-Encoding: chunked"))
        # The secret comes in two pieces.
        await request.send(chunk(event[:60]), chunk(event[60:]), chunk(b""))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path, keep_bodies=True) as (_, http):
        response = await http.post(MESSAGES, content=b'{"model":"m","text":"%s"}' % KEY.encode())
        assert response.content == event
        assert (await http.post(BEDROCK, content=b"{}")).content == frames
    kept = {path.name: path.read_bytes() for path in (tmp_path / "requests").iterdir()}
    assert sorted(kept) == ["1.request", "1.response", "2.request", "2.response"]
    assert kept["1.request"] == b'{"model":"m","text":"%s"}' % MASK.encode()
    assert kept["1.response"] == event.replace(KEY.encode(), MASK.encode())
    assert kept["2.response"] == b'{"type":"message_stop"}\n'


async def test_an_answer_of_the_meters_own_to_a_head_has_no_body(tmp_path: Path) -> None:
    async with metering(route_to("http://127.0.0.1:9"), tmp_path) as (_, http):
        told = await http.head("/v1/models")
        assert (told.status_code, told.content) == (502, b"")
        assert int(told.headers["content-length"]) > 0
        # What came behind it would be taken for the start of this one.
        assert set((await http.get("/v1/models")).json()) == {"error"}
