"""Guards for the rehearsal server: bearer tokens, and AWS signatures that botocore's own signer makes again."""

import hashlib
import re
from collections.abc import Collection, Mapping

from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from starlette.requests import Request

from swetrials.rehearsal.access import AccessDenied, Guard

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/\d{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, *"
    r"SignedHeaders=(?P<headers>[^,]+), *Signature=(?P<signature>[0-9a-f]{64})"
)


def bearing(tokens: Collection[str]) -> Guard:
    """Return a guard that lets in who bears one of the tokens."""

    def check(request: Request, body: bytes) -> None:
        if request.headers.get("authorization", "").removeprefix("Bearer ") not in tokens:
            raise AccessDenied("The bearer token is not valid.")

    return check


def unsigned(request: Request, body: bytes) -> None:
    """Let in who shows no credentials at all."""
    if {"authorization", "x-api-key", "x-amz-security-token"} & set(request.headers):
        raise AccessDenied("credentials where none are wanted")


def signed_by(
    secrets: Mapping[str, str], region: str, session_token: str | None = None, service: str = "bedrock"
) -> Guard:
    """Return a guard that lets in who signs with one of the keys: access key id -> secret key."""

    def check(request: Request, body: bytes) -> None:
        told = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
        if told is None:
            raise AccessDenied("Missing Authentication Token")
        if told["key"] not in secrets or request.headers.get("x-amz-security-token") != session_token:
            raise AccessDenied("The security token included in the request is invalid.")
        if (told["region"], told["service"]) != (region, service):
            raise AccessDenied(f"Credential should be scoped to {region}/{service}.")
        if told["signature"] != _signature(request, body, told, secrets[told["key"]]):
            raise AccessDenied("The request signature we calculated does not match the signature you provided.")

    return check


def _signature(request: Request, body: bytes, told: re.Match[str], secret: str) -> str:
    # The path as it was sent: the signer encodes it once more, as AWS does for every service but S3.
    query = request.scope["query_string"].decode()
    url = f"http://{request.headers['host']}{request.scope['raw_path'].decode()}" + (f"?{query}" if query else "")
    headers = {name: request.headers[name] for name in told["headers"].split(";")}
    if "x-amz-content-sha256" in headers:
        headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
    again = AWSRequest(method=request.method, url=url, data=body, headers=headers)
    again.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(told["key"], secret), told["service"], told["region"])
    return str(signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again))
