"""One end of an HTTP/1.1 connection: h11 has the protocol, asyncio the bytes."""

import asyncio
from collections.abc import Callable

import h11

READ_BYTES = 64 * 1024
LONGEST_HEAD_BYTES = 128 * 1024

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Cut(Exception):
    """The other side broke the connection or the protocol; ``status`` is what a server would answer to that."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Peer:
    """Reads and writes HTTP events. What is put waits for ``flush``, so that what came together goes together."""

    def __init__(self, role: type[h11.CLIENT] | type[h11.SERVER], streams: Streams) -> None:
        """Take a connection, and the role that the meter has in it."""
        self._http = h11.Connection(role, max_incomplete_event_size=LONGEST_HEAD_BYTES)
        self._reader, self._writer = streams
        self._unsent = bytearray()

    async def next(self) -> h11.Event:
        """Return the next event.

        Raises:
            Cut: the other side broke off.
        """
        while (event := self._event()) is None:
            await self._receive()
        return event

    async def body(self) -> bytes:
        """Return the whole body of the message that has begun.

        Raises:
            Cut: the other side broke off.
        """
        data = bytearray()
        while isinstance(event := await self.next(), h11.Data):
            data += event.data
        return bytes(data)

    async def pass_body(self, target: "Peer", see: Callable[[bytes], None]) -> None:
        """Pass the body of the message that has begun on to another peer, as it comes, up to and with its end.

        No more is read before the target has taken what was read last.

        Args:
            target: where it goes.
            see: called with each piece.

        Raises:
            Cut: this side broke off.
            OSError: the target's connection is closed.
        """
        while True:
            data, after = self._body_so_far()
            if data:
                target.put(h11.Data(data=data))
                see(data)
            if isinstance(after, h11.EndOfMessage):
                target.put(after)
            await target.flush()
            if isinstance(after, Cut):
                raise after
            if after is not None:
                return
            await self._receive()

    def put(self, event: h11.Event) -> None:
        """Take an event to be sent with the next flush."""
        self._unsent += self._http.send(event) or b""

    async def flush(self) -> None:
        """Send what was put; return when the connection takes more.

        Raises:
            OSError: the connection is closed.
        """
        if self._unsent:
            self._writer.write(bytes(self._unsent))
            self._unsent.clear()
            await self._writer.drain()

    def begin_again(self) -> bool:
        """Make ready for the next request; ``False`` when the connection cannot serve one."""
        whole = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if whole:
            self._http.start_next_cycle()
        return whole

    @property
    def idle(self) -> bool:
        """Whether a request can be sent now: none is under way, and the other side has not hung up."""
        alive = not (self._reader.at_eof() or self._reader.exception() or self._writer.is_closing())
        return alive and self._http.our_state is h11.IDLE

    @property
    def can_answer(self) -> bool:
        """Whether a response's head may be sent now."""
        return self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}

    def close(self) -> None:
        """Close the connection after what was sent."""
        self._writer.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    def _body_so_far(self) -> tuple[bytes, h11.Event | Cut | None]:
        """Return what has come of a body, in one piece, and what stands behind it: its end, a cut, or nothing yet.

        An agent's events are many and short: passed on one by one they would cost more than they are worth.
        """
        pieces: list[bytes] = []
        try:
            while isinstance(event := self._event(), h11.Data):
                pieces.append(event.data)
        except Cut as cut:
            return b"".join(pieces), cut
        return b"".join(pieces), event

    def _event(self) -> h11.Event | None:
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise Cut(str(error), error.error_status_hint) from None
        return None if isinstance(event, type) else event

    async def _receive(self) -> None:
        try:
            data = await self._reader.read(READ_BYTES)
        except OSError as error:
            raise Cut(str(error)) from None
        self._http.receive_data(data)
