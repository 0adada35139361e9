"""The meter of one attempt: where it listens, what the agent is given, and what was counted."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from pydantic import SecretStr

from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.store.redaction import Redactor
from swetrials.wire.meter.block import requests_block
from swetrials.wire.meter.endpoint import Upstream
from swetrials.wire.meter.ledger import Observer, RequestLedger
from swetrials.wire.meter.peer import Peer
from swetrials.wire.meter.relay import Relay, RelaySettings
from swetrials.wire.meter.signing import Signer
from swetrials.wire.route import Route

HOST = "127.0.0.1"

AGENT_KEY = "local-placeholder-key"
"""The key that agents are given, for some refuse to start without one. It opens nothing."""


class Meter:
    """Counts what passes. ``route`` is what the agent gets in place of the real one: it holds no key of the user's."""

    def __init__(self, route: Route, ledger: RequestLedger) -> None:
        self.route = route
        self._ledger = ledger

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
    settings = RelaySettings(secrets.token_hex(16), route, endpoint, control, signer, ledger)
    connections = _AgentConnections(settings)
    server = await asyncio.get_running_loop().create_server(lambda: _AgentConnection(connections), HOST, 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield Meter(_route_of_agent(route, f"http://{HOST}:{port}/{settings.secret}"), ledger)
    finally:
        server.close()
        with anyio.CancelScope(shield=True):
            await connections.close()
        ledger.close()


def _route_of_agent(route: Route, base_url: str) -> Route:
    # In the Bedrock dialect, no key makes agents send their requests unsigned, which is all that is needed here.
    key = "" if route.dialects == {"bedrock"} else AGENT_KEY
    return replace(route, base_url=base_url, api_key=SecretStr(key), aws=None, control_url=None)


class _AgentConnections:
    """The connections that are open."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        self._closed = False
        self._open: set[Peer] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def serve(self, agent: Peer) -> asyncio.Task[None] | None:
        """Begin to pass on what comes on a connection; ``None`` for one that was accepted too late for that."""
        if self._closed:
            agent.abort()
            return None
        self._open.add(agent)
        task = asyncio.create_task(Relay(self._settings, agent).serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def lost(self, agent: Peer) -> None:
        """Forget a connection that is no more."""
        self._open.discard(agent)

    async def close(self) -> None:
        """Cut every connection and wait until what passed on it is recorded."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel("the attempt ended")
        await asyncio.gather(*tasks, return_exceptions=True)
        # Not every connection has a task that closes it: some still send what is left, and some had only just come.
        for agent in self._open:
            agent.abort()


class _AgentConnection(Peer):
    """A connection of the agent, whose end stops what is under way at once."""

    def __init__(self, connections: _AgentConnections) -> None:
        super().__init__()
        self._connections = connections
        self._relaying: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to pass on what comes."""
        super().connection_made(transport)
        self._relaying = self._connections.serve(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Stop what is under way."""
        super().connection_lost(error)
        self._connections.lost(self)
        if self._relaying is not None:
            self._relaying.cancel("the agent closed the connection")
