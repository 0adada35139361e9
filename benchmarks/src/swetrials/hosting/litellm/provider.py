"""Open-weight models on Bedrock through the LiteLLM proxy, which gives them the dialects that agents speak.

Facts it rests on (LiteLLM 1.108): ``/health/liveliness`` (its spelling) wants no key and says ``"I'm alive!"``. A key
that the proxy does not know gets status 400 with the type ``no_db_connection``, since it looks for it in a database
that is not there. ``/router/settings`` tells cooldowns and retries to the holder of the master key.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import urlsplit

import anyio
import httpx
from pydantic import SecretStr

from swetrials.hosting.base import NoTelemetry, Priced, ProviderError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.usage import UsageReport
from swetrials.records.words import listed
from swetrials.wire.connecting import connection
from swetrials.wire.model_list import ModelListError, is_loopback, read_model_list
from swetrials.wire.route import Dialect, Route

DEFAULT_ENDPOINT = "http://127.0.0.1:4000"
"""Where ``swetrials proxy start`` serves."""

MASTER_KEY_VARIABLE = "LITELLM_MASTER_KEY"
"""Environment variable for the key that a proxy asks for, where it does."""

_TIMEOUT_SECONDS = 10
_NO_KEY = "none"  # a proxy without a master key takes any, but agents will not start without one
_KEY_MEND = f"set {MASTER_KEY_VARIABLE} as it was where the proxy was started"
_RESTART = "swetrials proxy stop && swetrials proxy start"


class LiteLLM:
    """A LiteLLM proxy that runs already; ``swetrials proxy`` is what starts one."""

    name = "litellm"
    serving = "litellm"
    dialects: frozenset[Dialect] = frozenset({"anthropic", "openai-chat", "openai-responses"})
    priced: Priced = "tokens"
    scripted = False

    def preview(self, config: RunnerConfig) -> Route:
        """Return the way to the proxy: with ``config.api_key``, else the master key of the environment, else none.

        Raises:
            ProviderError: no HTTP header can carry that master key.
        """
        return Route(
            dialects=self.dialects,
            base_url=(config.endpoint or DEFAULT_ENDPOINT).rstrip("/").removesuffix("/v1"),
            api_key=config.api_key or _master_key(),
            model=config.model,
            context_window=config.context_window,
        )

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["LiteLLMHosting"]:
        """Give the proxy's route; the proxy is not started here.

        Raises:
            ProviderError: no HTTP header can carry the master key.
        """
        route = self.preview(config)
        async with httpx.AsyncClient(
            base_url=route.base_url,
            headers={"authorization": f"Bearer {route.api_key.get_secret_value()}"},
            timeout=_TIMEOUT_SECONDS,
            **connection(route.base_url),
        ) as client:
            yield LiteLLMHosting(route, client)


class LiteLLMHosting:
    """One proxy for every attempt; it keeps no counters that could tell them apart."""

    def __init__(self, route: Route, client: httpx.AsyncClient) -> None:
        self._route = route
        self._client = client

    async def checks(self) -> Sequence[Check]:
        """Is it up, is it LiteLLM, does it take the key and have the model, and does it keep out of retries?"""
        if (problem := await self._proxy_problem()) is not None:
            return [problem]
        up = Check("proxy", "ok", f"LiteLLM proxy at {self._route.base_url}")
        response = await self._get("/v1/models")
        if response is None:
            return [up, Check("model", "failed", f"{self._route.base_url}/v1/models does not answer", _RESTART)]
        if _refuses_key(response):
            return [up, Check("key", "failed", "the proxy refuses the key", _KEY_MEND)]
        try:
            served = [model.id for model in read_model_list(response)]
        except ModelListError as error:
            return [up, Check("model", "failed", f"{self._route.base_url}/v1/models {error}", "mend --endpoint")]
        return [up, self._model(served), self._window(), *await self._router()]

    def route(self, attempt_id: str) -> Route:
        """Return the one route there is."""
        return self._route

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return ``None``: the proxy does not tell attempts apart."""
        return None

    def hosted_as(self) -> HostingRecord:
        """Return nothing known: the proxy does not tell what is behind it."""
        return HostingRecord()

    def telemetry(self, *, single_tenant: bool) -> NoTelemetry:
        """Return nothing to watch: behind the proxy is a service of AWS."""
        return NoTelemetry()

    async def _proxy_problem(self) -> Check | None:
        base_url, start = self._route.base_url, start_command(self._route.base_url)
        try:
            response = await self._ask("/health/liveliness")
        except httpx.ConnectError:
            return Check("proxy", "failed", f"nothing listens at {base_url}", start)
        except (httpx.HTTPError, TimeoutError) as error:
            reason = str(error) or f"nothing within {_TIMEOUT_SECONDS} s"
            return Check("proxy", "failed", f"{base_url} does not answer: {reason}", start)
        if "html" in response.headers.get("content-type", ""):
            detail = f"{base_url} answers with a web page: it is no LiteLLM proxy"
        elif response.status_code != httpx.codes.OK or "alive" not in response.text[:100]:
            detail = f"{base_url} is no LiteLLM proxy: it has no /health/liveliness (status {response.status_code})"
        else:
            return None
        return Check("proxy", "failed", detail, f"mend --endpoint, or {start}")

    def _model(self, served: Sequence[str]) -> Check:
        model = self._route.model
        # Claude Code cuts a hint like [1m] off the id before it asks.
        if model.split("[")[0] in served:
            return Check("model", "ok", f"{model} is configured")
        near = get_close_matches(model, served, n=1, cutoff=0.4)
        fix = f"--model {near[0]}" if near else "add it to the proxy's configuration"
        return Check("model", "failed", f"the proxy has no model {model}; it has: {listed(served) or 'none'}", fix)

    def _window(self) -> Check:
        window = self._route.context_window
        if window is not None:
            return Check("window", "ok", f"{window:,} tokens, as configured")
        detail = "not known: the proxy does not tell it, and an agent that fills it up gets stuck"
        return Check("window", "warning", detail, "--context-window TOKENS")

    async def _router(self) -> list[Check]:
        settings = await self._router_settings()
        if settings is None:
            return [Check("router", "skipped", "the proxy does not tell its router's settings to this key")]
        checks = []
        if settings.cooldowns:
            detail = "cooldowns are on: after one failure the proxy answers every request with 429 for a while"
            checks.append(
                Check("cooldowns", "warning", detail, f"router_settings: disable_cooldowns: true; {_RESTART}")
            )
        if settings.retries:
            detail = f"the proxy repeats failed requests ({settings.retries} times): these are counted nowhere"
            checks.append(Check("retries", "warning", detail, f"router_settings: num_retries: 0; {_RESTART}"))
        return checks or [Check("router", "ok", "cooldowns are off, and retries are left to the agent")]

    async def _router_settings(self) -> "_RouterSettings | None":
        response = await self._get("/router/settings")
        try:
            values = response.json()["current_values"] if response is not None else None
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(values, Mapping):
            return None
        retries = values.get("num_retries")
        return _RouterSettings(
            cooldowns=values.get("disable_cooldowns") is not True,
            retries=retries if isinstance(retries, int) else 0,
        )

    async def _get(self, path: str) -> httpx.Response | None:
        try:
            return await self._ask(path)
        except (httpx.HTTPError, TimeoutError):
            return None

    async def _ask(self, path: str) -> httpx.Response:
        # The client's own limit counts from byte to byte: a server that drips would hold the run for ever.
        with anyio.fail_after(_TIMEOUT_SECONDS):
            return await self._client.get(path)


@dataclass(frozen=True)
class _RouterSettings:
    cooldowns: bool
    retries: int


def _master_key() -> SecretStr:
    key = os.environ.get(MASTER_KEY_VARIABLE) or _NO_KEY
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ProviderError(
            f"{MASTER_KEY_VARIABLE}: holds a space, a line break or a letter that no HTTP header carries"
        )
    return SecretStr(key)


def _refuses_key(response: httpx.Response) -> bool:
    return response.status_code in {401, 403} or "no_db_connection" in response.text[:500]


def start_command(base_url: str) -> str:
    """Return the command that starts a proxy where a base URL expects it."""
    if not is_loopback(base_url):
        return "start it there: swetrials proxy start"
    port = urlsplit(base_url).port
    return "swetrials proxy start" + (f" --port {port}" if port not in {None, urlsplit(DEFAULT_ENDPOINT).port} else "")
