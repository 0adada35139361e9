"""The heads of messages as they go on: the way's own headers taken out, the agent's key replaced."""

import time
from collections.abc import Container, Iterable, Sequence
from email.utils import parsedate_to_datetime

from swetrials.wire.route import Dialect, Route

Headers = Sequence[tuple[bytes, bytes]]

DECODABLE = ("gzip", "deflate", "identity")
"""The content encodings in which a response can be counted."""

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
"""What concerns one connection alone (RFC 9110, 7.6.1). ``Transfer-Encoding`` stays, for h11 frames by it."""

_KEYS = frozenset({b"x-api-key", b"authorization"})
_SIGNATURE = frozenset({b"x-amz-date", b"x-amz-security-token", b"x-amz-content-sha256"})


def find(headers: Headers, name: bytes) -> str:
    """Return the value of a header, the empty text where there is none."""
    return b", ".join(value for key, value in headers if key.lower() == name).decode("latin-1")


def retry_after_seconds(headers: Headers) -> float | None:
    """Return how long a response asks to be left alone: ``retry-after`` in seconds, or until a date (RFC 9110)."""
    said = find(headers, b"retry-after").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        until = parsedate_to_datetime(said)
    except ValueError:
        return None
    return max(0.0, until.timestamp() - time.time())


def response_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return a response's headers as they go on to the agent."""
    return _without(headers, _HOP_BY_HOP | _named_by_connection(headers))


def request_headers(headers: Headers, host: str) -> list[tuple[bytes, bytes]]:
    """Return a request's headers as they go on to the endpoint, but for what proves who sends it.

    ``Accept-Encoding`` is narrowed to what the meter can read; what is left out of it is never sent.
    """
    dropped = _HOP_BY_HOP | _named_by_connection(headers) | _KEYS | _SIGNATURE | {b"host", b"accept-encoding"}
    kept = [(b"Host", host.encode()), *_without(headers, dropped)]
    if accepted := find(headers, b"accept-encoding"):
        offers = [offer.strip() for offer in accepted.split(",")]
        readable = [offer for offer in offers if offer.partition(";")[0].strip().lower() in DECODABLE]
        kept.append((b"Accept-Encoding", ", ".join(readable or ["identity"]).encode()))
    return kept


def key_headers(headers: Headers, dialect: Dialect | None, route: Route) -> list[tuple[bytes, bytes]]:
    """Return the route's key in the header in which the agent sent its own, else in the dialect's."""
    key = route.api_key.get_secret_value()
    if not key:
        return []
    names = {name.lower() for name, _ in headers}
    if b"x-api-key" in names or (b"authorization" not in names and dialect == "anthropic"):
        return [(b"x-api-key", key.encode())]
    return [(b"Authorization", b"Bearer " + key.encode())]


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    listed = find(headers, b"connection").lower().encode("latin-1")
    return frozenset(name.strip() for name in listed.split(b",")) - {b"transfer-encoding", b"content-length"}


def _without(headers: Iterable[tuple[bytes, bytes]], names: Container[bytes]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() not in names]
