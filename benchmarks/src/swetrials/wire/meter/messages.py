"""Messages of HTTP/1.1 as they come in: llhttp, by way of httptools, has the protocol."""

from collections import deque
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import httptools

Headers = list[tuple[bytes, bytes]]

LONGEST_HEAD_BYTES = 128 * 1024


class Cut(Exception):
    """The other side broke the connection or the protocol; ``status`` is what a server would answer to that."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RequestHead:
    """What stands before a request's body; ``version`` is 1.0 or 1.1."""

    method: bytes
    target: bytes
    headers: Headers
    version: str = "1.1"

    def encode(self) -> bytes:
        """Return it as it is sent."""
        version = self.version.encode()
        return b"%b %b HTTP/%b\r\n%b\r\n" % (self.method, self.target, version, _lines(self.headers))


@dataclass(frozen=True)
class ResponseHead:
    """What stands before a response's body, or an informational response (1xx), which has none."""

    status: int
    reason: bytes
    headers: Headers

    def encode(self) -> bytes:
        """Return it as it is sent."""
        return b"HTTP/1.1 %d %b\r\n%b\r\n" % (self.status, self.reason, _lines(self.headers))


Head = TypeVar("Head", RequestHead, ResponseHead)


class Incoming(Generic[Head]):
    """One message: its heads, what has come of its body, and whether it is whole.

    The parser serves one message. ``surplus`` tells that something came behind it in the same piece of bytes, which
    is lost; a connection like that has no further use.
    """

    def __init__(self, parser: type[httptools.HttpRequestParser] | type[httptools.HttpResponseParser]) -> None:
        self.heads: deque[Head] = deque()
        self.ended = self.reusable = self.surplus = False
        self.cut: Cut | None = None
        self._parser = parser(self)
        self._headers: Headers = []
        self._body: list[bytes] = []
        self._in_head = True
        self._head_bytes = 0

    def feed(self, data: bytes) -> None:
        """Take in the next bytes, cut anywhere; what is wrong with them shows in ``cut``."""
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._keep_protocol(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if not self.ended:
                self.cut = Cut(str(error))
        if self._in_head and self._head_bytes > LONGEST_HEAD_BYTES:
            self.cut = Cut(f"a head is longer than {LONGEST_HEAD_BYTES} bytes", 431)

    def _keep_protocol(self, rest: bytes) -> None:
        """Go on behind a head that changes the protocol, where the parser stops."""
        self.heads.clear()
        self.ended, self.cut = False, Cut("a change of the protocol (Upgrade) is not passed on", 501)

    def hung_up(self, why: str, *, broken: bool) -> None:
        """Take in that nothing more comes, and whether the connection broke or was closed in an orderly way."""
        if not self.ended:
            self.cut = self.cut or Cut(why)

    @property
    def untaken_bytes(self) -> int:
        """How much of the body waits to be taken."""
        return sum(map(len, self._body))

    def take(self) -> bytes:
        """Return what has come of the body and was not taken yet."""
        body, self._body = self._body, []
        return body[0] if len(body) == 1 else b"".join(body)

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        """Stop at a further message: the error that this raises is the parser's to hand on."""
        if self.ended:
            self.surplus = True
            raise ValueError("a further message")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header; those behind a chunked body are passed over."""
        if self._in_head:
            self._headers.append((name, value))

    def on_body(self, data: bytes) -> None:
        """Take in a piece of the body, without its framing."""
        self._body.append(data)

    def on_message_complete(self) -> None:
        """Take in the end of the message."""
        self.reusable = self._parser.should_keep_alive()
        self.ended = True


class IncomingRequest(Incoming[RequestHead]):
    """A request; ``rest`` is what came behind one for a tunnel in the same piece, and goes into it."""

    def __init__(self) -> None:
        super().__init__(httptools.HttpRequestParser)
        self._target = b""
        self.rest = b""

    def on_url(self, data: bytes) -> None:
        """Take in a piece of the target."""
        self._target += data

    def on_headers_complete(self) -> None:
        """Take in that the head is whole."""
        assert isinstance(self._parser, httptools.HttpRequestParser)
        self._in_head = False
        version = self._parser.get_http_version()
        self.heads.append(RequestHead(self._parser.get_method(), self._target, self._headers, version))

    def _keep_protocol(self, rest: bytes) -> None:
        """Read an offer to change the protocol as if it were not made, as a server may (RFC 9110, 7.8)."""
        if self.heads[-1].method == b"CONNECT":
            self.rest = rest
            return
        head = self.heads.pop()
        self.ended = self.reusable = False
        self._in_head = True
        self._target, self._headers = b"", []
        self._parser = httptools.HttpRequestParser(self)
        kept = [(name, value) for name, value in head.headers if name.lower() != b"upgrade"]
        self.feed(replace(head, headers=kept).encode() + rest)


class IncomingBytes(Incoming[RequestHead]):
    """What comes in a tunnel, which is nothing but bytes up to the end of the connection."""

    def __init__(self) -> None:
        super().__init__(httptools.HttpRequestParser)
        self._in_head = False

    def feed(self, data: bytes) -> None:
        """Take in the next bytes."""
        self._body.append(data)

    def hung_up(self, why: str, *, broken: bool) -> None:
        """Take in that nothing more comes; an orderly close is the end."""
        if broken:
            super().hung_up(why, broken=broken)
        else:
            self.ended = True


class IncomingResponse(Incoming[ResponseHead]):
    """A response, and the informational ones before it; ``bodiless`` when the request allows it no body (HEAD)."""

    def __init__(self, *, bodiless: bool) -> None:
        super().__init__(httptools.HttpResponseParser)
        # Some gateways state a length beside chunks; the chunks count then (RFC 9112, 6.3), as they do for agents.
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True)
        self._bodiless = bodiless
        self._reason = b""

    def on_status(self, data: bytes) -> None:
        """Take in a piece of the reason that follows the status."""
        self._reason += data

    def on_headers_complete(self) -> None:
        """Take in that a head is whole."""
        assert isinstance(self._parser, httptools.HttpResponseParser)
        status = self._parser.get_status_code()
        self.heads.append(ResponseHead(status, self._reason, self._headers))
        if status < 200:
            self._reason, self._headers, self._head_bytes = b"", [], 0
            return
        self._in_head = False
        if self._bodiless:
            super().on_message_complete()

    def on_body(self, data: bytes) -> None:
        """Take in a piece of the body, which a response to HEAD has not."""
        if not self._bodiless:
            super().on_body(data)

    def on_message_complete(self) -> None:
        """Take in the end of the response, or of an informational one, behind which a further head comes."""
        if not self._in_head:
            super().on_message_complete()

    def hung_up(self, why: str, *, broken: bool) -> None:
        """Take in that nothing more comes; an orderly close ends a body that has no length."""
        if broken or self._in_head or is_framed(self._headers):
            super().hung_up(why, broken=broken)
        elif self.cut is None:
            self.ended = True


def find(headers: Headers, name: bytes) -> str:
    """Return the value of a header, whose name is given in lower case; the empty text where there is none."""
    return b", ".join([value for key, value in headers if key.lower() == name]).decode("latin-1")


def is_chunked(headers: Headers) -> bool:
    """Return whether chunked encoding is the last thing that was done to a body (RFC 9112, 6.3)."""
    return find(headers, b"transfer-encoding").rpartition(",")[2].strip().lower() == "chunked"


def is_framed(headers: Headers) -> bool:
    """Return whether the end of a body can be told without the end of the connection."""
    return is_chunked(headers) or find(headers, b"content-length") != ""


def _lines(headers: Headers) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
