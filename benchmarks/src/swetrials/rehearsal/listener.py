"""A uvicorn server that lives inside somebody else's event loop."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"


class Listener(uvicorn.Server):
    """Serves one application on loopback; leaves signals and logging to its host, and stops at once."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app, http="h11", lifespan="off", log_config=None, log_level=None, timeout_graceful_shutdown=1
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signal handlers as they are."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; a response under way, a hanging one included, ends with its connection."""
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)

    def hang_up(self, client: object) -> None:
        """Close the connection of the client with the given address, after what was written to it."""
        for connection in list(self.server_state.connections):
            if connection.transport.get_extra_info("peername") == client:
                connection.transport.close()


def bind(port: int) -> socket.socket:
    """Return a listening socket on loopback; port 0 takes any that is free.

    Raises:
        OSError: the port is taken.
    """
    # With the protocol spelt out, asyncio turns Nagle's algorithm off: else a response in pieces waits 40 ms.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise OSError(
            error.errno, f"{HOST}:{port} cannot be listened on: {error.strerror}; choose another port"
        ) from None
    return listening
