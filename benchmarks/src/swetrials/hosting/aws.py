"""What an AWS account says: its region, its credentials, who they belong to, and the models it can call.

boto3 is an extra. Without it, credentials come from the environment alone, and nothing is asked of AWS.
"""

import configparser
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from swetrials.errors import KnownError, in_one_line
from swetrials.wire.route import AwsCredentials

BEARER_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"

_INSTALL = "install the aws extra: uv sync --extra aws"
_TIMEOUTS_SECONDS = {"connect_timeout": 5, "read_timeout": 10}


class AwsError(KnownError):
    """AWS could not be asked, or refused (``refused``). The message is one line, ``fix`` what to do about it."""

    def __init__(self, message: str, fix: str = "", *, refused: bool = False) -> None:
        super().__init__(message)
        self.fix = fix
        self.refused = refused


@dataclass(frozen=True)
class Login:
    """What authorises the requests, and where it was found. Neither token nor keys: requests go out bare.

    ``keys`` gives the keys as they are now: temporary ones are renewed when they are about to expire, where their
    source can do that.
    """

    source: str
    bearer: SecretStr | None = None
    keys: Callable[[], AwsCredentials] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Identity:
    """Whose keys they are, as STS tells it."""

    account: str
    name: str


@dataclass(frozen=True)
class Catalogue:
    """What an account can call in one region.

    ``on_demand`` holds the models that are called by their own id, ``by_profile`` those that an inference profile
    must be named for, ``profiles`` the inference profiles; each by id, and profiles by ARN as well.
    """

    on_demand: frozenset[str]
    by_profile: frozenset[str]
    profiles: frozenset[str]


def find_region(given: str | None, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the region and where it was found: given, in the environment, or in the AWS configuration file."""
    if given:
        return given, "aws_region"
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if environment.get(name):
            return environment[name], name
    path = Path(environment.get("AWS_CONFIG_FILE") or Path.home() / ".aws" / "config")
    profile = environment.get("AWS_PROFILE") or "default"
    section = profile if profile == "default" else f"profile {profile}"
    file = configparser.ConfigParser(interpolation=None)
    try:
        file.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return None
    region = file.get(section, "region", fallback="")
    return (region, f"{path.name} [{section}]") if region else None


def find_login(environment: Mapping[str, str]) -> Login:
    """Return the first credentials there are: a bearer token, keys in the environment, what boto3 finds elsewhere.

    Raises:
        AwsError: there are none, or their source fails; the message names what to set.
    """
    if token := environment.get(BEARER_VARIABLE):
        return Login(BEARER_VARIABLE, bearer=SecretStr(token))
    access_key, secret_key = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if access_key and secret_key:
        session = environment.get("AWS_SESSION_TOKEN")
        keys = AwsCredentials(access_key, SecretStr(secret_key), SecretStr(session) if session else None)
        expires = _moment(environment.get("AWS_CREDENTIAL_EXPIRATION", ""))
        return Login("AWS_ACCESS_KEY_ID", keys=lambda: keys, expires_at=expires)
    return _from_boto3()


def who_is(login: Login, region: str) -> Identity:
    """Ask STS whose keys a login has.

    Raises:
        AwsError: boto3 is missing, STS cannot be reached, or it refuses the keys.
    """
    told = _asking(lambda: _client("sts", login, region).get_caller_identity())
    return Identity(str(told["Account"]), str(told["Arn"]).rsplit(":", 1)[-1])


def list_models(login: Login, region: str) -> Catalogue:
    """Ask Bedrock for the foundation models and inference profiles of a region.

    Raises:
        AwsError: boto3 is missing, Bedrock cannot be reached, or it refuses.
    """
    models, profiles = _asking(lambda: _listings(_client("bedrock", login, region)))
    on_demand = {m["modelId"] for m in models if "ON_DEMAND" in m.get("inferenceTypesSupported", ["ON_DEMAND"])}
    return Catalogue(
        on_demand=frozenset(on_demand),
        by_profile=frozenset(m["modelId"] for m in models if m["modelId"] not in on_demand),
        profiles=frozenset(p[key] for p in profiles for key in ("inferenceProfileId", "inferenceProfileArn")),
    )


def _listings(bedrock: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:  # noqa: ANN401  boto3 has no types
    models = bedrock.list_foundation_models()["modelSummaries"]
    pages = bedrock.get_paginator("list_inference_profiles")
    profiles = [
        profile
        for kind in ("SYSTEM_DEFINED", "APPLICATION")
        for page in pages.paginate(typeEquals=kind)
        for profile in page["inferenceProfileSummaries"]
    ]
    return models, profiles


def _from_boto3() -> Login:
    nothing, ways = "no AWS credentials", f"set {BEARER_VARIABLE}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    try:
        boto3 = importlib.import_module("boto3")
    except ImportError:
        raise AwsError(nothing, f"{ways}; for profiles, SSO and instance roles {_INSTALL}") from None
    found = _asking(lambda: boto3.Session().get_credentials())
    if found is None:
        raise AwsError(nothing, f"{ways}; or run: aws configure")

    def keys() -> AwsCredentials:
        frozen = _asking(found.get_frozen_credentials)
        session = SecretStr(frozen.token) if frozen.token else None
        return AwsCredentials(frozen.access_key, SecretStr(frozen.secret_key), session)

    keys()
    # botocore keeps the expiry to itself; credentials that do not expire have none.
    return Login(f"boto3 ({found.method})", keys=keys, expires_at=getattr(found, "_expiry_time", None))


def _client(service: str, login: Login, region: str) -> Any:  # noqa: ANN401  boto3 has no types
    boto3, config = importlib.import_module("boto3"), importlib.import_module("botocore.config")
    keys: dict[str, str | None] = {}
    if login.keys is not None:
        now = login.keys()
        keys["aws_access_key_id"], keys["aws_secret_access_key"] = now.access_key, now.secret_key.get_secret_value()
        keys["aws_session_token"] = now.session_token.get_secret_value() if now.session_token else None
    # A bearer token is found by boto3 itself, in the environment that it was found in.
    once = config.Config(retries={"total_max_attempts": 1}, **_TIMEOUTS_SECONDS)
    # A session of its own: the default one would remember the profiles of its first use.
    return boto3.Session().client(service, region_name=region, config=once, **keys)


def _asking(question: Callable[[], Any]) -> Any:  # noqa: ANN401  boto3 has no types
    try:
        failures = importlib.import_module("botocore.exceptions")
    except ImportError:
        raise AwsError("boto3 is not installed", _INSTALL) from None
    try:
        return question()
    except failures.ClientError as error:
        told = error.response["Error"]
        raise AwsError(f"{told.get('Code')}: {told.get('Message')}", refused=True) from None
    except failures.BotoCoreError as error:
        raise AwsError(in_one_line(error)) from None


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
