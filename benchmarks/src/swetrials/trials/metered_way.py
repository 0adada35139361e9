"""An attempt's way to the model, with the meter on it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from swetrials.records.requests import RequestRecord
from swetrials.trials.run_context import RunContext
from swetrials.wire.meter import CannotSign, Meter, metered
from swetrials.wire.route import Route


@dataclass(frozen=True)
class Way:
    """An attempt's way to the model: what the agent is given, and the meter on it.

    ``unmetered`` says why there is no meter where there should be one.
    """

    route: Route
    meter: Meter | None = None
    unmetered: str = ""


@asynccontextmanager
async def open_way(
    context: RunContext, route: Route, log: Path, observe: Callable[[RequestRecord], None] | None = None
) -> AsyncIterator[Way]:
    """Put the meter on a route, unless the configuration says otherwise or it cannot sign for the route.

    Behind the meter the agent holds a key that is good for nothing else.

    Args:
        context: the run.
        route: the real way to the model.
        log: where the meter logs each request.
        observe: called with each request when it ends, where there is a meter.
    """
    async with AsyncExitStack() as stack:
        way = Way(route)
        if context.config.meter:
            try:
                passing = metered(
                    route, log, context.place.redactor, keep_bodies=context.config.keep_bodies, observe=observe
                )
                meter = await stack.enter_async_context(passing)
                way = Way(meter.route, meter)
            except CannotSign as reason:
                way = Way(route, unmetered=str(reason))
        yield way
