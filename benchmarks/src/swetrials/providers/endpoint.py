"""Any base URL that speaks Anthropic Messages: the vendor's API, a gateway, a local server."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from swetrials.providers.base import Check, NoTelemetry, ProviderError
from swetrials.records.config import RunnerConfig
from swetrials.records.usage import UsageReport
from swetrials.wire.route import Route

_TIMEOUT_SECONDS = 10


class Endpoint:
    """A server that somebody else runs."""

    name = "endpoint"
    serving = "endpoint"
    free = False

    def preview(self, config: RunnerConfig) -> Route:
        """Return the way to ``config.endpoint``.

        Raises:
            ProviderError: there is no endpoint or no key for it.
        """
        if config.endpoint is None:
            raise ProviderError("endpoint: provider 'endpoint' needs a base URL: --endpoint https://...")
        if config.api_key is None:
            raise ProviderError("api_key: provider 'endpoint' needs a key: set SWETRIALS_API_KEY")
        base_url = config.endpoint.rstrip("/").removesuffix("/v1")
        return Route(frozenset({"anthropic"}), base_url, config.api_key, config.model, config.context_window)

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["EndpointHosting"]:
        """Give the endpoint's route; there is nothing to start.

        Raises:
            ProviderError: there is no endpoint or no key for it.
        """
        yield EndpointHosting(self.preview(config))


class EndpointHosting:
    """One route for every attempt; the server's own counters are out of reach."""

    def __init__(self, route: Route) -> None:
        self._route = route

    async def checks(self) -> Sequence[Check]:
        """Ask for ``/v1/models``: does it answer, is it an API, does it know the model?"""
        url = f"{self._route.base_url}/v1/models"
        key = self._route.api_key.get_secret_value()
        headers = {"x-api-key": key, "authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
                response = await client.get(url, headers=headers)
        except httpx.HTTPError as error:
            problem = str(error) or type(error).__name__
            return [
                Check("endpoint", "failed", f"{url} does not answer: {problem}", "start the server, or mend --endpoint")
            ]
        if response.status_code in {401, 403}:
            return [
                Check("endpoint", "failed", f"{url} refuses the key ({response.status_code})", "set SWETRIALS_API_KEY")
            ]
        if response.status_code == 404:
            return [Check("endpoint", "warning", f"{url} answers, but lists no models: the model cannot be checked")]
        return [Check("endpoint", "ok", f"{url} answers"), self._model_check(response)]

    def _model_check(self, response: httpx.Response) -> Check:
        model = self._route.model
        try:
            served = [str(entry["id"]) for entry in response.json()["data"]]
        except (ValueError, KeyError, TypeError):
            return Check(
                "model", "failed", "the endpoint answers with something that is not a list of models", "mend --endpoint"
            )
        if model.split("[")[0] in served:
            return Check("model", "ok", f"{model} is served")
        listed = ", ".join(served[:5]) + (" ..." if len(served) > 5 else "")
        return Check("model", "failed", f"{model} is not served here; served: {listed or 'nothing'}", "mend --model")

    def route(self, attempt_id: str) -> Route:
        """Return the one route there is."""
        return self._route

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return ``None``: a foreign server does not tell attempts apart."""
        return None

    def telemetry(self, *, single_tenant: bool) -> NoTelemetry:
        """Return nothing to watch: a foreign server shows no counters."""
        return NoTelemetry()
