"""The heads of messages as they go on: the way's own headers taken out, the agent's key replaced."""

import time
from collections.abc import Container
from dataclasses import replace
from email.utils import parsedate_to_datetime

from swetrials.wire.meter.decoding import DECODABLE
from swetrials.wire.meter.messages import Headers, RequestHead, ResponseHead, find, is_chunked, is_framed
from swetrials.wire.route import Dialect, Route

_HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"upgrade",
    }
)
"""What concerns one connection alone (RFC 9110, 7.6.1); ``Transfer-Encoding`` stays, for bodies keep their framing."""

_FRAMING = frozenset({b"transfer-encoding", b"content-length"})
_KEYS = frozenset({b"x-api-key", b"authorization"})
_SIGNATURE = frozenset({b"x-amz-date", b"x-amz-security-token", b"x-amz-content-sha256"})


def retry_after_seconds(headers: Headers) -> float | None:
    """Return how long a response asks to be left alone: ``retry-after`` in seconds, or until a date (RFC 9110)."""
    said = find(headers, b"retry-after").strip()
    if not said:
        return None
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        until = parsedate_to_datetime(said).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, until - time.time())


def informational(head: ResponseHead) -> ResponseHead:
    """Return an informational response as it goes on to the agent."""
    return replace(head, headers=_kept(head.headers))


def response(head: ResponseHead, request: RequestHead, *, closes: bool) -> ResponseHead:
    """Return a response's head as it goes on to the agent.

    A body that ends with the connection gets chunks instead, so that the agent can tell its end from a cut; agents
    that speak HTTP/1.0 do not know chunks. ``closes`` is whether the agent's connection ends with the response.
    """
    headers = _kept(head.headers)
    if request.version == "1.0":
        headers = _without(headers, {b"transfer-encoding"})
    elif is_chunked(headers):
        headers = _without(headers, {b"content-length"})
    elif has_body(head, request) and not is_framed(headers):
        headers.append((b"Transfer-Encoding", b"chunked"))
    if closes:
        headers.append((b"Connection", b"close"))
    return replace(head, headers=headers)


def has_body(head: ResponseHead, request: RequestHead) -> bool:
    """Return whether a response has a body, were it empty (RFC 9110, 6.4.1)."""
    return request.method != b"HEAD" and head.status not in {204, 304}


def request_headers(headers: Headers, host: str) -> Headers:
    """Return a request's headers as they go on to the endpoint, but for what proves who sends it.

    ``Accept-Encoding`` is narrowed to what the meter can read; what is left out of it is never sent.
    """
    kept = [(b"Host", host.encode()), *_kept(headers, _KEYS | _SIGNATURE | {b"host", b"accept-encoding"})]
    if accepted := find(headers, b"accept-encoding"):
        offers = [offer.strip() for offer in accepted.split(",")]
        readable = [offer for offer in offers if offer.partition(";")[0].strip().lower() in DECODABLE]
        kept.append((b"Accept-Encoding", ", ".join(readable or ["identity"]).encode()))
    return kept


def forwarded_headers(headers: Headers, host: str) -> Headers:
    """Return a request's headers as a proxy passes them on to a host."""
    return [(b"Host", host.encode()), *_kept(headers, frozenset({b"host"}))]


def key_headers(headers: Headers, dialect: Dialect | None, route: Route) -> Headers:
    """Return the route's key in the header in which the agent sent its own, else in the dialect's."""
    key = route.api_key.get_secret_value()
    if not key:
        return []
    names = {name.lower() for name, _ in headers}
    if b"x-api-key" in names or (b"authorization" not in names and dialect == "anthropic"):
        return [(b"x-api-key", key.encode())]
    return [(b"Authorization", b"Bearer " + key.encode())]


def _kept(headers: Headers, dropped: frozenset[bytes] = frozenset()) -> Headers:
    """Leave out what concerns one connection alone, which a ``Connection`` header may name, too, and ``dropped``."""
    named = {name.strip().lower().encode("latin-1") for name in find(headers, b"connection").split(",")}
    return _without(headers, _HOP_BY_HOP | (named - _FRAMING) | dropped)


def _without(headers: Headers, names: Container[bytes]) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in names]
