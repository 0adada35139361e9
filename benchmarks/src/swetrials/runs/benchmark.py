"""Running a plan: pre-flight, clearing or resuming, then the trials."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from anyio.to_thread import run_sync
from filelock import FileLock, Timeout

from swetrials.errors import KnownError, UsageError
from swetrials.hosting.base import Hosting
from swetrials.records.check import Check
from swetrials.records.lock import JudgePin
from swetrials.records.metrics import Metrics
from swetrials.records.sealing import closest
from swetrials.runs.controls import task_controls
from swetrials.runs.environment_checks import environment_checks, run_sources, shell_check
from swetrials.runs.forecast import budget_check, forecast
from swetrials.runs.lockfile import locked
from swetrials.runs.preflight import machine_checks, plan_checks, probe, route_checks, stale_check
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.results import TRASH, TrialFolder
from swetrials.trials.executors.base import Machines
from swetrials.trials.executors.local import HERE
from swetrials.trials.recovery import recover_killed
from swetrials.trials.resume_state import marked
from swetrials.trials.run_context import Listener, RunContext
from swetrials.trials.schedule import run_trials
from swetrials.trials.trial import Observer


class PreflightError(KnownError):
    """A check failed before anything was spent; the checks have been shown by then."""

    exit_code = 3


class Viewer(Protocol):
    """Somebody watching a run."""

    def check(self, check: Check) -> None:
        """Take in one line of the pre-flight."""

    def say(self, line: str) -> None:
        """Take in something worth telling."""

    def expect(self, trials: int) -> None:
        """Take in how many trials are about to run."""

    @property
    def progress(self) -> Observer:
        """Takes in how a trial is getting on."""

    @property
    def listener(self) -> Listener | None:
        """Takes in what agents say and do, if the person wants to see that."""


@dataclass(frozen=True)
class RunOptions:
    """What a person decides for one invocation; nothing of it changes what a trial measures."""

    yes: bool = False
    resume: bool = False
    force: bool = False
    skip_probe: bool = False
    keep_checkouts: bool = False


@dataclass(frozen=True)
class RunResult:
    """The records of a run: those made now and those that were finished before."""

    made: tuple[Metrics, ...] = ()
    kept: tuple[Metrics, ...] = ()
    folders: tuple[TrialFolder, ...] = field(default=())

    @property
    def infrastructure_failures(self) -> tuple[Metrics, ...]:
        """Trials that ended for another reason than model or agent."""
        return tuple(metrics for metrics in (*self.kept, *self.made) if not metrics.outcome.valid)


async def run_plan(
    prepared: PreparedRun,
    hosting: Hosting,
    options: RunOptions,
    viewer: Viewer,
    more_checks: Callable[[int], Awaitable[Sequence[Check]]] | None = None,
    judge: JudgePin | None = None,
) -> RunResult:
    """Check everything, then run the trials that are to be run.

    Args:
        prepared: the planned run.
        hosting: its provider at work.
        options: what the person decided for this invocation.
        viewer: who is watching.
        more_checks: what else has to hold before anything is spent, such as a judge that answers; it is told how many
            trials are to run.
        judge: who is to judge afterwards, for the lock.

    Raises:
        PreflightError: a check failed; nothing was spent.
        MachinesError: the machines that agents are to run on cannot be reached.
        UsageError: another run is writing to the same results.
    """
    with _only_run(prepared.plan.scopes):
        recover_killed(prepared.plan.scopes, prepared.prices)
        controls = await run_sync(task_controls, prepared)
        prepared = controls.applied(prepared)
        standing = await run_sync(prepared.standings)
        kept = [s for s in standing if options.resume and s.stays(force=options.force)]
        to_run = [s for s in standing if s not in kept]
        expected = forecast(prepared, standing, len(to_run), resume=options.resume)
        on_disk = stale_check(standing, yes=options.yes, resume=options.resume, force=options.force)
        about = (*controls.lines(), on_disk, budget_check(prepared, expected))
        async with AsyncExitStack() as held, prepared.executor.open(prepared.config) as machines:
            more = partial(more_checks, len(to_run)) if more_checks else None
            asked = run_sources(prepared, [standing.trial for standing in to_run])
            environment = environment_checks(prepared, hosting, asked, held)
            await preflight(prepared, hosting, options, viewer, about, environment, more, machines, idle=not to_run)
            if in_the_way := sum(s.stale for s in to_run):
                viewer.say(f"  earlier trials move to {prepared.plan.output / TRASH} as theirs begin: {in_the_way}")
            viewer.expect(len(to_run))
            budget = expected.budget(prepared.config.max_budget_usd)
            context = prepared.context(hosting, keep_checkouts=options.keep_checkouts, budget=budget)
            context = replace(context, listen=viewer.listener or context.listen)
            stay = [metrics for metrics in map(marked, kept) if metrics is not None]
            with locked(prepared, judge):
                made = await run_trials(
                    context, prepared.plan.dataset, to_run, prepared.plan.output, viewer.progress, machines
                )
    return RunResult(
        tuple(made),
        tuple(stay),
        tuple(trial.folder for trial in prepared.plan.trials),
    )


async def preflight(
    prepared: PreparedRun,
    hosting: Hosting,
    options: RunOptions,
    viewer: Viewer,
    about: Sequence[Check],
    environment: AsyncIterator[Check],
    more_checks: Callable[[], Awaitable[Sequence[Check]]] | None = None,
    machines: Machines = HERE,
    *,
    idle: bool = False,
) -> None:
    """Check everything that a planned run of agents needs, and show each check as it is made.

    Args:
        prepared: the planned run.
        hosting: its provider at work.
        options: what the person decided for this invocation.
        viewer: who is watching.
        about: what has been found out about the results and the budget.
        environment: what commands run in; not asked when something failed.
        more_checks: what else has to hold before anything is spent; not asked when something failed.
        machines: where the agents are to run.
        idle: nothing is to run, so that no call of the model has to be made to prove that it could.

    Raises:
        PreflightError: a check failed; nothing was spent.
    """
    failed, spent = False, "nothing was spent"

    def show(check: Check) -> None:
        nonlocal failed
        if check.asks and not options.yes:
            check = replace(check, status="failed")
        failed |= check.status == "failed"
        viewer.check(check)

    async for check in _first_checks(prepared, hosting, about):
        show(check)
    for check in () if failed else await machines.checks(prepared.context(hosting), hosting.route("preflight")):
        show(check)
    if not idle and not failed:
        async for check in environment:
            show(check)
    if idle:
        show(Check("probe", "skipped", "no test call was made: nothing is to run"))
    elif options.skip_probe:
        show(Check("probe", "skipped", "no test call was made (--skip-probe)"))
    elif not failed:
        async for check in _agent_checks(prepared, prepared.context(hosting)):
            show(check)
        if prepared.provider.priced == "tokens":
            spent = "and nothing was spent but for a billed probe"
    for check in await more_checks() if more_checks and not failed else ():
        show(check)
    if failed:
        raise PreflightError(f"pre-flight failed: nothing was run, {spent}")


async def _first_checks(prepared: PreparedRun, hosting: Hosting, about: Sequence[Check]) -> AsyncIterator[Check]:
    place = prepared.place
    for check in machine_checks(prepared.agent, prepared.project, place.environment, place.work_root):
        yield check
    async for check in plan_checks(prepared):
        yield check
    async for check in route_checks(prepared.agent, hosting):
        yield check
    for check in about:
        yield check


async def _agent_checks(prepared: PreparedRun, context: RunContext) -> AsyncIterator[Check]:
    if not prepared.provider.scripted:  # there nothing is lost by an agent that cannot work
        yield (shell := await shell_check(context, closest(network for _, network in prepared.plan.networks)))
        if shell.status == "failed":
            return
    yield await probe(prepared, context)


@contextmanager
def _only_run(scopes: Sequence[Path]) -> Iterator[None]:
    """Hold the results folders of a run, so that two runs never write the same trial."""
    with ExitStack() as held:
        for scope in sorted(scopes):
            try:
                scope.mkdir(parents=True, exist_ok=True)
                held.enter_context(FileLock(scope / ".lock", timeout=0))
            except Timeout:
                raise UsageError(f"another run is writing to {scope}; wait for it to end") from None
            except OSError as error:
                raise UsageError(f"output_dir: {scope} cannot be written: {error.strerror}; choose another") from None
        yield
