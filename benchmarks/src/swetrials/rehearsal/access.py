"""Who is asking: the key, bearer token or AWS access key of a request, and whether it may ask at all."""

import re
from collections.abc import Callable

from starlette.requests import Request

_SIGNED_BY = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/,\s]+)/")


class AccessDenied(PermissionError):
    """The credentials of a request are not good; the message says why."""


Guard = Callable[[Request, bytes], None]
"""Looks at a request and its body before they are answered, and raises ``AccessDenied`` where they may not be."""


def anyone(request: Request, body: bytes) -> None:
    """Let everybody in."""


def credential(request: Request) -> str:
    """Return what a request is charged to: an API key, a bearer token, or the access key that signed it."""
    key = request.headers.get("x-api-key")
    if key is not None:
        return key
    authorization = request.headers.get("authorization", "")
    signed = _SIGNED_BY.match(authorization)
    return signed[1] if signed else authorization.removeprefix("Bearer ")
