"""Sends a performance over one connection, at its pace and to its ending, and keeps the ledger."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
from starlette.types import Receive, Scope, Send

from swetrials.rehearsal.faults import Ending, Performance
from swetrials.rehearsal.ledger import Entry

CUT_AFTER_SECONDS = 0.2
"""Between the last frame and the cut. Claude Code drops what it has not read yet when a connection breaks."""


@dataclass(frozen=True)
class Delivery:
    """An ASGI response. ``hang_up`` closes the connection of the client with the given address."""

    performance: Performance
    entry: Entry
    hang_up: Callable[[object], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the performance; a client that goes, or a server that stops, ends it wherever it is."""
        async with anyio.create_task_group() as group:

            async def leave_with_the_client() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(leave_with_the_client)
            await self._play(scope, send)
            group.cancel_scope.cancel()

    async def _play(self, scope: Scope, send: Send) -> None:
        for frame in self.performance.frames:
            if self.performance.seconds_per_token:
                await anyio.sleep(frame.output_tokens * self.performance.seconds_per_token)
            if self.entry.status is None:
                await self._start(send)
            await send({"type": "http.response.body", "body": frame.data, "more_body": True})
            self.entry.sent(frame.output_tokens)
        match self.performance.ending:
            case Ending.FINISH:
                self.entry.finish()
                await send({"type": "http.response.body", "body": b""})
            case Ending.BREAK_OFF:
                await send({"type": "http.response.body", "body": b""})
            case Ending.CUT:
                await anyio.sleep(CUT_AFTER_SECONDS)
                self.hang_up(scope["client"])
                await anyio.sleep_forever()
            case Ending.HANG:
                await anyio.sleep_forever()

    async def _start(self, send: Send) -> None:
        headers = [("content-type", self.performance.media_type), *self.performance.headers]
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": self.performance.status, "headers": encoded})
        self.entry.start(self.performance.status)
