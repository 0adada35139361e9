"""One end of an HTTP/1.1 connection."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from swetrials.wire.meter.messages import (
    LONGEST_HEAD_BYTES,
    Cut,
    Head,
    Incoming,
    IncomingBytes,
    RequestHead,
    ResponseHead,
    is_chunked,
)

UNSENT_BYTES = 1024 * 1024
"""How much may wait to be sent on a connection before no more is read for it."""

JOINED_BYTES = 64 * 1024
"""Up to here a copy costs less than a further call of the system."""

RUN_OUT_SECONDS = 1.0
"""How long an answered agent may go on with a request that nobody reads any more."""


class Peer(asyncio.Protocol):
    """Reads one message after the other, and writes.

    Bodies pass in the very callback in which their bytes come: a task that had to be woken for each piece took
    several times as long. What is put waits for ``flush``, so that what came together goes together.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._message: Incoming[Any] | None = None
        self._early = bytearray()
        self._lost = ""
        self._broken = False
        self._unsent: list[bytes] = []
        self._chunked = False
        self._full = False
        self._source: Peer | None = None
        self._changed: Callable[[], None] = _nothing

    async def head_of(self, message: Incoming[Head]) -> Head:
        """Return the next head of a message, and begin with the message if it is not the one that is being read.

        Raises:
            Cut: the other side broke off.
        """
        if message is not self._message:
            self._begin(message)
        await self._until(lambda: bool(message.heads))
        return message.heads.popleft()

    async def read_body(self, see: Callable[[bytes], None]) -> None:
        """Read the body of the message that is being read up to its end; ``see`` is called with each piece.

        Raises:
            Cut: the other side broke off.
        """
        message = self._reading

        def read_on() -> bool:
            if data := message.take():
                see(data)
            return message.ended

        self._transport.resume_reading()
        await self._until(read_on)

    async def run_out(self) -> None:
        """Pass over the rest of the message that is being read, for a moment.

        To close a connection on bytes that nobody read resets it, and what was sent last can be lost on its way.
        """
        if not self._transport.is_closing():
            with suppress(Cut, TimeoutError):
                async with asyncio.timeout(RUN_OUT_SECONDS):
                    await self.read_body(_pass_over)

    def pass_body(self, target: "Peer", see: Callable[[bytes], None]) -> asyncio.Future[None]:
        """Pass the body of the message that is being read on to another peer, as it comes, up to and with its end.

        What has come already has been passed on when this returns. No more is read while the target has much to send.

        Args:
            target: where it goes.
            see: called with each piece after it was passed on.

        Returns:
            What is done when the body was passed on whole, or fails with ``Cut`` when this side broke off.
        """
        message = self._reading

        def pass_on() -> bool:
            if data := message.take():
                target.put(data)
            if message.ended:
                target.end()
                target._take_from(None)
            target.flush()
            if data:
                see(data)
            return message.ended

        target._take_from(self)
        return self._until(pass_on)

    def pass_bytes(self, target: "Peer", see: Callable[[bytes], None], early: bytes = b"") -> asyncio.Future[None]:
        """Pass whatever comes from now on to another peer, as ``pass_body`` does, behind what came early."""
        message = IncomingBytes()
        if early:
            message.feed(early)
        self._begin(message)
        return self.pass_body(target, see)

    def send(self, head: RequestHead | ResponseHead, body: bytes = b"") -> None:
        """Send a whole message."""
        self.start(head)
        if body:
            self.put(body)
        self.end()
        self.flush()

    def start(self, head: RequestHead | ResponseHead, *, bodiless: bool = False) -> None:
        """Begin a message, whose body is framed as its head says; ``bodiless`` when it has none whatever that says."""
        self._unsent.append(head.encode())
        self._chunked = is_chunked(head.headers) and not bodiless

    def put(self, data: bytes) -> None:
        """Take a piece of the body to be sent with the next flush; it is not empty."""
        self._unsent += (b"%x\r\n" % len(data), data, b"\r\n") if self._chunked else (data,)

    def end(self) -> None:
        """Take the end of the body to be sent with the next flush."""
        if self._chunked:
            self._unsent.append(b"0\r\n\r\n")

    def flush(self) -> None:
        """Send what was put, unless the connection is closed."""
        pieces, self._unsent = self._unsent, []
        if self._transport.is_closing():
            return
        if len(pieces) > 1 and sum(map(len, pieces)) < JOINED_BYTES:
            pieces = [b"".join(pieces)]
        for piece in pieces:
            self._transport.write(piece)

    @property
    def open(self) -> bool:
        """Whether another message can pass: nothing came unasked, and nobody has hung up."""
        return not (self._lost or self._early or self._transport.is_closing())

    def close(self) -> None:
        """Close the connection after what was sent."""
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    async def start_tls(self, context: ssl.SSLContext, host: str | None) -> None:
        """Go on over TLS.

        Raises:
            OSError: the other side does not.
        """
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(self._transport, self, context, server_hostname=host)
        if transport is None:
            raise ConnectionError("the connection was closed before TLS stood")
        self.connection_made(transport)

    # What follows is called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take in the connection."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(UNSENT_BYTES)

    def data_received(self, data: bytes) -> None:
        """Take in bytes."""
        if self._message is None or self._message.ended:
            self._early += data
            if len(self._early) > LONGEST_HEAD_BYTES:
                self._transport.pause_reading()
        else:
            self._message.feed(data)
            self._changed()

    def eof_received(self) -> None:
        """Take in that the other side sends no more, which closes the connection: nobody waits there for the rest."""
        self._hung_up("the connection was closed", broken=False)

    def connection_lost(self, error: Exception | None) -> None:
        """Take in that the connection is no more."""
        self._hung_up(str(error or "the connection was closed"), broken=True)

    def pause_writing(self) -> None:
        """Read no more for a connection that has much to send."""
        self._full = True
        self._take_from(self._source)

    def resume_writing(self) -> None:
        """Read on."""
        self._full = False
        self._take_from(self._source)

    def _take_from(self, source: "Peer | None") -> None:
        if self._source is not None:
            self._source._transport.resume_reading()
        self._source = source
        if source is not None:
            if self._full:
                source._transport.pause_reading()
            else:
                source._transport.resume_reading()

    def _hung_up(self, why: str, *, broken: bool) -> None:
        if not self._lost:
            self._lost, self._broken = why, broken
            if self._message is not None:
                self._message.hung_up(why, broken=broken)
            self._changed()

    @property
    def _reading(self) -> Incoming[Any]:
        assert self._message is not None, "no message is being read"
        return self._message

    def _begin(self, message: Incoming[Any]) -> None:
        self._message = message
        early, self._early = bytes(self._early), bytearray()
        if early:
            message.feed(early)
            self._transport.resume_reading()
        if self._lost:
            message.hung_up(self._lost, broken=self._broken)

    def _until(self, satisfied: Callable[[], bool]) -> asyncio.Future[None]:
        """Return what is done when the message satisfies; that is asked now and whenever something has come.

        Once it is done, little more of the body is read before somebody waits for it.
        """
        message = self._reading
        done = asyncio.get_running_loop().create_future()

        def look() -> None:
            if done.done():
                if message.untaken_bytes > UNSENT_BYTES:
                    self._transport.pause_reading()
            elif satisfied():
                done.set_result(None)
            elif message.cut is not None:
                done.set_exception(message.cut)

        self._changed = look
        look()
        return done


def _nothing() -> None:
    pass


def _pass_over(_: bytes) -> None:
    pass
