"""Where a meter is reached: the sockets that it serves, and the connections that are open on them."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

from swetrials.wire.meter.peer import Peer

HOST = "127.0.0.1"

_open_ports: set[int] = set()
# Those of loopback that meters of this process listen on now.

Serve = Callable[[Peer], Awaitable[None]]
"""Passes on what comes on one connection, until that ends or the task is cancelled; it closes the connection."""


def open_meters() -> tuple[tuple[str, int], ...]:
    """Return host and port of every meter of this process that listens on the machine's own loopback now."""
    return tuple((HOST, port) for port in sorted(_open_ports))


class MeterListener:
    """Serves connections on sockets of its own, or on such that were made elsewhere, until it is closed."""

    def __init__(self, serve: Serve) -> None:
        self._connections = _Connections(serve)
        self._servers: list[asyncio.Server] = []
        self._ports: set[int] = set()

    async def listen(self) -> int:
        """Listen on a free port of loopback, and return it.

        Raises:
            OSError: there is no listening.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._connection, HOST, 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        self._ports.add(port)
        _open_ports.add(port)
        return port

    async def serve(self, listening: socket.socket) -> None:
        """Serve a socket that listens already, and may do so in a network namespace of which this process has no part.

        The socket is the listener's from then on: it is closed with the listener, or at once where it cannot be
        served. Connections that waited on it are served, too.

        Raises:
            OSError: the listener was closed before.
        """
        if self._connections.closed:
            listening.close()
            raise ConnectionError("the attempt's meter is closed, and serves no further socket")
        listening.set_inheritable(False)  # Descriptors that came by a socket are inherited otherwise.
        try:
            server = await asyncio.get_running_loop().create_server(self._connection, sock=listening)
        except BaseException:
            listening.close()
            raise
        self._servers.append(server)

    async def close(self) -> None:
        """Listen no more, cut every connection, and wait until what passed on it is recorded."""
        _open_ports.difference_update(self._ports)
        for server in self._servers:
            server.close()
        await self._connections.close()

    def _connection(self) -> "_Connection":
        return _Connection(self._connections)


class _Connections:
    """The connections that are open."""

    def __init__(self, serve: Serve) -> None:
        self.closed = False
        self._serve = serve
        self._open: set[Peer] = set()
        self._tasks: set[asyncio.Future[None]] = set()

    def serve(self, agent: Peer) -> "asyncio.Future[None] | None":
        """Begin to pass on what comes on a connection; ``None`` for one that was accepted too late for that."""
        if self.closed:
            agent.abort()
            return None
        self._open.add(agent)
        task = asyncio.ensure_future(self._serve(agent))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def lost(self, agent: Peer) -> None:
        """Forget a connection that is no more."""
        self._open.discard(agent)

    async def close(self) -> None:
        """Cut every connection and wait until what passed on it is recorded."""
        self.closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel("the attempt ended")
        await asyncio.gather(*tasks, return_exceptions=True)
        # Not every connection has a task that closes it: some still send what is left, and some had only just come.
        for agent in self._open:
            agent.abort()


class _Connection(Peer):
    """A connection of the agent, whose end stops what is under way at once."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections
        self._serving: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to pass on what comes."""
        super().connection_made(transport)
        self._serving = self._connections.serve(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Stop what is under way."""
        super().connection_lost(error)
        self._connections.lost(self)
        if self._serving is not None:
            self._serving.cancel("the agent closed the connection")
