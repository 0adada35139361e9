"""What the meter lets through to package registries as a proxy, what not, and what it counts."""

import asyncio
import gc
import socket
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from swetrials.records.registries import RegistryTraffic
from swetrials.store.redaction import Redactor
from swetrials.wire.meter import Meter, RegistryWay, metered, registry_way
from swetrials.wire.meter.traffic import FURTHER_HOSTS, MOST_HOSTS
from wire.meter.raw import MESSAGES, Request, chunk, head, raw_server, route_to, until
from wire.meter.test_way_out import connect_proxy

pytestmark = pytest.mark.anyio

HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def packages(request: Request) -> None:
    await request.reply(b"packages", "Content-Type: text/plain")


def authorization(proxy_url: str) -> str:
    user = urlsplit(proxy_url)
    return f"Proxy-Authorization: Basic {b64encode(f'{user.username}:{user.password}'.encode()).decode()}\r\n"


@asynccontextmanager
async def connected(proxy_url: str | None) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, str]]:
    """A connection to the proxy, and the header that it wants."""
    assert proxy_url is not None
    address = urlsplit(proxy_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        async with asyncio.timeout(5):
            yield reader, writer, authorization(proxy_url)
    finally:
        writer.close()


async def said(proxy_url: str | None, request: str, *, known: bool = True) -> str:
    """Return the proxy's whole answer; ``request`` has its lines, without the last empty one."""
    async with connected(proxy_url) as (reader, writer, credentials):
        writer.write(f"{request}\r\n{credentials if known else ''}\r\n".encode())
        return (await reader.read()).decode()


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[int, list[asyncio.StreamWriter]]]:
    """A server that sends back what comes; gives its port, and its ends of the connections."""
    ends: list[asyncio.StreamWriter] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(writer)
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(echo, HERE, 0)
    try:
        yield server.sockets[0].getsockname()[1], ends
    finally:
        server.close()


async def test_a_tunnel_passes_bytes_both_ways_and_counts_them() -> None:
    async with echoing() as (port, _), registry_way({f"{HERE}:{port}"}) as way:
        async with connected(way.proxy_url) as (reader, writer, credentials):
            # What is sent before the tunnel stands goes into it, too.
            writer.write(f"CONNECT {HERE}:{port} HTTP/1.1\r\n{credentials}\r\nearly".encode())
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
            assert await reader.readexactly(5) == b"early"
            data = bytes(range(256)) * 20_000
            writer.write(data)
            assert await reader.readexactly(len(data)) == data
        await until(lambda: way.registries()[0].received_bytes == len(data) + 5)
        [traffic] = way.registries()
    assert traffic == RegistryTraffic(
        host=f"{HERE}:{port}", connections=1, sent_bytes=len(data) + 5, received_bytes=len(data) + 5
    )


async def test_plain_http_passes_and_the_secret_does_not(tmp_path: Path) -> None:
    async with raw_server(packages) as raw, raw_server(packages) as model:
        host = urlsplit(raw.base_url).netloc
        async with metered(route_to(model.base_url), tmp_path / "log", Redactor(), registries={host}) as meter:
            request = f"POST http://{host}/simple/?q=1 HTTP/1.1\r\nHost: elsewhere\r\nX-A: b\r\nContent-Length: 0"
            answer = await said(meter.proxy_url, request)
            [traffic] = meter.registries()
            assert meter.requests() == []
    assert answer.startswith("HTTP/1.1 200 OK\r\n")
    assert answer.endswith("\r\n\r\npackages")
    [passed] = raw.requests
    assert passed.line == "POST /simple/?q=1 HTTP/1.1"
    assert dict(passed.headers) == {"Host": host, "X-A": "b", "Content-Length": "0", "Connection": "close"}
    assert (traffic.host, traffic.connections, traffic.refused) == (host, 1, 0)
    assert traffic.sent_bytes > 0
    assert traffic.received_bytes > len("packages")


async def test_a_body_without_length_comes_whole() -> None:
    async def streamed(request: Request) -> None:
        await request.send(head("Content-Type: text/plain"), b"one", b"two")
        request.writer.close()

    async with raw_server(streamed) as raw, registry_way({urlsplit(raw.base_url).netloc}) as way:
        answer = await said(way.proxy_url, f"GET {raw.base_url}/ HTTP/1.1")
    assert answer.partition("\r\n\r\n")[2] in {
        (chunk(b"one") + chunk(b"two") + b"0\r\n\r\n").decode(),
        (chunk(b"onetwo") + b"0\r\n\r\n").decode(),
    }


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("CONNECT packages.example:443", "packages.example"),
        ("CONNECT Packages.Example.:443", "packages.example"),
        ("CONNECT listed.example:8443", "listed.example:8443"),
        ("CONNECT ported.example:443", "ported.example"),
        ("CONNECT 198.51.100.1:443", "198.51.100.1"),
        ("CONNECT [::1]:22", "[::1]:22"),
        ("CONNECT 127.0.0.1:1", "127.0.0.1:1"),
        ("GET http://packages.example/simple/", "packages.example"),
        ("GET http://listed.example:443/", "listed.example:443"),
        ("GET http://listed.example@packages.example/", "packages.example"),
    ],
)
async def test_what_is_not_listed_is_refused_with_one_line(target: str, host: str) -> None:
    async with registry_way({"listed.example", "ported.example:8443"}) as way:
        answer = await said(way.proxy_url, f"{target} HTTP/1.1")
        assert answer.startswith("HTTP/1.1 403 Not among environment.registries\r\n")
        line = f"{host} is not among the registries: the dataset's key environment.registries adds it\n"
        assert answer.partition("\r\n\r\n")[2] == line
        assert way.registries() == (RegistryTraffic(host=host, refused=1),)


@pytest.mark.parametrize(
    "target", ["CONNECT nonsense", "CONNECT a.b:99999", "CONNECT a.b:443/x", "GET http://", "GET http://[x/"]
)
async def test_what_names_no_host_is_turned_down(target: str) -> None:
    async with registry_way({"listed.example"}) as way:
        assert (await said(way.proxy_url, f"{target} HTTP/1.1")).startswith("HTTP/1.1 400 ")
        assert way.registries() == ()


async def test_nobody_passes_without_the_secret(tmp_path: Path) -> None:
    async with raw_server(packages) as raw:
        host = urlsplit(raw.base_url).netloc
        async with metered(route_to(raw.base_url), tmp_path / "log", Redactor(), registries={host}) as meter:
            guessed = "Proxy-Authorization: Basic eDpndWVzc2Vk"
            for request in (f"GET http://{host}/ HTTP/1.1", f"CONNECT {host} HTTP/1.1\r\n{guessed}"):
                answer = await said(meter.proxy_url, request, known=False)
                assert answer.startswith("HTTP/1.1 407 ")
                assert 'Proxy-Authenticate: Basic realm="registries"\r\n' in answer
            assert meter.registries() == ()
    assert raw.requests == []


async def test_a_meter_that_is_no_proxy_is_none(tmp_path: Path) -> None:
    async with raw_server(packages) as raw, metered(route_to(raw.base_url), tmp_path / "log", Redactor()) as meter:
        assert meter.proxy_url is None
        assert meter.registries() == ()
        host = urlsplit(raw.base_url).netloc
        secret = meter.route.base_url.rpartition("/")[2]
        base = meter.route.base_url.replace("http://", f"http://x:{secret}@").rpartition("/")[0]
        assert (await said(base, f"CONNECT {host} HTTP/1.1")).startswith("HTTP/1.1 501 ")
        assert (await said(base, f"GET http://{host}/ HTTP/1.1\r\nConnection: close")).startswith("HTTP/1.1 401 ")
    assert raw.requests == []


async def test_a_registry_that_cannot_be_reached_is_told_and_counted() -> None:
    with socket.create_server((HERE, 0)) as made:
        nobody = f"{HERE}:{made.getsockname()[1]}"
    impossible = "a" * 70 + ".example"
    async with registry_way({nobody, impossible}) as way:
        for request in (f"CONNECT {nobody}", f"GET http://{nobody}/", f"CONNECT {impossible}:443"):
            answer = await said(way.proxy_url, f"{request} HTTP/1.1")
            assert answer.startswith("HTTP/1.1 502 ")
            assert " cannot be reached: " in answer
        assert {traffic.host: traffic.failed for traffic in way.registries()} == {nobody: 2, impossible: 1}


async def test_a_registry_that_breaks_off_is_told() -> None:
    async def hang_up(request: Request) -> None:
        request.writer.close()

    async def break_off(request: Request) -> None:
        await request.send(head("Content-Length: 100"), b"half")
        request.writer.close()

    async with raw_server(hang_up) as raw, registry_way({urlsplit(raw.base_url).netloc}) as way:
        assert "broke off" in await said(way.proxy_url, f"GET {raw.base_url}/ HTTP/1.1")
    async with raw_server(break_off) as raw, registry_way({urlsplit(raw.base_url).netloc}) as way:
        answer = await said(way.proxy_url, f"GET {raw.base_url}/ HTTP/1.1")
        assert "Content-Length: 100\r\n" in answer  # so that the client sees that it is not whole
        assert answer.endswith("\r\n\r\nhalf")


async def test_a_giant_header_is_turned_down() -> None:
    async with registry_way(()) as way:
        async with connected(way.proxy_url) as (reader, writer, credentials):
            writer.write(f"CONNECT listed.example:443 HTTP/1.1\r\n{credentials}X: ".encode() + b"x" * 1_000_000)
            try:
                answer = await reader.read()
            except ConnectionResetError:  # it was closed on what nobody reads
                answer = b""
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
        assert way.registries() == ()
        assert (await said(way.proxy_url, "CONNECT a.example:443 HTTP/1.1")).startswith("HTTP/1.1 403 ")


async def test_names_without_end_do_not_fill_the_memory() -> None:
    async with registry_way(()) as way:
        for number in range(MOST_HOSTS + 5):
            await said(way.proxy_url, f"CONNECT host{number}.example:443 HTTP/1.1")
        counted = {traffic.host: traffic.refused for traffic in way.registries()}
    assert len(counted) == MOST_HOSTS + 1
    assert counted[FURTHER_HOSTS] == 5


async def open_tunnel(way: RegistryWay | Meter, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert way.proxy_url is not None
    address = urlsplit(way.proxy_url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"CONNECT {HERE}:{port} HTTP/1.1\r\n{authorization(way.proxy_url)}\r\n".encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    return reader, writer


@pytest.mark.parametrize("side", ["client", "registry", "proxy", "nobody reads"])
async def test_a_tunnel_leaves_nothing_behind_whoever_ends_it(side: str) -> None:
    before = asyncio.all_tasks()
    async with echoing() as (port, ends):
        async with registry_way({f"{HERE}:{port}"}) as way:
            reader, writer = await open_tunnel(way, port)
            await until(lambda: len(ends) == 1)
            if side == "client":
                writer.transport.abort()
                await until(ends[0].is_closing)
            elif side == "registry":
                ends[0].write(b"last words")
                ends[0].close()
                assert await reader.read() == b"last words"
            elif side == "nobody reads":
                writer.write(bytes(50_000_000))
                await asyncio.sleep(0.2)
                assert way.registries()[0].sent_bytes < 20_000_000
        if side == "proxy":
            assert await reader.read() == b""
        await until(lambda: all(end.is_closing() for end in ends))
        writer.transport.abort()
    await until(lambda: asyncio.all_tasks() <= before)
    gc.collect()


async def test_a_half_open_tunnel_ends_with_the_meter(tmp_path: Path) -> None:
    """A registry that takes the connection and says nothing, and a client that waits for it."""
    with socket.create_server((HERE, 0)) as silent:
        port = silent.getsockname()[1]
        before = asyncio.all_tasks()
        hosts = {f"{HERE}:{port}"}
        async with metered(route_to("http://127.0.0.1:9"), tmp_path / "log", Redactor(), registries=hosts) as meter:
            reader, writer = await open_tunnel(meter, port)
            waiting = asyncio.create_task(said(meter.proxy_url, f"GET http://{HERE}:{port}/ HTTP/1.1"))
            await until(lambda: meter.registries()[0].connections == 2)
        assert await reader.read() == b""
        assert await waiting == ""
        writer.close()
        assert meter.registries()[0].received_bytes == 0
        await until(lambda: asyncio.all_tasks() <= before)


async def test_it_goes_by_the_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with echoing() as (port, _), connect_proxy(port) as (proxy, heads):
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        async with registry_way({"packages.example"}) as way:
            async with connected(way.proxy_url) as (reader, writer, credentials):
                writer.write(f"CONNECT packages.example:443 HTTP/1.1\r\n{credentials}\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"bytes")
                assert await reader.readexactly(5) == b"bytes"
            assert way.registries()[0].connections == 1
    [seen] = heads
    assert seen.startswith("CONNECT packages.example:443 HTTP/1.1\r\n")
    assert "proxy-authorization: Basic dXNlcjpwYSBzcw==" in seen


async def test_plain_http_goes_by_the_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(packages) as raw, registry_way({"packages.example"}) as way:
        monkeypatch.setenv("HTTP_PROXY", raw.base_url.replace("http://", "http://user:own@"))
        answer = await said(way.proxy_url, "GET http://packages.example/a HTTP/1.1")
    assert answer.endswith("packages")
    [passed] = raw.requests
    assert passed.line == "GET http://packages.example/a HTTP/1.1"
    assert passed.header("proxy-authorization") == "Basic dXNlcjpvd24="


async def test_the_route_is_still_served_beside_it(tmp_path: Path) -> None:
    async with (
        raw_server(packages) as raw,
        metered(route_to(raw.base_url), tmp_path / "log", Redactor(), registries=()) as meter,
    ):
        address = urlsplit(meter.route.base_url)
        answer = await said(
            meter.proxy_url, f"POST {address.path}{MESSAGES} HTTP/1.1\r\nContent-Length: 0\r\nConnection: close"
        )
        assert answer.startswith("HTTP/1.1 200 ")
        [record] = meter.requests()
    assert (record.path, record.status) == (MESSAGES, 200)
