"""Signing requests to AWS anew (SigV4): the agent has no keys, the meter has the user's own."""

import importlib.util
from collections.abc import Mapping

from swetrials.wire.meter.messages import Headers, find
from swetrials.wire.route import AwsCredentials

SERVICE = "bedrock"


class CannotSign(Exception):
    """The route has AWS keys, but something that signing needs is missing; the message says what mends it."""


class Signer:
    """Signs with botocore, which comes with the extra ``aws``."""

    def __init__(self, credentials: AwsCredentials, region: str | None) -> None:
        """Take the keys and the region that the signature names.

        Raises:
            CannotSign: botocore is not installed, or no region is known.
        """
        if importlib.util.find_spec("botocore") is None:
            raise CannotSign("signing requests to AWS needs botocore: install the extra 'aws', or set a bearer token")
        if region is None:
            raise CannotSign("signing requests to AWS needs a region: set aws_region, or AWS_REGION")
        from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
        from botocore.credentials import Credentials  # type: ignore[import-untyped]

        token = credentials.session_token
        keys = Credentials(
            credentials.access_key,
            credentials.secret_key.get_secret_value(),
            token.get_secret_value() if token is not None else None,
        )
        self._auth = SigV4Auth(keys, SERVICE, region)

    def headers(self, method: str, url: str, sent: Headers, body: bytes) -> Headers:
        """Return the headers that prove who sends a request.

        Args:
            method: of HTTP.
            url: whole; the path exactly as it is sent, for what is percent-encoded there is encoded once more
                in what is signed.
            sent: the other headers; host and content type become part of the signature.
            body: exactly as it is sent.
        """
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]

        signed = {name: value for name in ("Host", "Content-Type") if (value := find(sent, name.lower().encode()))}
        request = AWSRequest(method, url, headers=signed, data=body)
        self._auth.add_auth(request)
        added: Mapping[str, str] = {name: value for name, value in request.headers.items() if name not in signed}
        return [(name.encode(), value.encode()) for name, value in added.items()]
