"""Passing requests on and responses back, for one connection of the agent."""

import asyncio
import secrets
from dataclasses import dataclass, replace
from functools import partial

from swetrials.wire.meter import heads
from swetrials.wire.meter.canary import CANARY_PATH, answer_canary
from swetrials.wire.meter.endpoint import Upstream
from swetrials.wire.meter.exchange import Exchange
from swetrials.wire.meter.ledger import RequestLedger
from swetrials.wire.meter.messages import Cut, IncomingRequest, IncomingResponse, RequestHead, ResponseHead
from swetrials.wire.meter.peer import Peer
from swetrials.wire.meter.refusals import error_body
from swetrials.wire.meter.registry_proxy import RegistryProxy, is_proxied
from swetrials.wire.meter.signing import Signer
from swetrials.wire.route import Dialect, Route
from swetrials.wire.usage_readers import dialect_of

_CONTROL = "/inference-profiles"

REFUSED = "this address is for the agent of one attempt, and the request does not show its secret"


@dataclass(frozen=True)
class RelaySettings:
    """What all connections of an attempt share: the secret that lets them in, where they lead, and the ledger.

    ``control`` is where Bedrock is asked about itself; elsewhere it is the same as ``endpoint``. ``proxy`` leads to
    package registries, where the attempt may reach any.
    """

    secret: str
    route: Route
    endpoint: Upstream
    control: Upstream
    signer: Signer | None
    ledger: RequestLedger
    proxy: RegistryProxy | None

    def behind_secret(self, target: str) -> str | None:
        """Return what follows the secret in a request's target; ``None`` where it does not begin with the secret."""
        expected = f"/{self.secret}"
        given, rest = target[: len(expected)], target[len(expected) :]
        if not secrets.compare_digest(given.encode(), expected.encode()) or rest[:1] not in {"", "/", "?"}:
            return None
        return rest if rest.startswith("/") else f"/{rest}"

    def leads_to(self, path: str) -> Upstream:
        """Return the server that a request is for: agents ask their one base URL for Bedrock's control plane, too."""
        return self.control if path.startswith(_CONTROL) else self.endpoint


@dataclass(frozen=True)
class _Call:
    """One request under way; ``path`` is what follows the secret, and ``endpoint`` the server that it is for."""

    incoming: IncomingRequest
    head: RequestHead
    path: str
    endpoint: Upstream
    dialect: Dialect | None
    exchange: Exchange

    @property
    def is_last(self) -> bool:
        """Whether the connection ends with the response. A request that is not whole when it is answered ends it."""
        return not self.incoming.reusable or self.incoming.surplus or self.head.version == "1.0"


class Relay:
    """One connection of the agent, and the connection to the endpoint that belongs to it.

    The two are alike: requests on one go out on the other, in the same order. So nothing is shared between
    connections, and the endpoint sees as many as the agent makes.
    """

    def __init__(self, settings: RelaySettings, agent: Peer) -> None:
        self._settings = settings
        self._agent = agent
        self._server: Peer | None = None
        self._server_at: Upstream | None = None
        self._answered = False

    async def serve(self) -> None:
        """Pass on whatever the agent sends, until one side closes its connection or the task is cancelled."""
        try:
            while await self._next_exchange():
                self._answered = False
            self._leave_server()
            await self._agent.run_out()
        except Cut as cut:
            self._reject(cut)
        except asyncio.CancelledError:
            self._agent.abort()
            raise
        finally:
            self._leave_server()
            self._agent.close()

    async def _next_exchange(self) -> bool:
        """Pass one request and its response; ``False`` when the connection has no further use.

        Raises:
            Cut: the agent broke off, or does not speak HTTP.
        """
        incoming = IncomingRequest()
        head = await self._agent.head_of(incoming)
        if await self._is_beside_the_route(incoming, head):
            return False
        return await self._exchange(incoming, head)

    async def _is_beside_the_route(self, incoming: IncomingRequest, head: RequestHead) -> bool:
        """Answer a request that has nothing to do with the model, and is counted elsewhere or nowhere.

        Raises:
            Cut: a tunnel is asked for, and there is no proxy.
        """
        proxy = self._settings.proxy
        if proxy is not None and is_proxied(head):
            await proxy.serve(self._agent, incoming, head)
        elif head.method == b"CONNECT":
            raise Cut("a tunnel leads nowhere here", 501)
        elif self._settings.behind_secret(head.target.decode("latin-1")) == CANARY_PATH:
            answer_canary(self._agent)
        else:
            return False
        return True

    async def _exchange(self, incoming: IncomingRequest, head: RequestHead) -> bool:
        method, target = head.method.decode(), head.target.decode("latin-1")
        inner = self._settings.behind_secret(target)
        path = (inner or target).partition("?")[0]
        dialect = dialect_of(method, path)
        exchange = self._settings.ledger.open(method, path, dialect)
        try:
            call = _Call(incoming, head, inner or "", self._settings.leads_to(path), dialect, exchange)
            if inner is None:
                exchange.refuse(REFUSED)
                return await self._answer(call, 401)
            return await self._pass(call)
        except asyncio.CancelledError as cancelled:
            exchange.error = str(cancelled)
            raise
        except Cut as cut:
            exchange.error = f"the agent broke off: {cut}"
            raise
        finally:
            self._settings.ledger.end(exchange)

    async def _pass(self, call: _Call) -> bool:
        try:
            server = await self._connected(call.endpoint)
        except OSError as error:
            call.exchange.not_sent(f"{call.endpoint.host} cannot be reached: {error}")
            return await self._answer(call, 502)
        sending = self._send(call, server)
        sending.add_done_callback(partial(_sent, call, server))
        try:
            return await self._return(server, call) and sending.done()
        except Cut as cut:
            call.exchange.error = call.exchange.error or f"{call.endpoint.host} broke off: {cut}"
            self._agent.close()
            return False
        finally:
            sending.cancel()

    async def _connected(self, endpoint: Upstream) -> Peer:
        if self._server is None or not self._server.open or self._server_at is not endpoint:
            self._leave_server()
            self._server, self._server_at = await endpoint.connect(), endpoint
        return self._server

    def _leave_server(self) -> None:
        if self._server is not None:
            self._server.abort()
            self._server = None

    def _send(self, call: _Call, server: Peer) -> asyncio.Future[None]:
        """Begin to send a request on: at once where that can be done without its end."""
        head = self._head(call)
        if self._settings.signer is not None:
            return asyncio.create_task(self._send_signed(call, head, self._settings.signer, server))
        server.start(head)
        return self._agent.pass_body(server, call.exchange.see_request)

    def _head(self, call: _Call) -> RequestHead:
        headers = heads.request_headers(call.head.headers, call.endpoint.host) + call.endpoint.proxy_headers
        headers += heads.key_headers(call.head.headers, call.dialect, self._settings.route)
        return RequestHead(call.head.method, call.endpoint.target(call.path).encode("latin-1"), headers)

    async def _send_signed(self, call: _Call, head: RequestHead, signer: Signer, server: Peer) -> None:
        pieces: list[bytes] = []
        await self._agent.read_body(pieces.append)
        body = b"".join(pieces)
        call.exchange.see_request(body)
        url = call.endpoint.url_of(head.target.decode("latin-1"))
        headers = head.headers + signer.headers(head.method.decode(), url, head.headers, body)
        server.send(replace(head, headers=headers), body)

    async def _return(self, server: Peer, call: _Call) -> bool:
        """Pass a response back; return whether the agent may use its connection again.

        Raises:
            Cut: the endpoint broke off.
        """
        incoming = IncomingResponse(bodiless=call.head.method == b"HEAD")
        while (head := await server.head_of(incoming)).status < 200:
            if call.head.version != "1.0":
                self._agent.start(heads.informational(head), bodiless=True)
                self._agent.flush()
        call.exchange.response_began(head.status, head.headers)
        closes = call.is_last
        self._answered = True
        passed = heads.response(head, call.head, closes=closes)
        self._agent.start(passed, bodiless=not heads.has_body(head, call.head))
        await server.pass_body(self._agent, call.exchange.see_response)
        call.exchange.response_ended()
        if incoming.surplus or not incoming.reusable:
            self._leave_server()
        return not closes

    async def _answer(self, call: _Call, status: int) -> bool:
        """Answer in the endpoint's place; return whether the connection can be used again."""
        await self._agent.read_body(call.exchange.see_request)
        call.exchange.request_ended()
        body = error_body(call.dialect, status, call.exchange.error)
        self._say(status, body, closes=call.is_last, unseen=call.head.method == b"HEAD")
        return not call.is_last

    def _reject(self, cut: Cut) -> None:
        """Answer to what is no HTTP, if the agent can still hear it."""
        if not self._answered:
            self._say(cut.status, error_body(None, cut.status, str(cut)), closes=True)

    def _say(self, status: int, body: bytes, *, closes: bool, unseen: bool = False) -> None:
        """Send an answer of the meter's own; ``unseen``: its length alone, as to a HEAD (RFC 9110, 9.3.2)."""
        headers = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(body)).encode())]
        headers += [(b"Connection", b"close")] if closes else []
        self._agent.send(ResponseHead(status, b"", headers), b"" if unseen else body)


def _sent(call: _Call, server: Peer, sending: asyncio.Future[None]) -> None:
    """Take in how the sending of a request ended. A failure shows in the response, for which somebody waits."""
    if sending.cancelled():
        return
    if (cut := sending.exception()) is None:
        call.exchange.request_ended()
    else:
        call.exchange.error = f"the agent broke off: {cut}"
        server.abort()
