"""The meter of one attempt: where it listens, what the agent is given, and what was counted."""

import secrets
import socket
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from pydantic import SecretStr

from swetrials.records.registries import RegistryTraffic
from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.store.redaction import Redactor
from swetrials.wire.meter.block import requests_block
from swetrials.wire.meter.endpoint import Upstream
from swetrials.wire.meter.ledger import Observer, RequestLedger
from swetrials.wire.meter.listening import HOST, MeterListener
from swetrials.wire.meter.peer import Peer
from swetrials.wire.meter.registry_proxy import RegistryProxy
from swetrials.wire.meter.registry_way import proxy_url
from swetrials.wire.meter.relay import Relay, RelaySettings
from swetrials.wire.meter.signing import Signer
from swetrials.wire.route import Route

AGENT_KEY = "local-placeholder-key"
"""The key that agents are given, for some refuse to start without one. It opens nothing."""


class Meter:
    """Counts what passes.

    Attributes:
        route: what the agent gets in place of the real one: it holds no key of the user's.
        proxy_url: the proxy that leads to package registries, with its secret; ``None`` where there is none.
    """

    def __init__(self, settings: RelaySettings, listener: MeterListener, port: int) -> None:
        self.route = _route_of_agent(settings.route, f"http://{HOST}:{port}/{settings.secret}")
        self.proxy_url = proxy_url(port, settings.secret) if settings.proxy is not None else None
        self._ledger, self._proxy, self._listener = settings.ledger, settings.proxy, listener

    async def serve(self, listening: socket.socket) -> None:
        """Serve a socket that listens already, and may do so in a network namespace of which this process has no part.

        May be called for several, such as for the namespaces of one command after the other. The sockets are the
        meter's from then on, which closes them.

        Raises:
            OSError: the meter was closed before.
        """
        await self._listener.serve(listening)

    def registries(self) -> tuple[RegistryTraffic, ...]:
        """Return what passed to package registries so far, or was refused, by host."""
        return self._proxy.traffic if self._proxy is not None else ()

    def requests(self) -> Sequence[RequestRecord]:
        """Return every request so far in the order of their starts, those under way as they stand."""
        return self._ledger.records

    def block(self, ended_seconds: float | None = None) -> RequestsBlock:
        """Return what the requests come to, so far; ``ended_seconds`` is when the attempt ended, if it has."""
        return requests_block(self._ledger.records, ended_seconds)


@asynccontextmanager
async def metered(
    route: Route,
    log: Path,
    redactor: Redactor,
    *,
    began: float | None = None,
    keep_bodies: bool = False,
    observe: Observer | None = None,
    port: int | None = None,
    registries: Collection[str] | None = None,
) -> AsyncIterator[Meter]:
    """Stand between an agent and its route for as long as the context lasts.

    Bodies pass untouched, as they come, in both directions. The agent reaches the meter at a path that nobody
    else on this machine can guess; the real key, or AWS signature, is put in on the way. A request is cut at
    the endpoint as soon as the agent lets go of it. At the end whatever is under way is cut and recorded.

    Args:
        route: the real way to the model.
        log: where each request is logged when it ends, as a line of JSON.
        redactor: hides secrets in what is logged; the route's own are hidden, too.
        began: when the attempt began, on the clock of ``time.monotonic``; now, where it is not given.
        keep_bodies: whether bodies are kept in ``requests/<number>.request`` and ``.response`` beside the log.
        observe: called with each request that was passed on, when it ends.
        port: where a socket will listen that is handed over later (:meth:`Meter.serve`); without it the meter listens
            on a port of its own.
        registries: hosts that the meter leads to as a proxy, beside the route; ``None``: it is no proxy.

    Raises:
        ValueError: the route's URL is none of HTTP.
        CannotSign: the route has AWS keys, but something that signing needs is missing.
        OSError: the log cannot be written.
    """
    endpoint = Upstream.at(route.base_url)
    control = Upstream.at(route.control_url) if route.control_url is not None else endpoint
    signer = Signer(route.aws, route.region) if route.aws is not None and not route.api_key.get_secret_value() else None
    start = time.monotonic() if began is None else began
    ledger = RequestLedger(log, redactor.and_also(route.secrets), start, keep_bodies, observe)
    secret = secrets.token_hex(16)
    proxy = RegistryProxy(registries, secret) if registries is not None else None
    settings = RelaySettings(secret, route, endpoint, control, signer, ledger, proxy)

    async def serve(agent: Peer) -> None:
        await Relay(settings, agent).serve()

    listener = MeterListener(serve)
    try:
        yield Meter(settings, listener, await listener.listen() if port is None else port)
    finally:
        with anyio.CancelScope(shield=True):
            await listener.close()
        ledger.close()


def _route_of_agent(route: Route, base_url: str) -> Route:
    # In the Bedrock dialect, no key makes agents send their requests unsigned, which is all that is needed here.
    key = "" if route.dialects == {"bedrock"} else AGENT_KEY
    return replace(route, base_url=base_url, api_key=SecretStr(key), aws=None, control_url=None)
