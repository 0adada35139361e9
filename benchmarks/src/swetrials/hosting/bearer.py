"""The bearer token that Bedrock's OpenAI-compatible endpoint takes: minted from AWS credentials, or given."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import SecretStr

from swetrials.hosting.process import ServiceError

KEY_VARIABLE = "MANTLE_API_KEY"
"""Environment variable for the token: read from the user's, set in the proxy's, written nowhere."""

TOKEN_LIFETIME = timedelta(hours=12)
"""How long a token is good at most; one that was signed with temporary credentials ends with these."""

EXPIRES_SOON = timedelta(hours=1)
"""What is left of a token when it is time to say so."""


@dataclass(frozen=True)
class Bearer:
    """A token, where it came from, and since when it is known: one that was given may be older than that."""

    token: SecretStr
    source: str
    since: datetime


def obtain(region: str, environment: Mapping[str, str]) -> Bearer:
    """Mint a token where the token generator and AWS credentials are there, else take the one in the environment.

    Credentials are found as boto finds them: in this process's environment, the files in ``~/.aws``, the instance.
    Minting signs on this machine; nothing is sent, so whether the token is accepted shows with the first request.

    Raises:
        ServiceError: there is neither; the message says what was missing.
    """
    try:
        token = _mint(region)
    except _Unavailable as reason:
        given = environment.get(KEY_VARIABLE, "").strip()
        if not given:
            raise ServiceError(
                f"no token for Bedrock: {reason}, and {KEY_VARIABLE} is not set: "
                f"run 'aws configure' or 'aws sso login', or set {KEY_VARIABLE}"
            ) from None
        return Bearer(SecretStr(given), f"{KEY_VARIABLE} of the environment", datetime.now(UTC))
    return Bearer(SecretStr(token), "minted from the AWS credentials", datetime.now(UTC))


def warning(since: datetime, now: datetime) -> str:
    """Return what there is to say about a token's age; nothing while it is young."""
    left = TOKEN_LIFETIME - (now - since)
    if left > EXPIRES_SOON:
        return ""
    restart = "swetrials proxy stop && swetrials proxy start"
    if left <= timedelta(0):
        return f"the token is older than 12 h, which is all that a bearer token is good for: {restart}"
    return f"the token expires in {left.total_seconds() // 60:.0f} min at the latest: {restart}"


class _Unavailable(Exception):
    """Why no token could be minted."""


def _mint(region: str) -> str:
    try:
        generator = importlib.import_module("aws_bedrock_token_generator")
        failures = importlib.import_module("botocore.exceptions")
    except ImportError:
        raise _Unavailable("the token generator is not installed (scripts/uv.sh sync --extra aws)") from None
    try:
        return str(generator.provide_token(region=region))
    except (RuntimeError, ValueError, failures.BotoCoreError) as error:
        raise _Unavailable(str(error).split(". ")[0]) from None
