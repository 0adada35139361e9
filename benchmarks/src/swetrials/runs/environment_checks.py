"""The checks of what agents and tests run in, before anything is spent: what they reach, and whether they can work."""

import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from functools import partial

from swetrials.agents.session import AgentSession, Hear
from swetrials.agents.shell_canary import shell_canary
from swetrials.environments.base import Held, Network, View
from swetrials.environments.door import behind
from swetrials.environments.machine import limits_not_kept
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.preparation_checks import preparation_checks
from swetrials.environments.registries import registry_settings
from swetrials.environments.sealing import SealError, require_sealed_enough
from swetrials.hosting.base import Hosting
from swetrials.records.check import Check
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.sealing import NetworkAllowed, Sealing
from swetrials.runs.prepared_run import PreparedRun
from swetrials.runs.sealing_rules import installs_without_network, sealing_refusals
from swetrials.trials.metered_way import open_way
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import RunContext
from swetrials.wire.route import Route
from swetrials.workspace.processes import Command, LaunchError, ProcessLimits, run_group
from swetrials.workspace.space import attempt_space_aside

_SEALING = "sealing"
_SECONDS = 60.0
_HOST_FIX = "mend it, or say that it may stay open: network: open in the dataset, or --environment host"


def run_sources(prepared: PreparedRun, trials: Iterable[Trial]) -> tuple[Source, ...]:
    """Return what has to be prepared for some trials; of a commit that cannot be found another check tells."""
    dataset, commits = prepared.plan.dataset, prepared.commits()
    asked = [(trial.task, dataset.repo_address(trial.task)) for trial in trials]
    return tuple(
        Source(dataset.dataset.environment_of(task), repo, commits[repo, task.ref])
        for task, repo in asked
        if (repo, task.ref) in commits
    )


async def environment_checks(
    prepared: PreparedRun, hosting: Hosting, sources: Sequence[Source], held: AsyncExitStack
) -> AsyncIterator[Check]:
    """Seal and prepare what commands are to run in.

    Args:
        prepared: the run.
        hosting: its provider at work.
        sources: what its trials run in.
        held: holds what is prepared for as long as the run goes on.
    """
    context = prepared.context(hosting)
    environment = context.place.environment
    refusals = list(sealing_refusals(context.config, context.agent, environment, prepared.plan.networks))
    for check in refusals:
        yield check
    if refusals:
        return
    if environment.seals:
        for check in installs_without_network(prepared.plan.tasks, dict(prepared.plan.networks)):
            yield check
    specs = [source.spec for source in sources]
    for name in sorted({name for spec in specs for name in limits_not_kept(environment, spec)}):
        detail = f"{environment.kind} cannot hold commands to the dataset's {name}: they may take what the machine has"
        yield Check("limits", "warning", detail, "each record names it under environment.limits_not_kept")
    async for check in sealing_checks(context, specs):
        yield check
    async for check in preparation_checks(Preparations(context.place), sources, held):
        yield check


async def sealing_checks(context: RunContext, environments: Iterable[EnvironmentSpec]) -> AsyncIterator[Check]:
    """Start a command that does nothing in each kind of network that tasks ask for, and say what it can reach.

    Args:
        context: of the run.
        environments: what its tasks' commands run in.
    """
    by_network: dict[NetworkAllowed, EnvironmentSpec] = {}
    for spec in environments:
        known = by_network.get(spec.network, spec)
        more = tuple(dict.fromkeys((*known.registries, *spec.registries)))
        by_network[spec.network] = known.model_copy(update={"registries": more})
    for asked in by_network.values():
        try:
            sealing = await _tried(context, asked)
        except (SealError, LaunchError) as error:
            yield Check(_SEALING, "failed", str(error), _HOST_FIX)
            continue
        yield _told(sealing, require_sealed=context.config.require_sealed)
        if asked.network == "registries" and sealing.state != "open":
            settings = registry_settings(asked.registries)
            named = ", ".join(sorted(settings.hosts)) or "none: name them in environment.registries"
            yield Check("registries", "ok" if settings.hosts else "warning", f"reached by the meter: {named}")
            for line in settings.left_out:
                yield Check("registries", "warning", line)


def _told(sealing: Sealing, *, require_sealed: bool) -> Check:
    if why := sealing.refused(require_sealed=require_sealed):
        return Check(_SEALING, "failed", f"not sealed: {why}", _HOST_FIX)
    if sealing.state == "open":
        detail = f"open, {sealing.why}: an agent may look the fix up"
        return Check(_SEALING, "warning", detail, "the record, the report and the answer say so")
    reached = "the model's route and nothing else"
    if sealing.network == "registries":
        reached = "the model's route and package registries"
    return Check(_SEALING, "ok", f"{sealing.state}, {len(sealing.canaries)} canaries held: {reached} can be reached")


async def _tried(context: RunContext, asked: EnvironmentSpec) -> Sealing:
    attempt_id, known = f"{_SEALING}-{secrets.token_hex(6)}", list[Sealing]()
    route = context.hosting.route(attempt_id)
    context = context.hiding(route.secrets)
    async with attempt_space_aside(context.place.work_root, attempt_id) as space:
        view = context.place.environment.view(space, _SEALING)
        async with open_way(context, route, space.root / "requests.jsonl", asked) as way:
            door = way.door(asked, known.append)
            said = space.root / "stderr.log"
            async with behind(door, partial(_nothing, context, view), stderr=said) as (command, started):
                limits = ProcessLimits(_SECONDS)
                await run_group(
                    command, limits, mark=attempt_id, on_output=lambda data: False, stderr=said, started=started
                )
    return known[-1]


def _nothing(context: RunContext, view: View, network: Network, held: Held | None) -> Command:
    writable = view.outside.folders
    environment = context.place.environment
    return environment.command(["true"], view, variables={}, writable=writable, network=network, held=held)


async def shell_check(context: RunContext, network: NetworkAllowed) -> Check:
    """Have the agent run one command by its own shell, as an attempt would, on the scripted model.

    Args:
        context: of the run.
        network: what attempts may reach.
    """
    asked = EnvironmentSpec(network=network)
    try:
        return await shell_canary(context.agent, context.config, partial(_asked, context, asked))
    except SealError as error:
        return Check(_SEALING, "failed", str(error), _HOST_FIX)


async def _asked(
    context: RunContext, asked: EnvironmentSpec, prompt: str, route: Route, hear: Hear
) -> tuple[int | None, str]:
    attempt_id = f"shell-{secrets.token_hex(6)}"
    async with attempt_space_aside(context.place.work_root, attempt_id) as space:
        view, stderr = context.place.environment.view(space, "shell"), space.root / "stderr.log"
        async with open_way(context, route, space.root / "requests.jsonl", asked) as way:
            door = way.door(asked, require_sealed_enough)
            session: AgentSession = context.agent_session(view, prompt, way.route, space.folders, skill=None, door=door)
            ended = await session.run(ProcessLimits(_SECONDS), stderr=stderr, hear=hear)
        return ended.exit_code, context.place.last_words(stderr)
