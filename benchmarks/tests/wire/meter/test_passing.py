"""What passes is what was sent, in both directions, as it comes and however it ends."""

import asyncio
import gzip
import itertools
import socket
import struct
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest

from swetrials.wire.eventstream import CONTENT_TYPE, encode_event
from swetrials.wire.meter import Meter
from swetrials.wire.sse import frame
from wire.meter.raw import MESSAGES, Request, chunk, head, metering, raw_server, route_to, until

pytestmark = pytest.mark.anyio

USAGE = {"cache_creation_input_tokens": 0, "input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": 1}
START = frame({"type": "message_start", "message": {"model": "served", "usage": USAGE}}, "message_start")
DELTA = frame({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}})
STOP = frame({"type": "message_stop"})
SSE = "Content-Type: text/event-stream"
CHUNKED = "Transfer-Encoding: chunked"


@asynccontextmanager
async def dialogue(meter: Meter) -> AsyncIterator[tuple[str, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the meter, and the path that its door has."""
    address = urlsplit(meter.route.base_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        async with asyncio.timeout(5):
            yield address.path, reader, writer
    finally:
        writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection so that the other side sees it break."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def ok(request: Request) -> None:
    await request.reply(b"{}", "Content-Type: application/json")


async def test_a_request_goes_on_as_it_came(tmp_path: Path) -> None:
    body = bytes(range(256)) * 100
    async with raw_server(ok) as raw, metering(route_to(raw.base_url + "/prefix/"), tmp_path) as (_, http):
        headers = {"X-Thing": "a b", "Connection": "close, x-hop", "X-Hop": "1", "TE": "trailers"}
        await http.post(MESSAGES + "?beta=true&x=%2F%20a", content=body, headers=headers)
    [request] = raw.requests
    assert request.line == "POST /prefix/v1/messages?beta=true&x=%2F%20a HTTP/1.1"
    assert request.body == body
    assert request.header("host") == urlsplit(raw.base_url).netloc
    assert ("X-Thing", "a b") in request.headers
    assert not {"connection", "x-hop", "te"} & {name.lower() for name, _ in request.headers}


@pytest.mark.parametrize(
    ("offered", "passed"),
    [
        ("gzip, deflate, br, zstd", "gzip, deflate"),
        ("br;q=1, gzip;q=0.5", "gzip;q=0.5"),
        ("br", "identity"),
        ("*", "identity"),
        ("identity", "identity"),
    ],
)
async def test_only_encodings_that_can_be_read_are_offered(tmp_path: Path, offered: str, passed: str) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        await http.get("/v1/models", headers={"Accept-Encoding": offered})
    assert raw.requests[0].header("accept-encoding") == passed


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_any_method_passes(tmp_path: Path, method: str) -> None:
    async def answer(request: Request) -> None:
        await request.send(head("Content-Length: 2", "X-Answer: yes") + (b"" if method == "HEAD" else b"ok"))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        for _ in range(2):
            response = await http.request(method, "/anything")
            assert (response.status_code, response.headers["x-answer"]) == (200, "yes")
            assert response.content == (b"" if method == "HEAD" else b"ok")
    assert [request.line for request in raw.requests] == [f"{method} /anything HTTP/1.1"] * 2
    assert raw.connections == 1
    assert [(record.method, record.dialect, record.complete) for record in meter.requests()] == [
        (method, None, True)
    ] * 2


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_responses_that_never_have_a_body_pass(tmp_path: Path, status: str) -> None:
    async def answer(request: Request) -> None:
        await request.send(head("X-Answer: yes", status=status))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        for _ in range(2):
            assert (await http.get("/")).status_code == int(status[:3])


async def test_a_redirect_is_the_agents_to_follow(tmp_path: Path) -> None:
    async def away(request: Request) -> None:
        await request.reply(b"", "Location: https://elsewhere.test/", status="307 Temporary Redirect")

    async with raw_server(away) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        response = await http.post(MESSAGES, content=b"{}")
    assert (response.status_code, response.headers["location"]) == (307, "https://elsewhere.test/")
    assert len(raw.requests) == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
async def test_an_encoded_body_passes_as_it_is_and_is_read(tmp_path: Path, encoding: str) -> None:
    plain = START + DELTA + STOP
    encoded = {"gzip": gzip.compress(plain), "deflate": zlib.compress(plain), "br": b"not for us"}[encoding]

    async def answer(request: Request) -> None:
        await request.send(head(SSE, f"Content-Encoding: {encoding}", CHUNKED))
        await request.send(*(chunk(encoded[place : place + 5]) for place in range(0, len(encoded), 5)))
        await request.send(chunk(b""))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        async with http.stream("POST", MESSAGES, content=b"{}") as response:
            assert b"".join([piece async for piece in response.aiter_raw()]) == encoded
        [record] = meter.requests()
        assert response.headers["content-encoding"] == encoding
        assert (record.usage is not None and record.usage.output == 9) == (encoding != "br")
        assert meter.block().usage.completeness == ("unknown" if encoding == "br" else "complete")


async def test_what_only_claims_to_be_gzip_passes_all_the_same(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.reply(b"plain text", SSE, "Content-Encoding: gzip")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        async with http.stream("POST", MESSAGES, content=b"{}") as response:
            assert b"".join([piece async for piece in response.aiter_raw()]) == b"plain text"
        assert "encoding" in meter.requests()[0].error


async def test_a_prompt_too_deep_to_be_read_passes_all_the_same(tmp_path: Path) -> None:
    body = b'{"model":"m","deep":' + b"[" * 5000 + b"]" * 5000 + b"}"
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        assert (await http.post(MESSAGES, content=body)).status_code == 200
        assert raw.requests[0].body == body
        [record] = meter.requests()
        assert (record.status, record.model_asked, record.request_bytes) == (200, None, len(body))
    async with metering(route_to("http://127.0.0.1:9"), tmp_path) as (_, http):
        assert (await http.post(MESSAGES, content=body)).status_code == 502


@pytest.mark.parametrize("date", ["Wed, 21 Oct 99999999999 07:28:00 GMT", "some day", "Wed, 21 Oct 0001 07:28:00 GMT"])
async def test_a_time_to_wait_that_makes_no_sense_passes_all_the_same(tmp_path: Path, date: str) -> None:
    async def answer(request: Request) -> None:
        await request.reply(b"{}", f"Retry-After: {date}", status="429 Too Many Requests")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        for _ in range(2):
            assert (await http.post(MESSAGES, content=b"{}")).headers["retry-after"] == date
        assert [record.retry_after_seconds or 0 for record in meter.requests()] == [0, 0]
        assert raw.connections == 1


async def test_a_frame_with_a_body_that_is_no_base64_passes_all_the_same(tmp_path: Path) -> None:
    body = encode_event("chunk", '{"bytes":"é"}'.encode()) + encode_event("metadata", b"[" * 500 + b"]" * 500)

    async def answer(request: Request) -> None:
        await request.reply(body, f"Content-Type: {CONTENT_TYPE}")

    async with (
        raw_server(answer) as raw,
        metering(route_to(raw.base_url, "bedrock"), tmp_path, keep_bodies=True) as (_, http),
    ):
        for _ in range(2):
            assert (await http.post("/model/m/invoke-with-response-stream", content=b"{}")).content == body
        assert raw.connections == 1


async def test_each_event_passes_when_it_comes(tmp_path: Path) -> None:
    seen = asyncio.Event()

    async def answer(request: Request) -> None:
        await request.send(head(SSE, CHUNKED), chunk(START))
        await seen.wait()
        await request.send(chunk(DELTA + STOP), chunk(b""))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        async with http.stream("POST", MESSAGES, content=b'{"model":"asked","stream":true}') as response:
            pieces = response.aiter_raw()
            assert await anext(pieces) == START
            [record] = meter.requests()
            assert (record.model_asked, record.model_served, record.complete) == ("asked", "served", False)
            assert meter.block().usage.usage.cache_read == 20
            seen.set()
            assert b"".join([piece async for piece in pieces]) == DELTA + STOP
        [record] = meter.requests()
        assert (record.complete, record.stream, record.stop_reason) == (True, True, "end_turn")
        assert record.first_byte_seconds is not None
        assert record.started_seconds <= record.first_byte_seconds <= record.ended_seconds


async def test_a_request_body_passes_when_it_comes(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def answer(request: Request) -> None:
        assert await request.reader.readuntil(b"one\r\n") == b"3\r\none\r\n"
        arrived.set()
        assert await request.reader.readuntil(b"0\r\n\r\n") == b"3\r\ntwo\r\n0\r\n\r\n"
        await request.reply(b"{}")

    async def body() -> AsyncIterator[bytes]:
        yield b"one"
        await arrived.wait()
        yield b"two"

    async with raw_server(answer, read_body=False) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        assert (await http.post(MESSAGES, content=body())).status_code == 200
        assert meter.requests()[0].request_bytes == 6


@pytest.mark.parametrize(("version", "expected"), [("1.1", ["100", "103", "200"]), ("1.0", ["200"])])
async def test_informational_responses_pass_to_who_knows_them(
    tmp_path: Path, version: str, expected: list[str]
) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(status="100 Continue"), head("Link: </x>", status="103 Early Hints"))
        await request.reply(b"done")

    async with (
        raw_server(answer) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        writer.write(f"GET {door}/x HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        heard = await reader.readuntil(b"done")
    statuses = [line.split()[1] for line in heard.decode().split("\r\n") if line.startswith("HTTP/")]
    assert statuses == expected
    assert (b"link: </x>" in heard.lower()) == (version == "1.1")


async def test_huge_headers_pass_and_endless_ones_are_turned_down(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.reply(b"{}", "X-Long: " + "b" * 60_000)

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        response = await http.get("/", headers={"X-Long": "a" * 60_000})
        assert response.headers["x-long"] == "b" * 60_000
        assert raw.requests[0].header("x-long") == "a" * 60_000
        with pytest.raises((httpx.HTTPStatusError, httpx.TransportError)):
            (await http.get("/", headers={"X-Long": "a" * 400_000})).raise_for_status()
        assert len(raw.requests) == 1


async def test_a_body_without_a_length_ends_with_the_connection(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(SSE), START + DELTA, STOP)
        request.writer.close()

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        for _ in range(2):
            assert (await http.post(MESSAGES, content=b"{}")).content == START + DELTA + STOP
        assert [record.complete for record in meter.requests()] == [True, True]
        assert raw.connections == 2


async def test_chunks_count_where_a_length_is_stated_beside_them(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(SSE, CHUNKED, "Content-Length: 7"), chunk(START), chunk(DELTA + STOP), chunk(b""))

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        for _ in range(2):
            response = await http.post(MESSAGES, content=b"{}")
            assert (response.content, response.headers.get("content-length")) == (START + DELTA + STOP, None)
        assert [record.complete for record in meter.requests()] == [True, True]


@pytest.mark.parametrize("framing", ["Content-Length: 9999", CHUNKED])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_cut_is_a_cut_for_the_agent_too(tmp_path: Path, framing: str, reset: bool) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(SSE, framing), START if framing != CHUNKED else chunk(START))
        await asyncio.sleep(0.05)
        if reset:
            request.writer.transport.abort()
        else:
            request.writer.close()

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        got = b""
        with pytest.raises(httpx.RemoteProtocolError):
            async with http.stream("POST", MESSAGES, content=b"{}") as response:
                async for piece in response.aiter_raw():
                    got += piece
        assert got == START
        [record] = meter.requests()
        assert (record.status, record.complete) == (200, False)
        assert "broke off" in record.error
        block = meter.block()
        assert (block.usage.completeness, block.usage.usage.cache_read, block.turns) == ("lower_bound", 20, 0)


async def test_a_body_without_a_length_that_is_reset_is_cut(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(SSE), START)
        await asyncio.sleep(0.05)
        reset(request.writer)

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(MESSAGES, content=b"{}")
        [record] = meter.requests()
        assert (record.status, record.complete, record.response_bytes) == (200, False, len(START))
        assert "broke off" in record.error


async def test_an_endpoint_that_hangs_up_without_a_word_does_so_to_the_agent(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        request.writer.close()

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(MESSAGES, content=b"{}")
        [record] = meter.requests()
        assert (record.status, record.complete, record.request_bytes) == (None, False, 2)
        # The request was sent: somebody may have been billed for it.
        assert meter.block().usage.completeness == "unknown"


async def test_what_is_no_http_is_a_cut(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(b"SSH-2.0-OpenSSH\r\n\r\n")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        with pytest.raises(httpx.RemoteProtocolError):
            await http.post(MESSAGES, content=b"{}")
        assert "broke off" in meter.requests()[0].error


async def test_what_came_before_a_broken_chunk_passes_and_is_counted(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(SSE, CHUNKED) + chunk(START) + b"no chunk\r\n")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        with pytest.raises(httpx.RemoteProtocolError):
            async with http.stream("POST", MESSAGES, content=b"{}") as response:
                async for piece in response.aiter_raw():
                    assert piece == START
        [record] = meter.requests()
        assert (record.model_served, record.complete) == ("served", False)


async def test_a_request_that_is_no_http_is_turned_down(tmp_path: Path) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, _):
        async with dialogue(meter) as (_, reader, writer):
            writer.write(b"nonsense\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        assert meter.requests() == []


async def test_an_offer_to_change_the_protocol_is_passed_over(tmp_path: Path) -> None:
    async def echo(request: Request) -> None:
        await request.reply(request.body)

    async with (
        raw_server(echo) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
        for body in ("first", "again"):
            writer.write(f"POST {door}/x HTTP/1.1\r\n{offer}Content-Length: 5\r\n\r\n{body}".encode())
            assert (await reader.readuntil(body.encode())).startswith(b"HTTP/1.1 200 ")
    assert [request.body for request in raw.requests] == [b"first", b"again"]
    assert {request.header("upgrade") or request.header("http2-settings") for request in raw.requests} == {None}


async def test_a_tunnel_is_turned_down(tmp_path: Path) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, _):
        async with dialogue(meter) as (_, reader, writer):
            writer.write(b"CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 501 ")
        assert raw.requests == []


@pytest.mark.parametrize("cut_every", [1, 7, 64])
async def test_requests_cut_anywhere_pass_one_after_the_other(tmp_path: Path, cut_every: int) -> None:
    async def echo(request: Request) -> None:
        await request.reply(request.body)

    async with (
        raw_server(echo) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        for number in range(3):
            body = f"body {number}"
            sent = f"\r\nPOST {door}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n{body}".encode()
            for place in range(0, len(sent), cut_every):
                writer.write(sent[place : place + cut_every])
                await asyncio.sleep(0)
            assert (await reader.readuntil(body.encode())).startswith(b"HTTP/1.1 200 ")
    assert [request.body for request in raw.requests] == [b"body 0", b"body 1", b"body 2"]


async def test_a_request_that_comes_early_waits_for_its_turn(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        if request.line.startswith("GET /first"):
            await early.wait()
        await request.reply(request.line.encode())

    early = asyncio.Event()
    async with (
        raw_server(answer) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        writer.write(f"GET {door}/first HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await until(lambda: bool(raw.requests))
        writer.write(f"GET {door}/second HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await asyncio.sleep(0.02)
        early.set()
        await reader.readuntil(b"GET /first HTTP/1.1")
        await reader.readuntil(b"GET /second HTTP/1.1")


async def test_of_two_requests_in_one_piece_the_second_is_the_agents_to_repeat(tmp_path: Path) -> None:
    async with raw_server(ok) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, _):
        async with dialogue(meter) as (door, reader, writer):
            writer.write(f"GET {door}/x HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 2)
            heard = await reader.read()
        assert heard.count(b"HTTP/1.1 200 ") == 1
        assert b"Connection: close\r\n" in heard
        assert len(raw.requests) == len(meter.requests()) == 1


@pytest.mark.parametrize("offer", ["", "Connection: Upgrade\r\nUpgrade: h2c\r\n"], ids=["", "offering HTTP/2"])
@pytest.mark.parametrize("framing", ["Content-Length: 4", CHUNKED, "X-Ends: with the connection"])
async def test_an_agent_that_speaks_http_1_0_gets_no_chunks(tmp_path: Path, framing: str, offer: str) -> None:
    async def answer(request: Request) -> None:
        await request.send(head(framing), chunk(b"done") + chunk(b"") if framing == CHUNKED else b"done")
        request.writer.close()

    async with (
        raw_server(answer) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        writer.write(f"GET {door}/x HTTP/1.0\r\n{offer}\r\n".encode())
        heard = await reader.read()
    assert heard.endswith(b"\r\n\r\ndone")
    assert b"transfer-encoding" not in heard.lower()


async def test_an_answer_before_the_request_is_whole_reaches_the_agent(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.reply(b'{"error":{"message":"too large"}}', status="413 Too Large")
        await request.hung_up()

    async with raw_server(answer, read_body=False) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, _):
        async with dialogue(meter) as (door, reader, writer):
            writer.write(f"POST {door}/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nabc".encode())
            heard = await reader.readuntil(b"}}")
            assert heard.startswith(b"HTTP/1.1 413 ")
            assert await reader.read() == b""
        [record] = meter.requests()
        assert (record.status, record.error) == (413, "too large")


async def test_an_answer_reaches_an_agent_that_is_still_sending_much(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await asyncio.sleep(0.1)
        await request.reply(b"{}", status="413 Too Large")
        await request.hung_up()

    async with (
        raw_server(answer, read_body=False) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, http),
    ):
        assert (await http.post(MESSAGES, content=bytes(20_000_000))).status_code == 413
        [record] = meter.requests()
        assert (record.status, record.error) == (413, "")


async def test_a_connection_that_was_said_to_close_closes(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await request.send(head("Content-Length: 4"), b"ab")
        await request.reader.readexactly(4)
        await request.send(b"cd")

    async with (
        raw_server(answer, read_body=False) as raw,
        metering(route_to(raw.base_url), tmp_path) as (meter, _),
        dialogue(meter) as (door, reader, writer),
    ):
        writer.write(f"POST {door}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n12".encode())
        assert b"Connection: close\r\n" in await reader.readuntil(b"ab")
        writer.write(b"34")
        assert await reader.read() == b"cd"


async def test_a_request_is_not_taken_in_before_there_is_a_connection_for_it(tmp_path: Path) -> None:
    taken = 0
    async with asyncio.timeout(10), raw_server(ok) as raw:
        # TLS never stands there: what is awaited is the first line of a request.
        route = route_to(raw.base_url.replace("http:", "https:"))
        async with metering(route, tmp_path) as (meter, _), dialogue(meter) as (door, _, writer):
            writer.write(f"POST {door}/x HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n".encode())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    while taken < 90_000_000:
                        writer.write(bytes(65536))
                        await writer.drain()
                        taken += 65536
    assert taken < 40_000_000


async def test_a_reader_that_stops_stops_the_writer(tmp_path: Path) -> None:
    written = itertools.count(0, 65536)
    so_far = 0

    async def answer(request: Request) -> None:
        nonlocal so_far
        await request.send(head("Content-Type: text/event-stream"))
        while True:
            await request.send(b"x" * 65536)
            so_far = next(written)

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (_, http):
        async with http.stream("POST", MESSAGES, content=b"{}") as response:
            await anext(response.aiter_raw())
            reached = -1
            while reached < so_far:
                reached = so_far
                await asyncio.sleep(0.2)
        # What the kernel buffers on four ends, and nothing like what could have been written meanwhile.
        assert 0 < reached < 40_000_000


async def test_a_body_that_goes_nowhere_is_not_kept(tmp_path: Path) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(60):
            yield bytes(1_000_000)

    async with metering(route_to("http://127.0.0.1:9"), tmp_path) as (meter, http):
        tracemalloc.start()
        try:
            assert (await http.post("/x", content=body())).status_code == 502
            assert (await http.post(urljoin(meter.route.base_url, "/elsewhere"), content=body())).status_code == 401
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("begun", [True, False], ids=["in mid-stream", "before any answer"])
async def test_an_agent_that_goes_cuts_the_request_at_the_endpoint(tmp_path: Path, begun: bool) -> None:
    gone = asyncio.Event()

    async def answer(request: Request) -> None:
        if begun:
            await request.send(head(SSE, CHUNKED), chunk(START))
        await request.hung_up()
        gone.set()

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3), http.stream("POST", MESSAGES, content=b"{}") as response:
                async for _ in response.aiter_raw():
                    pass
        async with asyncio.timeout(1):
            await gone.wait()
        await until(lambda: meter.requests()[0].error != "")
        [record] = meter.requests()
        assert record.error == "the agent closed the connection"
        assert (record.status, record.complete) == (200 if begun else None, False)
        report = meter.block().usage
        assert (report.completeness, report.usage.cache_read) == (("lower_bound", 20) if begun else ("unknown", None))


async def test_the_meters_end_cuts_what_is_under_way_and_records_it(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def answer(request: Request) -> None:
        await request.send(head(SSE, CHUNKED), chunk(START))
        await request.hung_up()
        gone.set()

    async with raw_server(answer) as raw:
        async with metering(route_to(raw.base_url), tmp_path) as (meter, _):
            address = urlsplit(meter.route.base_url)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(f"POST {address.path}/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            await reader.readuntil(START)
        assert await reader.read() == b"\r\n"  # The end of the chunk, and then no last one.
        writer.close()
        async with asyncio.timeout(1):
            await gone.wait()
    [record] = meter.requests()
    assert (record.error, record.complete) == ("the attempt ended", False)
    assert record.usage is not None and record.usage.cache_read == 20
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("steps", range(8))
async def test_what_comes_as_the_meter_ends_passes_and_is_recorded_or_neither(tmp_path: Path, steps: int) -> None:
    async with raw_server(ok) as raw:
        async with metering(route_to(raw.base_url), tmp_path) as (meter, _):
            address = urlsplit(meter.route.base_url)
            agent = socket.create_connection((address.hostname, address.port))
            agent.sendall(f"GET {address.path}/x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            for _ in range(steps):
                await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        agent.close()
    assert len(raw.requests) <= len((tmp_path / "requests.jsonl").read_text().splitlines())


async def test_connections_live_on_and_are_made_anew_when_the_endpoint_closes_them(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await ok(request)
        if len(raw.requests) in {2, 4}:
            request.writer.close()

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        for _ in range(5):
            assert (await http.get("/")).status_code == 200
            await asyncio.sleep(0.02)
        assert [request.connection for request in raw.requests] == [1, 1, 2, 2, 3]
        assert len(meter.requests()) == 5


async def test_many_requests_at_once_keep_apart(tmp_path: Path) -> None:
    async def answer(request: Request) -> None:
        await asyncio.sleep(0.02)
        await request.reply(request.body, "Content-Type: application/json")

    async with raw_server(answer) as raw, metering(route_to(raw.base_url), tmp_path) as (meter, http):
        bodies = [b'{"model":"m%d"}' % number for number in range(40)]
        responses = await asyncio.gather(*(http.post(MESSAGES, content=body) for body in bodies))
        assert [response.content for response in responses] == bodies
        records = meter.requests()
        assert sorted(record.model_asked or "" for record in records) == sorted(f"m{n}" for n in range(40))
        assert [record.number for record in records] == list(range(1, 41))
        block = meter.block()
        assert block.api_seconds is not None
        assert block.api_seconds < sum(record.ended_seconds - record.started_seconds for record in records) / 4
