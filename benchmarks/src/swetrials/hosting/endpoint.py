"""Any base URL in a named dialect: a vendor's API, a gateway, a local server such as Ollama or LM Studio."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import httpx
from pydantic import SecretStr

from swetrials.hosting.base import NoTelemetry, Priced, ProviderError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.usage import UsageReport
from swetrials.wire.connecting import connection
from swetrials.wire.model_list import ModelListError, ServedModel, is_loopback, read_model_list
from swetrials.wire.route import Dialect, Route

_TIMEOUT_SECONDS = 10
_NO_KEY = SecretStr("no-key-needed")
# Servers on this machine rarely want a key; agents refuse to start without one.


class Endpoint:
    """A server that somebody else runs."""

    name = "endpoint"
    serving = "endpoint"
    dialects: frozenset[Dialect] = frozenset({"anthropic", "openai-chat", "openai-responses"})
    priced: Priced = "tokens"
    scripted = False

    def preview(self, config: RunnerConfig) -> Route:
        """Return the way to ``config.endpoint``, in the one dialect that it is said to speak.

        Raises:
            ProviderError: there is no endpoint, or no key for one on another machine.
        """
        if config.endpoint is None:
            raise ProviderError("endpoint: provider 'endpoint' needs a base URL: --endpoint https://...")
        if config.api_key is None and not is_loopback(config.endpoint):
            raise ProviderError("api_key: provider 'endpoint' needs a key: set SWETRIALS_API_KEY")
        base_url = config.endpoint.rstrip("/").removesuffix("/v1")
        dialects: frozenset[Dialect] = frozenset({config.dialect})
        return Route(dialects, base_url, config.api_key or _NO_KEY, config.model, config.context_window)

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["EndpointHosting"]:
        """Give the endpoint's route; there is nothing to start.

        Raises:
            ProviderError: there is no endpoint, or no key for one on another machine.
        """
        yield EndpointHosting(self.preview(config))


class EndpointHosting:
    """One route for every attempt; the server's own counters are out of reach."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._asked_window = route.context_window
        self._model: ServedModel | None = None

    async def checks(self) -> Sequence[Check]:
        """Ask for ``/v1/models``: does it answer, is it an API, does it know the model?"""
        url = f"{self._route.base_url}/v1/models"
        key = self._route.api_key.get_secret_value()
        headers = {"x-api-key": key, "authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
        try:
            # The client's own limit counts from byte to byte: a server that drips would hold the run for ever.
            with anyio.fail_after(_TIMEOUT_SECONDS):
                async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, **connection(url)) as client:
                    response = await client.get(url, headers=headers)
        except (httpx.HTTPError, TimeoutError) as error:
            problem = str(error) or f"nothing within {_TIMEOUT_SECONDS} s"
            fix = "start the server, or mend --endpoint"
            return [Check("endpoint", "failed", f"{url} does not answer: {problem}", fix)]
        if response.status_code == httpx.codes.NOT_FOUND:
            return [Check("endpoint", "warning", f"{url} answers, but lists no models: the model cannot be checked")]
        try:
            served = read_model_list(response)
        except ModelListError as error:
            fix = "set SWETRIALS_API_KEY" if error.kind == "key_refused" else "mend --endpoint"
            return [Check("endpoint", "failed", f"{url} {error}", fix)]
        wanted = self._route.model.split("[")[0]
        self._model = next((model for model in served if model.id == wanted), None)
        return [Check("endpoint", "ok", f"{url} answers"), self._model_check(served), *self._window_checks()]

    def _model_check(self, served: Sequence[ServedModel]) -> Check:
        model = self._route.model
        if self._model is not None:
            return Check("model", "ok", f"{model} is served")
        listed = ", ".join(model.id for model in served[:5]) + (" ..." if len(served) > 5 else "")
        return Check("model", "failed", f"{model} is not served here; served: {listed or 'nothing'}", "mend --model")

    def _window_checks(self) -> list[Check]:
        """Take the window that the server tells, as vLLM's kind does; a larger one that is asked for is not served."""
        served, asked = self._model.max_model_len if self._model else None, self._asked_window
        if served is None:
            return []
        self._route = replace(self._route, context_window=min(served, asked or served))
        if asked and asked > served:
            detail = f"the served window is {served:,} tokens: --context-window {asked:,} is more, and is not used"
            return [Check("window", "warning", detail, "leave --context-window out")]
        return [Check("window", "ok", f"the served window is {served:,} tokens")]

    def route(self, attempt_id: str) -> Route:
        """Return the one route there is."""
        return self._route

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return ``None``: a foreign server does not tell attempts apart."""
        return None

    def hosted_as(self) -> HostingRecord:
        """Return the window that ``/v1/models`` tells, where the server's list has one; nothing else is told."""
        return HostingRecord(context_window=self._model.max_model_len if self._model else None)

    def telemetry(self, *, single_tenant: bool) -> NoTelemetry:
        """Return nothing to watch: a foreign server shows no counters."""
        return NoTelemetry()
