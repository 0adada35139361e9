"""Servers that say exactly what a test wants, byte by byte, and a meter in front of one."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from pydantic import SecretStr

from swetrials.store.redaction import Redactor
from swetrials.wire.meter import Meter, metered
from swetrials.wire.route import Dialect, Route

KEY = "the-real-key-of-the-user"
MESSAGES = "/v1/messages"


@dataclass
class Request:
    """One request as it came in, and the connection to answer on."""

    line: str
    headers: list[tuple[str, str]]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: int
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return a header's value; ``None`` where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    async def send(self, *pieces: bytes) -> None:
        """Write bytes, each piece on its own."""
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def reply(self, body: bytes, *headers: str, status: str = "200 OK") -> None:
        """Send a whole response."""
        head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""])
        await self.send(head.encode() + body)

    async def hung_up(self) -> None:
        """Return when the other side has closed the connection."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionResetError:
            pass


Handler = Callable[[Request], Awaitable[None]]
"""Answers a request. The connection stays open for the next one unless the handler closes it."""


@dataclass
class RawServer:
    """What came to a raw server."""

    base_url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0


@asynccontextmanager
async def raw_server(
    handle: Handler, *, read_body: bool = True, tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawServer]:
    """Serve requests on loopback with a handler, which may want to read the bodies itself."""
    raw = RawServer()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw.connections += 1
        number = raw.connections
        try:
            while (head := await _head(reader)) is not None:
                line, *fields = head.split("\r\n")
                headers = [(name, value.strip()) for name, _, value in (f.partition(":") for f in fields)]
                request = Request(line, headers, reader, writer, number)
                if read_body:
                    request.body = await reader.readexactly(int(request.header("content-length") or 0))
                raw.requests.append(request)
                await handle(request)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1_000_000, ssl=tls)
    raw.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield raw
    finally:
        server.close()


async def _head(reader: asyncio.StreamReader) -> str | None:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").removesuffix("\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None


def route_to(base_url: str, *dialects: Dialect, key: str = KEY) -> Route:
    """Return a route with the user's key."""
    return Route(frozenset(dialects or ("anthropic",)), base_url, SecretStr(key), "m", region="us-east-1")


@asynccontextmanager
async def metering(
    route: Route, folder: Path, *, keep_bodies: bool = False
) -> AsyncIterator[tuple[Meter, httpx.AsyncClient]]:
    """Put a meter before a route, and give an HTTP client that knows where it is."""
    async with (
        metered(route, folder / "requests.jsonl", Redactor(), keep_bodies=keep_bodies) as meter,
        httpx.AsyncClient(base_url=meter.route.base_url, trust_env=False, timeout=10) as http,
    ):
        yield meter, http


async def until(condition: Callable[[], bool], seconds: float = 1.0) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it does not within the time.
    """
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def chunk(data: bytes) -> bytes:
    """Return a chunk of chunked encoding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def head(*headers: str, status: str = "200 OK") -> bytes:
    """Return the head of a response."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode()
