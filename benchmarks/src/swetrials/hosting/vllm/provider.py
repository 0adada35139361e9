"""A model that is self-hosted with vLLM, on this machine or on one that can be reached."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from swetrials.hosting.base import Priced
from swetrials.hosting.vllm.counters import CounterWatch
from swetrials.hosting.vllm.served_here import SERVICES_FOLDER, hosted_here
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.models import HostedModel, ModelRegistry, version_at_least, window_verdict
from swetrials.records.usage import UsageReport
from swetrials.store.documents import load_document
from swetrials.store.project import find_project
from swetrials.wire.connecting import connection
from swetrials.wire.model_list import ModelListError, ServedModel, is_loopback, read_model_list
from swetrials.wire.prometheus import ScrapeError, scrape
from swetrials.wire.route import Dialect, Route

_DEFAULT_PORT = 8000

DEFAULT_ENDPOINT = f"http://127.0.0.1:{_DEFAULT_PORT}"
"""Where ``swetrials serve start`` serves."""

RESPONSES_BREAKERS = frozenset({"minicpm5xml", "dots", "hy_v3", "hy_v4", "rust", "step3", "step3p5"})
"""Tool-call parsers that crash on the Responses dialect in vLLM 0.29."""

_TIMEOUT_SECONDS = 10
_NO_KEY = "none"  # vLLM looks at no key unless it was started with one, but agents will not start without any
_PARSER_COUNTER = "vllm:tool_call_parser_invocations_total"
_PARSER_COUNTER_SINCE = "0.32"  # it is there, at 0, from the start if a tool-call parser is configured, and only then


class Vllm:
    """A vLLM server that runs already; ``swetrials serve`` is what starts one."""

    name = "vllm"
    serving = "vllm"
    dialects: frozenset[Dialect] = frozenset({"anthropic", "openai-chat", "openai-responses"})
    priced: Priced = "hardware"
    scripted = False

    def preview(self, config: RunnerConfig) -> Route:
        """Return the way to the server; the window is the configured one until the server has been asked."""
        base_url = (config.endpoint or DEFAULT_ENDPOINT).rstrip("/").removesuffix("/v1")
        key = config.api_key or SecretStr(_NO_KEY)
        dialects: set[Dialect] = {"anthropic", "openai-chat", "openai-responses"}
        entry = _registry().model(config.model)
        if entry is not None and entry.tool_call_parser in RESPONSES_BREAKERS:
            dialects.remove("openai-responses")
        effort = entry.effort if entry else None
        return Route(frozenset(dialects), base_url, key, config.model, config.context_window, effort=effort)

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["VllmHosting"]:
        """Ask the server what it is; what is wrong with it comes out in the checks.

        Raises:
            DocumentError: the registry of models has faults.
        """
        route = self.preview(config)
        key = route.api_key.get_secret_value()
        async with httpx.AsyncClient(
            timeout=_TIMEOUT_SECONDS, headers={"authorization": f"Bearer {key}"}, **connection(route.base_url)
        ) as client:
            yield VllmHosting(route, await _look_at(client, route), _registry(), client)


class VllmHosting:
    """One server for every attempt; its counters cannot tell them apart."""

    def __init__(self, route: Route, seen: "_Seen", registry: ModelRegistry, client: httpx.AsyncClient) -> None:
        self._seen = seen
        self._registry = registry
        self._client = client
        self._asked_window = route.context_window
        self._model = next((model for model in seen.models if model.id == route.model), None)
        windows = [w for w in (route.context_window, self._model and self._model.max_model_len) if w]
        self._route = replace(route, context_window=min(windows) if windows else None)

    async def checks(self) -> Sequence[Check]:
        """Is the server up, is it vLLM, does it serve the model, with a large enough window and a tool-call parser?"""
        if self._seen.problem is not None:
            return [self._seen.problem]
        server = Check("server", "ok", f"vLLM {self._seen.version or '(unknown version)'} at {self._route.base_url}")
        if self._model is None:
            return [server, self._not_served()]
        checks = [server, Check("model", "ok", f"{self._model.id} is served"), self._window(self._model)]
        entry = self._registry.model(self._route.model)
        return [*checks, *self._version(entry), *self._effort(entry), *(await self._tools(entry))]

    def route(self, attempt_id: str) -> Route:
        """Return the one route there is, with the window that the server gives."""
        return self._route

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return ``None``: the server's counters are for all requests together, see :meth:`telemetry`."""
        return None

    def hosted_as(self) -> HostingRecord:
        """Return what the server tells of itself and, on this machine, what ``swetrials serve`` wrote at its start."""
        known, address = HostingRecord(), urlsplit(self._route.base_url)
        if is_loopback(self._route.base_url):
            known = hosted_here(find_project().tools / SERVICES_FOLDER, address.port, self._route.model)
        engine = f"vLLM {self._seen.version}" if self._seen.version else None
        window = self._model.max_model_len if self._model else None
        told = {"context_window": window, "engine": engine}
        return known.model_copy(update={name: value for name, value in told.items() if value is not None})

    def telemetry(self, *, single_tenant: bool) -> CounterWatch:
        """Watch ``/metrics``."""
        return CounterWatch(self._client, self._route.base_url, single_tenant=single_tenant)

    def _not_served(self) -> Check:
        served = ", ".join(model.id for model in self._seen.models) or "nothing"
        wanted = self._route.model
        if self._registry.model(wanted) is not None:
            fix = _start_command(wanted, self._route.base_url)
        else:
            names = [model.id for model in self._seen.models] or ["MODEL"]
            fix = f"--model {names[0]}, or add {wanted} to config/models.yaml and serve it"
        return Check("model", "failed", f"{wanted} is not served; {self._route.base_url} serves: {served}", fix)

    def _window(self, model: ServedModel) -> Check:
        found = window_verdict(model.max_model_len)
        if found.verdict == "refuse":
            fix = "serve it with a larger --max-model-len, on more or larger GPUs (docs/models.md)"
            return Check("window", "failed", found.reason, fix)
        if found.verdict == "ask":
            return Check("window", "warning", found.reason, "--yes to go on all the same", asks=True)
        if self._asked_window and model.max_model_len and self._asked_window > model.max_model_len:
            detail = f"{found.reason}: --context-window {self._asked_window:,} is more, and is not used"
            return Check("window", "warning", detail, "leave --context-window out")
        return Check("window", "ok", found.reason)

    def _version(self, entry: HostedModel | None) -> list[Check]:
        minimum, version = entry and entry.min_vllm_version, self._seen.version
        if not minimum or not version or version_at_least(version, minimum) is not False:
            return []
        return [Check("version", "warning", f"vLLM {version}: {self._route.model} wants {minimum}", "upgrade vLLM")]

    def _effort(self, entry: HostedModel | None) -> list[Check]:
        if entry is None or entry.effort is None:
            return []
        accepted = ", ".join(entry.reasoning_efforts)
        detail = f"the chat template accepts {accepted} alone: Claude Code is made to ask for {entry.effort}"
        return [Check("effort", "ok", detail)]

    async def _tools(self, entry: HostedModel | None) -> list[Check]:
        checks = []
        if entry is not None and entry.tool_call_parser in RESPONSES_BREAKERS:
            detail = f"the tool-call parser {entry.tool_call_parser} crashes on the Responses dialect"
            checks.append(Check("dialect", "warning", detail, "an agent that speaks another dialect: --agent claude"))
        version = self._seen.version
        if not version or not version_at_least(version, _PARSER_COUNTER_SINCE):
            return checks
        try:
            counters = (await scrape(self._client, self._route.base_url, at_seconds=0)).counters
        except ScrapeError:
            return checks
        if not any(key.startswith(_PARSER_COUNTER) for key in counters):
            parser = entry.tool_call_parser if entry else "NAME"
            detail = "the server has no tool-call parser: the model's tool calls come back as text"
            fix = f"serve it with --enable-auto-tool-choice --tool-call-parser {parser}"
            checks.append(Check("tools", "warning", detail, fix, asks=True))
        return checks


@dataclass(frozen=True)
class _Seen:
    models: tuple[ServedModel, ...] = ()
    version: str | None = None
    problem: Check | None = None


async def _look_at(client: httpx.AsyncClient, route: Route) -> _Seen:
    base_url, start = route.base_url, _start_command(route.model, route.base_url)
    elsewhere = _start_elsewhere(route.model, route.base_url)
    try:
        response = await client.get(f"{base_url}/v1/models")
    except httpx.ConnectError:
        return _Seen(problem=Check("server", "failed", f"nothing listens at {base_url}", start))
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        return _Seen(problem=Check("server", "failed", f"{base_url} does not answer: {reason}", start))
    try:
        models, problem = read_model_list(response), None
    except ModelListError as error:
        fix = "set SWETRIALS_API_KEY" if error.kind == "key_refused" else f"mend --endpoint, or {elsewhere}"
        models, problem = (), Check("server", "failed", f"{base_url} {error}", fix)
    if any(model.owned_by == "vllm" for model in models):
        return _Seen(models, await _version_of(client, base_url))
    if await _is_litellm(client, base_url):
        detail = f"{base_url} is a LiteLLM proxy, not a vLLM server"
        problem = Check("server", "failed", detail, f"--provider litellm, or {elsewhere}")
    return _Seen(
        problem=problem or Check("server", "failed", f"{base_url} is not a vLLM server", "--provider endpoint")
    )


async def _version_of(client: httpx.AsyncClient, base_url: str) -> str | None:
    try:
        return str((await client.get(f"{base_url}/version")).json()["version"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None


async def _is_litellm(client: httpx.AsyncClient, base_url: str) -> bool:
    """Whether LiteLLM's own health check answers, which wants no key (LiteLLM 1.108)."""
    try:
        response = await client.get(f"{base_url}/health/liveliness")
    except httpx.HTTPError:
        return False
    return response.status_code == httpx.codes.OK and "alive" in response.text[:100]


def _start_command(model: str, base_url: str) -> str:
    """Return the command that serves a model where a base URL expects it."""
    if not is_loopback(base_url):
        return f"start it there: swetrials serve start {model}"
    port = urlsplit(base_url).port
    return f"swetrials serve start {model}" + (f" --port {port}" if port != _DEFAULT_PORT else "")


def _start_elsewhere(model: str, base_url: str) -> str:
    """Return how to serve a model on this machine when something else listens where it was looked for."""
    if is_loopback(base_url) and urlsplit(base_url).port == _DEFAULT_PORT:
        other = _DEFAULT_PORT + 1
        return f"swetrials serve start {model} --port {other}, and --endpoint http://127.0.0.1:{other}"
    return f"swetrials serve start {model}, without --endpoint"


def _registry() -> ModelRegistry:
    return load_document(find_project().config / "models.yaml", ModelRegistry)
