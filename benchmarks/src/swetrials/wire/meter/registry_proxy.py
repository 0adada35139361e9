"""A forward proxy that leads to package registries and nowhere else (RFC 9110, 9.3.6; RFC 9112, 3.2.2).

What it lets through is decided by the names of hosts alone. In a tunnel it sees neither paths nor contents, so it
cannot tell one package from another.
"""

import asyncio
from base64 import b64encode
from collections.abc import Collection
from dataclasses import dataclass
from secrets import compare_digest
from typing import Self
from urllib.parse import urlsplit

from swetrials.records.registries import RegistryTraffic
from swetrials.wire.meter import heads
from swetrials.wire.meter.endpoint import Upstream
from swetrials.wire.meter.messages import (
    Cut,
    Headers,
    IncomingRequest,
    IncomingResponse,
    RequestHead,
    ResponseHead,
    find,
)
from swetrials.wire.meter.peer import Peer
from swetrials.wire.meter.traffic import HostTraffic, Traffic

USER = "x"
"""The name before the secret in the proxy's URL; clients send no password without one."""

LONGEST_HOST = 253
"""Of a name in the DNS (RFC 1035)."""

_REFUSED = b"Not among environment.registries"
"""The reason beside the status. Of a refused tunnel most clients show this line and not the body."""

_CLOSE = (b"Connection", b"close")
_PORTS = {"http": 80, "https": 443}


def is_proxied(head: RequestHead) -> bool:
    """Return whether a request is for a proxy: it asks for a tunnel, or names a whole URL."""
    return head.method == b"CONNECT" or head.target[:7].lower() == b"http://"


@dataclass(frozen=True)
class _Target:
    """Where a request wants to go; ``usual`` when the port is that of its scheme."""

    scheme: str
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, head: RequestHead) -> Self | None:
        """Return where a request wants to go; ``None`` where that cannot be told."""
        tunnel = head.method == b"CONNECT"
        said = head.target.decode("latin-1")
        try:
            url = urlsplit(f"https://{said}" if tunnel else said)
            scheme, port = url.scheme, url.port
        except ValueError:
            return None
        host = (url.hostname or "").rstrip(".")
        if not host or len(host) > LONGEST_HOST or not host.isascii() or (tunnel and (url.path or port is None)):
            return None
        query = f"?{url.query}" if url.query else ""
        return cls(scheme, host, _PORTS[scheme] if port is None else port, f"{url.path or '/'}{query}")

    @property
    def usual(self) -> bool:
        return self.port == _PORTS[self.scheme]

    @property
    def authority(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.usual else f"{name}:{self.port}"

    def is_among(self, hosts: Collection[str]) -> bool:
        return f"{self.host}:{self.port}" in hosts or (self.usual and self.host in hosts)


class RegistryProxy:
    """Lets whoever knows the secret reach the hosts of an allow-list, and counts what passes.

    Args:
        hosts: the allow-list, in lower case. A name stands for port 443 of a tunnel and port 80 of plain HTTP; any
            other port has to be named with it.
        secret: the password of the proxy.
    """

    def __init__(self, hosts: Collection[str], secret: str) -> None:
        self._hosts = frozenset(hosts)
        self._credentials = b64encode(f"{USER}:{secret}".encode()).decode()
        self._traffic = Traffic()

    @property
    def traffic(self) -> tuple[RegistryTraffic, ...]:
        """What passed so far, or was refused."""
        return self._traffic.records

    async def serve(self, agent: Peer, incoming: IncomingRequest, head: RequestHead) -> None:
        """Serve one request, with which the connection ends, whatever comes of it."""
        if not self._knows_secret(head.headers):
            asks = (b"Proxy-Authenticate", b'Basic realm="registries"')
            _say(agent, 407, b"", "this proxy is for the commands of one attempt", asks)
            return
        target = _Target.of(head)
        if target is None:
            _say(agent, 400, b"", "this names no host and port to go to")
            return
        counts = self._traffic.of(target.authority)
        if not target.is_among(self._hosts):
            counts.refused += 1
            why = f"{target.authority} is not among the registries: the dataset's key environment.registries adds it"
            _say(agent, 403, _REFUSED, why)
            return
        await self._lead(agent, incoming, head, target, counts)

    def _knows_secret(self, headers: Headers) -> bool:
        scheme, _, given = find(headers, b"proxy-authorization").partition(" ")
        return scheme.lower() == "basic" and compare_digest(given.strip().encode(), self._credentials.encode())

    async def _lead(
        self, agent: Peer, incoming: IncomingRequest, head: RequestHead, target: _Target, counts: HostTraffic
    ) -> None:
        try:
            upstream = Upstream.at(f"{target.scheme}://{target.authority}", tunnelled=head.method == b"CONNECT")
            server = await upstream.connect()
        except (OSError, ValueError) as error:  # ValueError: a name that no address can be asked for
            counts.failed += 1
            _say(agent, 502, b"", f"{target.authority} cannot be reached: {error}")
            return
        counts.connections += 1
        try:
            if head.method == b"CONNECT":
                await _tunnel(agent, server, incoming.rest, counts)
            else:
                await _forward(agent, server, upstream, head, target.path, counts)
        finally:
            server.abort()


async def _tunnel(agent: Peer, server: Peer, early: bytes, counts: HostTraffic) -> None:
    """Pass bytes in both directions until one side has ended."""
    agent.send(ResponseHead(200, b"Connection established", []))
    ways = (agent.pass_bytes(server, counts.sent, early), server.pass_bytes(agent, counts.received))
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            _forget(way)
        agent.close()


async def _forward(
    agent: Peer, server: Peer, upstream: Upstream, head: RequestHead, path: str, counts: HostTraffic
) -> None:
    """Pass one request of plain HTTP on, and its response back."""
    headers = [*heads.forwarded_headers(head.headers, upstream.host), *upstream.proxy_headers, _CLOSE]
    passed_on = RequestHead(head.method, upstream.target(path).encode("latin-1"), headers)
    server.start(passed_on)
    counts.sent(passed_on.encode())
    sending = agent.pass_body(server, counts.sent)
    answered = False
    try:
        response = IncomingResponse(bodiless=head.method == b"HEAD")
        while (answer := await server.head_of(response)).status < 200:
            if head.version != "1.0":
                agent.send(heads.informational(answer))
        counts.received(answer.encode())
        answered = True
        agent.start(heads.response(answer, head, closes=True), bodiless=not heads.has_body(answer, head))
        await server.pass_body(agent, counts.received)
    except Cut as cut:
        if answered:
            agent.close()
        else:
            _say(agent, 502, b"", f"{upstream.host} broke off: {cut}")
    finally:
        _forget(sending)


def _forget(way: "asyncio.Future[None]") -> None:
    """Wait no more for what passes, and let a failure of it go unsaid: the connection ends with it."""
    if way.done():
        way.exception()
    else:
        way.cancel()


def _say(agent: Peer, status: int, reason: bytes, line: str, *headers: tuple[bytes, bytes]) -> None:
    body = f"{line}\n".encode()
    shown = [(b"Content-Type", b"text/plain; charset=utf-8"), (b"Content-Length", str(len(body)).encode())]
    agent.send(ResponseHead(status, reason, [*shown, *headers, _CLOSE]), body)
