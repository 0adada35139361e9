"""How the meter reaches an endpoint: over TLS, and through the proxy that the environment names."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from swetrials.wire.meter.endpoint import Upstream
from wire.meter.raw import MESSAGES, Request, metering, raw_server, route_to

pytestmark = pytest.mark.anyio

HOST = "endpoint.test"
CREDENTIALS = "Basic dXNlcjpwYSBzcw=="


async def ok(request: Request) -> None:
    await request.reply(b"{}", "Content-Type: application/json")


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """A server's TLS for HOST, which clients of this process trust."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={HOST}"
    names = f"subjectAltName=DNS:{HOST},DNS:localhost"
    files = ("-keyout", str(key), "-out", str(certificate))
    subprocess.run(["openssl", *made.split(), "-addext", names, *files], check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@asynccontextmanager
async def connect_proxy(port: int, status: str = "200 Connection established") -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that tunnels every CONNECT to a port of this machine; gives its address and the heads it saw."""
    heads: list[str] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
        if not status.startswith("200"):
            writer.close()
            return
        there = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer), return_exceptions=True)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://user:pa%20ss@127.0.0.1:{server.sockets[0].getsockname()[1]}", heads
    finally:
        server.close()


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


async def test_tls_is_spoken_and_checked(tmp_path: Path, tls: ssl.SSLContext) -> None:
    async with raw_server(ok, tls=tls) as raw:
        port = port_of(raw.base_url)
        async with metering(route_to(f"https://localhost:{port}"), tmp_path) as (_, http):
            for _ in range(2):
                assert (await http.post(MESSAGES, content=b"x" * 200_000)).status_code == 200
        assert raw.connections == 1
        # The certificate is for names, not for this address.
        async with metering(route_to(f"https://127.0.0.1:{port}"), tmp_path) as (meter, http):
            assert (await http.post(MESSAGES)).status_code == 502
            assert "certificate" in meter.requests()[0].error


async def test_a_proxy_tunnels_tls(tmp_path: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(ok, tls=tls) as raw, connect_proxy(port_of(raw.base_url)) as (proxy, heads):
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        async with metering(route_to(f"https://{HOST}/v9"), tmp_path) as (_, http):
            assert (await http.post(MESSAGES, content=b"{}")).status_code == 200
    assert heads[0].startswith(f"CONNECT {HOST}:443 HTTP/1.1\r\n")
    assert CREDENTIALS in heads[0]
    [request] = raw.requests
    assert request.line == "POST /v9/v1/messages HTTP/1.1"
    assert (request.header("host"), request.header("proxy-authorization")) == (HOST, None)


async def test_a_proxy_that_says_no_is_named(
    tmp_path: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect_proxy(0, "407 Proxy Authentication Required") as (proxy, _):
        monkeypatch.setenv("ALL_PROXY", proxy)
        async with metering(route_to(f"https://{HOST}"), tmp_path) as (meter, http):
            assert (await http.post(MESSAGES)).status_code == 502
    assert meter.requests()[0].error == f"{HOST} cannot be reached: the proxy 127.0.0.1 answered 407 to CONNECT"


async def test_a_proxy_reads_what_is_not_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(ok) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url.replace("//", "//user:pa%20ss@"))
        async with metering(route_to(f"http://{HOST}:8000/p"), tmp_path) as (_, http):
            assert (await http.post(f"{MESSAGES}?a=b", content=b"{}")).status_code == 200
    [request] = proxy.requests
    assert request.line == f"POST http://{HOST}:8000/p/v1/messages?a=b HTTP/1.1"
    assert (request.header("host"), request.header("proxy-authorization")) == (f"{HOST}:8000", CREDENTIALS)


@pytest.mark.parametrize(
    ("url", "no_proxy", "through"),
    [
        ("https://endpoint.test", "", "proxy.test"),
        ("https://endpoint.test", "endpoint.test", None),
        ("https://a.internal:8000", ".internal", None),
        ("http://127.0.0.1:8000", "", None),
        ("http://localhost:8000", "", None),
        ("http://[::1]:8000", "", None),
    ],
)
def test_what_is_near_needs_no_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, no_proxy: str, through: str | None
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "proxy.test:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    proxy = Upstream.at(url).proxy
    assert (proxy.hostname if proxy else None) == through
