"""From an agent's launch to what really runs: private files, sandbox, allow-listed environment, metered route."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents.base import Job, Launch, Skill
from swetrials.records.config import RunnerConfig
from swetrials.records.requests import RequestRecord
from swetrials.trials.run_context import RunContext, Sandbox
from swetrials.wire.meter import CannotSign, Meter, metered
from swetrials.wire.route import Route
from swetrials.workspace.environment import allowed_environment
from swetrials.workspace.processes import Command
from swetrials.workspace.sandbox import confined
from swetrials.workspace.space import Space


def job_for(skill: Skill, config: RunnerConfig, space: Space, prompt: str, route: Route) -> Job:
    """Return what the agent's driver has to know of an attempt."""
    return Job(
        prompt=prompt,
        skill=skill,
        route=route,
        checkout=space.checkout,
        home=space.home,
        temporary=space.temporary,
        artifacts=space.artifacts,
        config=config,
    )


def command_for(
    sandbox: Sandbox, installation: Path | None, space: Space, launch: Launch, writable: Sequence[Path]
) -> Command:
    """Return what really runs: the agent's words, sandboxed when there is one, in an allow-listed environment.

    A dry run shows this very command.

    Args:
        sandbox: the run's.
        installation: the folder that the agent is installed in; ``None``: it is not.
        space: the agent's folders, all of which it may read.
        launch: how to start it.
        writable: those of its folders that it may change, where there is a sandbox.
    """
    argv = launch.argv
    shown = [path for path in (installation, None if space.root in writable else space.root) if path is not None]
    if sandbox.bwrap is not None:
        argv = confined(
            argv,
            bwrap=sandbox.bwrap,
            writable=writable,
            hidden=sandbox.hidden,
            readable=[*sandbox.readable, *shown],
        )
    return Command(argv, space.checkout, allowed_environment(space.home, space.temporary, launch.environment))


def write_files(launch: Launch) -> None:
    """Put a launch's private files where they belong."""
    for path, text in launch.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


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
                passing = metered(route, log, context.redactor, keep_bodies=context.config.keep_bodies, observe=observe)
                meter = await stack.enter_async_context(passing)
                way = Way(meter.route, meter)
            except CannotSign as reason:
                way = Way(route, unmetered=str(reason))
        yield way
