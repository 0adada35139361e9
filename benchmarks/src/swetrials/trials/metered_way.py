"""An attempt's way to the model, with the meter on it, and what it can reach beside that."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from swetrials.environments.door import Door, open_because
from swetrials.environments.registries import registry_settings
from swetrials.environments.sealing import SEALED_PORT, SealError
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.requests import RequestRecord
from swetrials.records.sealing import Sealing
from swetrials.trials.run_context import RunContext
from swetrials.wire.meter import CannotSign, Meter, metered
from swetrials.wire.route import Route


@dataclass(frozen=True)
class Way:
    """An attempt's way to the model: what the agent is given, and the meter on it.

    ``unmetered`` says why there is no meter where there should be one, and ``open_because`` why nothing keeps the
    agent on this way; it is empty where the agent is to be sealed. ``variables`` lead its tools to the registries.
    """

    route: Route
    meter: Meter | None = None
    unmetered: str = ""
    open_because: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def door(self, asked: EnvironmentSpec, admit: Callable[[Sealing], None]) -> Door | None:
        """Return how the agent is sealed; ``admit`` is told what it can reach, at once where nothing seals it.

        Args:
            asked: what the agent was to reach.
            admit: called with it; what it raises keeps the agent from beginning.
        """
        if self.meter is not None and not self.open_because:
            return Door(self.meter.serve, asked.network, admit)
        admit(Sealing(state="open", network=asked.network, why=self.open_because))
        return None


@asynccontextmanager
async def open_way(
    context: RunContext,
    route: Route,
    log: Path,
    asked: EnvironmentSpec,
    observe: Callable[[RequestRecord], None] | None = None,
) -> AsyncIterator[Way]:
    """Put the meter on a route, unless the configuration says otherwise or it cannot sign for the route.

    Behind the meter the agent holds a key that is good for nothing else.

    Args:
        context: the run.
        route: the real way to the model.
        log: where the meter logs each request.
        asked: what the agent may reach.
        observe: called with each request when it ends, where there is a meter.

    Raises:
        SealError: the agent is to be sealed, and has no way that a meter can stand on.
    """
    async with AsyncExitStack() as stack:
        why = open_because(context.place.environment, asked.network, meter=context.config.meter)
        way = Way(route, open_because=why)
        if context.config.meter:
            try:
                settings = registry_settings(asked.registries) if asked.network == "registries" and not why else None
                passing = metered(
                    route,
                    log,
                    context.place.redactor,
                    keep_bodies=context.config.keep_bodies,
                    observe=observe,
                    port=None if why else SEALED_PORT,
                    registries=settings.hosts if settings else None,
                )
                meter = await stack.enter_async_context(passing)
                variables = settings.variables_by(meter.proxy_url) if settings and meter.proxy_url else {}
                way = Way(meter.route, meter, open_because=why, variables=variables)
            except CannotSign as reason:
                if not why:
                    fix = "or give the dataset network: open"
                    raise SealError(f"the agent cannot be sealed: {reason}; {fix}") from None
                way = Way(route, unmetered=str(reason), open_because=why)
        yield way
