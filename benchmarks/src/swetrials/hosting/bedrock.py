"""Anthropic's models on Amazon Bedrock, spoken to natively."""

import ipaddress
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from urllib.parse import urlsplit

import httpx
from anyio.to_thread import run_sync
from pydantic import SecretStr

from swetrials.hosting.aws import (
    BEARER_VARIABLE,
    AwsError,
    Catalogue,
    Login,
    find_login,
    find_region,
    list_models,
    who_is,
)
from swetrials.hosting.base import NoTelemetry, Priced, ProviderError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.slug import without_hint
from swetrials.records.usage import UsageReport
from swetrials.wire.connecting import connection
from swetrials.wire.route import Dialect, Route

SKIP_AUTH_VARIABLE = "CLAUDE_CODE_SKIP_BEDROCK_AUTH"
"""Claude Code's own name for "the gateway signs": honoured for an endpoint on loopback alone."""

CONTROL_VARIABLE = "AWS_ENDPOINT_URL_BEDROCK"
"""AWS's own name for another address of Bedrock's control plane; boto3 heeds it, too."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
_ANTHROPIC = re.compile(r"(^|[./])anthropic\.|^claude-|^arn:aws[a-z-]*:bedrock:[^:]*:\d+:")
_RENEW = "renew them (aws sso login, aws configure), then run this again"
_TIMEOUT_SECONDS = 10


class Bedrock:
    """The account's own way to Anthropic's models; there is nothing to start."""

    name = "bedrock"
    serving = "bedrock"
    dialects: frozenset[Dialect] = frozenset({"bedrock"})
    priced: Priced = "tokens"
    scripted = False

    def preview(self, config: RunnerConfig) -> Route:
        """Return the way to the region's endpoint; the credentials are looked for when a run opens it.

        Raises:
            ProviderError: no region is known, or requests would go to a foreign host without credentials.
        """
        return _place(config).route

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["BedrockHosting"]:
        """Find the credentials. That there are none is a finding of ``checks``.

        Raises:
            ProviderError: no region is known, or requests would go to a foreign host without credentials.
        """
        place = _place(config)
        try:
            login = Login(SKIP_AUTH_VARIABLE) if _skips_auth() else await run_sync(find_login, os.environ)
        except AwsError as error:
            yield BedrockHosting(place, error)
        else:
            yield BedrockHosting(place, login)


@dataclass(frozen=True)
class _Place:
    """Where the requests go: the route without credentials, and what the configuration says beside it."""

    route: Route
    region: str
    region_source: str
    unused_key: bool


class BedrockHosting:
    """One route for every attempt, with credentials that are fresh when the attempt begins."""

    def __init__(self, place: _Place, login: Login | AwsError) -> None:
        """Take the place and the login, or the reason why there is none."""
        self._place = place
        self._login = login

    async def checks(self) -> Sequence[Check]:
        """Look at region, endpoint, credentials and model; no model is called."""
        place, login = self._place, self._login
        checks = [Check("region", "ok", f"{place.region} (from {place.region_source})")]
        if place.unused_key:
            detail = "api_key is not used on Bedrock"
            checks.append(Check("api_key", "warning", detail, f"give a Bedrock bearer token as {BEARER_VARIABLE}"))
        checks.append(await _endpoint_check(place.route.base_url))
        if isinstance(login, AwsError):
            return [*checks, Check("credentials", "failed", str(login), login.fix or _RENEW)]
        checks += await run_sync(_login_checks, login, place.region)
        return [*checks, await run_sync(_model_check, place.route.model, login, place.region)]

    def route(self, attempt_id: str) -> Route:
        """Return the region's endpoint, with the credentials as they are now.

        Raises:
            ProviderError: temporary credentials have expired and cannot be renewed.
        """
        login = self._login
        if isinstance(login, AwsError):
            return self._place.route
        try:
            keys = login.keys() if login.keys is not None else None
        except AwsError as error:
            raise ProviderError(f"AWS credentials from {login.source}: {error}; {_RENEW}") from None
        return replace(self._place.route, api_key=login.bearer or SecretStr(""), aws=keys)

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return ``None``: Bedrock does not tell attempts apart."""
        return None

    def hosted_as(self) -> HostingRecord:
        """Return nothing known: the vendor does not tell what it serves a model with."""
        return HostingRecord()

    def telemetry(self, *, single_tenant: bool) -> NoTelemetry:
        """Return nothing to watch: Bedrock shows no counters."""
        return NoTelemetry()


def _place(config: RunnerConfig) -> _Place:
    found = find_region(config.aws_region, os.environ)
    if found is None:
        raise ProviderError("aws_region: provider 'bedrock' needs a region: --aws-region us-east-1, or set AWS_REGION")
    region, source = found
    if not _REGION.fullmatch(region):
        raise ProviderError(f"aws_region: {region!r} (from {source}) is not a region such as us-east-1")
    base_url = (config.endpoint or f"https://bedrock-runtime.{region}.amazonaws.com").rstrip("/")
    if _skips_auth() and not _is_loopback(base_url):
        raise ProviderError(
            f"{SKIP_AUTH_VARIABLE} is set, and {base_url} is not on this machine: "
            "unset it, or give an --endpoint on loopback"
        )
    route = Route(
        dialects=frozenset({"bedrock"}),
        base_url=base_url,
        api_key=SecretStr(""),
        model=config.model,
        context_window=config.context_window,
        region=region,
        control_url=os.environ.get(CONTROL_VARIABLE) or _control_url(config, region),
    )
    return _Place(route, region, source, unused_key=config.api_key is not None)


def _control_url(config: RunnerConfig, region: str) -> str | None:
    """Return the region's control plane; an endpoint of one's own stands for both."""
    return None if config.endpoint else f"https://bedrock.{region}.amazonaws.com"


def _skips_auth() -> bool:
    return os.environ.get(SKIP_AUTH_VARIABLE, "").lower() in {"1", "true", "yes", "on"}


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _endpoint_check(url: str) -> Check:
    """Ask for the root: Bedrock has nothing there, and any answer shows that the host is found and listens."""
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, **connection(url)) as client:
            response = await client.get(url)
    except httpx.HTTPError as error:
        problem = str(error) or type(error).__name__
        return Check("endpoint", "failed", f"{url} does not answer: {problem}", "mend --aws-region or --endpoint")
    if response.is_success and "html" in response.headers.get("content-type", ""):
        return Check("endpoint", "failed", f"{url} answers with a web page, which is no API", "mend --endpoint")
    return Check("endpoint", "ok", f"{url} answers")


def _login_checks(login: Login, region: str) -> list[Check]:
    if login.bearer is not None:
        return [Check("credentials", "ok", f"bearer token from {login.source}; STS knows nothing of it")]
    if login.keys is None:
        return [Check("credentials", "warning", f"none are sent ({login.source} is set): the endpoint must add them")]
    return [_identity_check(login, region), *_expiry_checks(login)]


def _identity_check(login: Login, region: str) -> Check:
    try:
        identity = who_is(login, region)
    except AwsError as error:
        if error.refused:
            return Check("credentials", "failed", f"from {login.source}, refused by STS: {error}", _RENEW)
        return Check("credentials", "warning", f"from {login.source}, STS could not be asked: {error}", error.fix)
    return Check("credentials", "ok", f"from {login.source}: account {identity.account}, {identity.name}")


def _expiry_checks(login: Login) -> list[Check]:
    if login.expires_at is None:
        return []
    until = login.expires_at.astimezone(UTC)
    if until <= datetime.now(UTC):
        return [Check("expiry", "failed", f"the credentials expired at {until:%Y-%m-%d %H:%M} UTC", _RENEW)]
    detail = f"the credentials expire at {until:%Y-%m-%d %H:%M} UTC, and an attempt under way then fails"
    return [Check("expiry", "warning", detail, "start with fresh ones; --resume runs again what failed")]


def _model_check(model: str, login: Login, region: str) -> Check:
    if not _ANTHROPIC.search(model):
        detail = f"{model} is not an Anthropic model: it does not understand what Claude Code says to Bedrock"
        return Check("model", "warning", detail, "--provider litellm")
    if login.keys is None and login.bearer is None:
        return Check("model", "skipped", f"{model}: without credentials no list of models can be had")
    try:
        catalogue = list_models(login, region)
    except AwsError as error:
        return Check("model", "skipped", f"{model}: the account's models could not be listed: {error}", error.fix)
    return _find_in(catalogue, model, region)


def _find_in(catalogue: Catalogue, model: str, region: str) -> Check:
    """Say whether a model is listed. A listing proves nothing about access, so a miss is a warning and no more."""
    wanted = without_hint(model)
    if wanted in catalogue.on_demand | catalogue.profiles:
        return Check("model", "ok", f"{wanted} is listed in {region}; that it may be called, only the probe proves")
    known = sorted(name for name in catalogue.on_demand | catalogue.profiles if not name.startswith("arn:"))
    if wanted in catalogue.by_profile:
        fitting = [name for name in known if name.endswith(f".{wanted}")]
        return Check("model", "warning", f"{wanted} is called through an inference profile", _suggest(fitting))
    near = [name for name in known if wanted in name] or get_close_matches(wanted, known, n=3)
    return Check("model", "warning", f"{wanted} is not listed in {region}", _suggest(near))


def _suggest(names: Sequence[str]) -> str:
    return " or ".join(f"--model {name}" for name in names[:3]) if names else "mend --model or --aws-region"
