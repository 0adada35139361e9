"""Passing requests on and responses back, for one connection of the agent.

It stands on asyncio and h11 alone. A server and a client made for general use (uvicorn and httpx) took 1.4 ms of
processor time per request more, which is several per cent of a fast turn of Claude Code; see ``perf/``.
"""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass

import h11

from swetrials.wire.meter import heads
from swetrials.wire.meter.endpoint import Endpoint
from swetrials.wire.meter.errors import error_body
from swetrials.wire.meter.exchange import Exchange
from swetrials.wire.meter.ledger import Ledger
from swetrials.wire.meter.peer import Cut, Peer
from swetrials.wire.meter.signing import Signer
from swetrials.wire.route import Dialect, Route
from swetrials.wire.usage_readers import dialect_of

_CONTROL = "/inference-profiles"

REFUSED = "this address is for the agent of one attempt, and the request does not show its secret"


@dataclass(frozen=True)
class Passage:
    """What all connections of an attempt share: the door's secret, where it leads, and the ledger.

    ``control`` is where Bedrock is asked about itself; elsewhere it is the same as ``endpoint``.
    """

    secret: str
    route: Route
    endpoint: Endpoint
    control: Endpoint
    signer: Signer | None
    ledger: Ledger

    def inside(self, target: str) -> str | None:
        """Return what follows the secret in a request's target; ``None`` where it does not begin with the secret."""
        door = f"/{self.secret}"
        given, rest = target[: len(door)], target[len(door) :]
        if not secrets.compare_digest(given.encode(), door.encode()) or rest[:1] not in {"", "/", "?"}:
            return None
        return rest if rest.startswith("/") else f"/{rest}"

    def leads_to(self, path: str) -> Endpoint:
        """Return the server that a request is for: agents ask their one base URL for Bedrock's control plane, too."""
        return self.control if path.startswith(_CONTROL) else self.endpoint


class Relay:
    """One connection of the agent, and the connection to the endpoint that belongs to it.

    The two are alike: requests on one go out on the other, in the same order. So nothing is shared between
    connections, and the endpoint sees as many as the agent makes.
    """

    def __init__(self, passage: Passage, agent: Peer) -> None:
        self._passage = passage
        self._agent = agent
        self._line: Peer | None = None
        self._line_leads_to: Endpoint | None = None

    async def serve(self) -> None:
        """Pass on whatever the agent sends, until one side closes its connection or the task is cancelled."""
        try:
            while await self._next_exchange():
                pass
        except Cut as cut:
            await self._turn_down(cut)
        except OSError:
            pass  # The agent has gone; what was under way is recorded.
        except asyncio.CancelledError:
            self._agent.abort()
            raise
        finally:
            if self._line is not None:
                self._line.abort()
            self._agent.close()

    async def _next_exchange(self) -> bool:
        """Pass one request and its response; ``False`` when the connection has no further use.

        Raises:
            Cut: the agent broke off, or does not speak HTTP.
            OSError: the agent has gone.
        """
        request = await self._agent.next()
        if not isinstance(request, h11.Request):
            return False
        method, target = request.method.decode(), request.target.decode("latin-1")
        inner = self._passage.inside(target)
        path = (inner or target).partition("?")[0]
        dialect = dialect_of(method, path)
        exchange = self._passage.ledger.open(method, path, dialect)
        try:
            if inner is None:
                exchange.refuse(REFUSED)
                return await self._answer(exchange, 401, dialect)
            return await self._pass(request, inner, dialect, exchange)
        except asyncio.CancelledError as cancelled:
            exchange.error = str(cancelled)
            raise
        except (Cut, OSError) as error:
            exchange.error = f"the agent broke off: {error}"
            raise
        except h11.LocalProtocolError as error:
            exchange.error = f"cannot be passed on: {error}"
            return False
        finally:
            self._passage.ledger.end(exchange)

    async def _pass(self, request: h11.Request, path: str, dialect: Dialect | None, exchange: Exchange) -> bool:
        endpoint = self._passage.leads_to(path)
        try:
            line = await self._connected(endpoint)
        except OSError as error:
            exchange.not_sent(f"{endpoint.host} cannot be reached: {error}")
            return await self._answer(exchange, 502, dialect)
        sending = asyncio.create_task(
            self._send(self._head(request, path, dialect, endpoint), line, exchange, endpoint)
        )
        try:
            await self._return(line, exchange)
        except Cut as cut:
            exchange.error = exchange.error or f"{endpoint.host} broke off: {cut}"
            return False
        finally:
            sending.cancel()
        line.begin_again()
        return self._agent.begin_again()

    async def _connected(self, endpoint: Endpoint) -> Peer:
        if self._line is None or not self._line.idle or self._line_leads_to is not endpoint:
            if self._line is not None:
                self._line.abort()
            self._line, self._line_leads_to = await endpoint.connect(), endpoint
        return self._line

    def _head(self, request: h11.Request, path: str, dialect: Dialect | None, endpoint: Endpoint) -> h11.Request:
        sent = request.headers.raw_items()
        headers = heads.request_headers(sent, endpoint.host) + endpoint.proxy_headers
        headers += heads.key_headers(sent, dialect, self._passage.route)
        return h11.Request(method=request.method, target=endpoint.target(path), headers=headers)

    async def _send(self, head: h11.Request, line: Peer, exchange: Exchange, endpoint: Endpoint) -> None:
        """Send a request on. How that fails shows in the response, for which somebody waits meanwhile."""
        try:
            if self._passage.signer is None:
                line.put(head)
                await self._agent.pass_body(line, exchange.see_request)
            else:
                await self._send_signed(self._passage.signer, head, line, exchange, endpoint)
            exchange.request_ended()
        except Cut as cut:
            exchange.error = f"the agent broke off: {cut}"
            line.abort()
        except OSError:
            pass

    async def _send_signed(
        self, signer: Signer, head: h11.Request, line: Peer, exchange: Exchange, endpoint: Endpoint
    ) -> None:
        body = await self._agent.body()
        exchange.see_request(body)
        headers = head.headers.raw_items()
        url = endpoint.url_of(head.target.decode("latin-1"))
        headers += signer.headers(head.method.decode(), url, headers, body)
        line.put(h11.Request(method=head.method, target=head.target, headers=headers))
        if body:
            line.put(h11.Data(data=body))
        line.put(h11.EndOfMessage())
        await line.flush()

    async def _return(self, line: Peer, exchange: Exchange) -> None:
        """Pass a response back.

        Raises:
            Cut: the endpoint broke off.
            OSError: the agent has gone.
        """
        head = await line.next()
        while isinstance(head, h11.InformationalResponse):
            headers = heads.response_headers(head.headers.raw_items())
            self._agent.put(h11.InformationalResponse(status_code=head.status_code, headers=headers))
            await self._agent.flush()
            head = await line.next()
        if not isinstance(head, h11.Response):
            raise Cut("the connection was closed before a response came")
        headers = head.headers.raw_items()
        exchange.response_began(head.status_code, headers)
        passed = heads.response_headers(headers)
        self._agent.put(h11.Response(status_code=head.status_code, headers=passed, reason=head.reason))
        await line.pass_body(self._agent, exchange.see_response)
        exchange.response_ended()

    async def _answer(self, exchange: Exchange, status: int, dialect: Dialect | None) -> bool:
        """Answer in the endpoint's place; return whether the connection can be used again."""
        exchange.see_request(await self._agent.body())
        exchange.request_ended()
        await self._say(status, error_body(dialect, status, exchange.error))
        return self._agent.begin_again()

    async def _turn_down(self, cut: Cut) -> None:
        """Answer to what is no HTTP, if the agent can still hear it."""
        if self._agent.can_answer:
            with suppress(OSError):
                await self._say(cut.status, error_body(None, cut.status, str(cut)))

    async def _say(self, status: int, body: bytes) -> None:
        headers = [(b"Content-Type", b"application/json"), (b"Content-Length", str(len(body)).encode())]
        self._agent.put(h11.Response(status_code=status, headers=headers))
        self._agent.put(h11.Data(data=body))
        self._agent.put(h11.EndOfMessage())
        await self._agent.flush()
