"""A way to package registries alone, for commands that call no model."""

import secrets
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import anyio

from swetrials.records.registries import RegistryTraffic
from swetrials.wire.meter.canary import CANARY_PATH, answer_canary
from swetrials.wire.meter.listening import HOST, MeterListener
from swetrials.wire.meter.messages import Cut, IncomingRequest, ResponseHead
from swetrials.wire.meter.peer import Peer
from swetrials.wire.meter.registry_proxy import USER, RegistryProxy, is_proxied


class RegistryWay:
    """The proxy's address, and what passed by it.

    Attributes:
        base_url: below which the canary is answered, and nothing else.
        proxy_url: what clients take as their proxy; it holds the secret.
    """

    def __init__(self, port: int, secret: str, proxy: RegistryProxy, listener: MeterListener) -> None:
        self.base_url = f"http://{HOST}:{port}/{secret}"
        self.proxy_url = proxy_url(port, secret)
        self._proxy, self._listener = proxy, listener

    async def serve(self, listening: socket.socket) -> None:
        """Serve a socket that listens already, as :meth:`MeterListener.serve` does.

        Raises:
            OSError: the way was closed before.
        """
        await self._listener.serve(listening)

    def registries(self) -> tuple[RegistryTraffic, ...]:
        """Return what passed so far, or was refused."""
        return self._proxy.traffic


def proxy_url(port: int, secret: str) -> str:
    """Return what clients take as their proxy."""
    return f"http://{USER}:{secret}@{HOST}:{port}"


@asynccontextmanager
async def registry_way(hosts: Collection[str], *, port: int | None = None) -> AsyncIterator[RegistryWay]:
    """Lead to the hosts of an allow-list for as long as the context lasts.

    Args:
        hosts: the allow-list, as :class:`RegistryProxy` takes it.
        port: where a socket will listen that is handed over later; without it there is one of the way's own.

    Raises:
        OSError: there is no listening.
    """
    secret = secrets.token_hex(16)
    proxy = RegistryProxy(hosts, secret)

    async def serve(agent: Peer) -> None:
        await _serve_one(agent, proxy, f"/{secret}{CANARY_PATH}".encode())

    listener = MeterListener(serve)
    try:
        yield RegistryWay(await listener.listen() if port is None else port, secret, proxy, listener)
    finally:
        with anyio.CancelScope(shield=True):
            await listener.close()


async def _serve_one(agent: Peer, proxy: RegistryProxy, canary: bytes) -> None:
    incoming = IncomingRequest()
    try:
        head = await agent.head_of(incoming)
        if is_proxied(head):
            await proxy.serve(agent, incoming, head)
        elif secrets.compare_digest(head.target, canary):
            answer_canary(agent)
        else:
            _refuse(agent, 404)
        await agent.run_out()
    except Cut as cut:
        _refuse(agent, cut.status)
    except BaseException:
        agent.abort()
        raise
    finally:
        agent.close()


def _refuse(agent: Peer, status: int) -> None:
    agent.send(ResponseHead(status, b"", [(b"Content-Length", b"0"), (b"Connection", b"close")]))
