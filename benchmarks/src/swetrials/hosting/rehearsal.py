"""The built-in scripted model: the whole way of a benchmark without a single paid token."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from swetrials.hosting.base import NoTelemetry, Priced, ProviderError
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.usage import UsageReport
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.store.documents import load_document
from swetrials.wire.route import Dialect, Route

_WINDOW_TOKENS = 200_000


def scenario_file(config: RunnerConfig) -> Path | None:
    """Return the scenario that a configuration plays: the one it names, else ``<dataset>/scenario.yaml``."""
    return Path(config.scenario) if config.scenario is not None else scenario_beside(Path(config.dataset))


def scenario_beside(dataset: Path) -> Path | None:
    """Return the scenario that lies in the folder named like a dataset, if there is one."""
    beside = dataset.with_suffix("") / "scenario.yaml"
    return beside if beside.exists() else None


class Rehearsal:
    """Starts the rehearsal server on loopback for as long as a run lasts."""

    name = "rehearsal"
    serving = "rehearsal"
    dialects: frozenset[Dialect] = frozenset({"anthropic", "openai-chat", "openai-responses"})
    priced: Priced = "free"
    scripted = True

    def preview(self, config: RunnerConfig) -> Route:
        """Return the route with the port left open: the server takes any free one.

        Raises:
            ProviderError: the fault is not one of the known kinds.
            DocumentError: the scenario cannot be read.
        """
        _script_of(config)
        return _route("http://127.0.0.1:PORT", config.model, "ATTEMPT")

    @asynccontextmanager
    async def open(self, config: RunnerConfig) -> AsyncIterator["RehearsalHosting"]:
        """Serve the configuration's scenario.

        Raises:
            ProviderError: the fault is not one of the known kinds.
            DocumentError: the scenario cannot be read.
        """
        async with rehearse(_script_of(config), model=config.model, context_window=_WINDOW_TOKENS) as server:
            yield RehearsalHosting(server, config.model, scenario_file(config))


def _script_of(config: RunnerConfig) -> Scenario:
    path = scenario_file(config)
    scenario = load_document(path, Scenario) if path else Scenario(schema_version="1.0", name="empty", scripts=())
    if config.fault is None:
        return scenario
    try:
        return scenario.with_fault(FaultKind(config.fault))
    except ValueError:
        raise ProviderError(f"fault: {config.fault!r} is not one of {', '.join(FaultKind)}") from None


class RehearsalHosting:
    """A running rehearsal server; each attempt is known by a key of its own."""

    def __init__(self, server: RehearsalServer, model: str, scenario: Path | None) -> None:
        self._server = server
        self._model = model
        self._scenario = scenario

    async def checks(self) -> Sequence[Check]:
        """Say which scenario plays."""
        if self._scenario is None:
            return [
                Check("scenario", "warning", "none: every task gets a short answer and no work", "--scenario FILE.yaml")
            ]
        return [Check("scenario", "ok", str(self._scenario))]

    def route(self, attempt_id: str) -> Route:
        """Return the server's address with a key that names the attempt."""
        return _route(self._server.base_url, self._model, attempt_id)

    def served(self, attempt_id: str) -> UsageReport | None:
        """Return what the server sent to this attempt."""
        return self._server.served(_key(attempt_id))

    def hosted_as(self) -> HostingRecord:
        """Return nothing known: there is no model."""
        return HostingRecord()

    def telemetry(self, *, single_tenant: bool) -> NoTelemetry:
        """Return nothing to watch: ``served`` tells attempts apart already."""
        return NoTelemetry()


def _route(base_url: str, model: str, attempt_id: str) -> Route:
    return Route(
        dialects=Rehearsal.dialects,
        base_url=base_url,
        api_key=SecretStr(_key(attempt_id)),
        model=model,
        context_window=_WINDOW_TOKENS,
    )


def _key(attempt_id: str) -> str:
    return f"rehearsal-{attempt_id}"
