"""Where a route leads, and how to connect to it: directly or through the proxy that the environment names."""

import asyncio
import ssl
from base64 import b64encode
from dataclasses import dataclass
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from swetrials.wire.meter.messages import Cut, Headers, IncomingResponse, RequestHead
from swetrials.wire.meter.peer import Peer

CONNECT_SECONDS = 30.0
"""For a connection to stand, TLS included; beyond that the meter has no time limits of its own."""

_PORTS = {"http": 80, "https": 443}
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True)
class Upstream:
    """A server of HTTP: ``url`` is its origin and path prefix, ``proxy`` what stands in between, if anything.

    ``tls`` is how to speak to it where it is encrypted; ``None`` where somebody else does that, through a tunnel.
    """

    url: SplitResult
    proxy: SplitResult | None
    tls: ssl.SSLContext | None

    @classmethod
    def at(cls, base_url: str, *, tunnelled: bool = False) -> Self:
        """Return the endpoint at a URL, with the proxy of ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``.

        Args:
            base_url: the URL.
            tunnelled: leave TLS to somebody else, to whom the connection is a tunnel.

        Raises:
            ValueError: it is no URL of HTTP.
        """
        url = urlsplit(base_url.rstrip("/"))
        if url.scheme not in _PORTS or not url.hostname:
            raise ValueError(f"{base_url!r} is no URL that starts with http:// or https:// and names a host")
        tls = httpx.create_ssl_context() if url.scheme == "https" and not tunnelled else None
        return cls(url, _proxy_for(url), tls)

    @property
    def host(self) -> str:
        """What the ``Host`` header says."""
        return self.url.netloc.rpartition("@")[2]

    def target(self, path: str) -> str:
        """Return what a request line names: the path below the prefix, as a whole URL where a proxy has to read it."""
        whole = f"{self.url.path}{path}" or "/"
        return whole if self._reading_proxy is None else f"http://{self.host}{whole}"

    def url_of(self, target: str) -> str:
        """Return the whole URL that a request line means."""
        return target if target.startswith("http") else f"{self.url.scheme}://{self.host}{target}"

    @property
    def proxy_headers(self) -> Headers:
        """What the proxy wants to see in a request that it reads."""
        return [] if self._reading_proxy is None else _credentials(self._reading_proxy)

    @property
    def _reading_proxy(self) -> SplitResult | None:
        """The proxy, if it reads the requests; what is encrypted it only tunnels."""
        return self.proxy if self.url.scheme == "http" else None

    async def connect(self) -> Peer:
        """Return a connection on which requests can be sent.

        Raises:
            OSError: there is no connecting, for a reason that the error tells.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await (self._direct() if self.proxy is None else self._by_way_of(self.proxy))
        except TimeoutError:
            raise TimeoutError(f"no connection within {CONNECT_SECONDS:g} seconds") from None

    async def _direct(self) -> Peer:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Peer, *_address(self.url), ssl=self.tls))[1]

    async def _by_way_of(self, proxy: SplitResult) -> Peer:
        _, peer = await asyncio.get_running_loop().create_connection(Peer, *_address(proxy))
        if self.url.scheme == "https":
            try:
                await self._tunnel(peer, proxy)
                if self.tls is not None:
                    await peer.start_tls(self.tls, self.url.hostname)
            except BaseException:
                peer.abort()
                raise
        return peer

    async def _tunnel(self, peer: Peer, proxy: SplitResult) -> None:
        authority = "{}:{}".format(*_address(self.url)).encode()
        request = RequestHead(b"CONNECT", authority, [(b"host", authority), *_credentials(proxy)])
        peer.send(request)
        try:
            answer = await peer.head_of(IncomingResponse(bodiless=True))
        except Cut as cut:
            raise ConnectionError(f"the proxy {proxy.hostname} broke off: {cut}") from None
        if answer.status != 200:
            raise ConnectionError(f"the proxy {proxy.hostname} answered {answer.status} to CONNECT")


def _proxy_for(url: SplitResult) -> SplitResult | None:
    if url.hostname in _LOOPBACK or proxy_bypass(url.netloc):
        return None
    proxies = getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    return urlsplit(named if "://" in named else f"http://{named}") if named else None


def _address(url: SplitResult) -> tuple[str, int]:
    return url.hostname or "", url.port or _PORTS.get(url.scheme, 80)


def _credentials(proxy: SplitResult) -> Headers:
    if proxy.username is None:
        return []
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return [(b"proxy-authorization", b"Basic " + b64encode(pair.encode()))]
