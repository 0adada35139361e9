"""What is looked at before the first model of a batch: what would fail each of them, after hours of serving."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from anyio.to_thread import run_sync

from swetrials.batch.plan import SERVED_BY_BATCH, BatchOptions
from swetrials.hosting.base import Check, ProviderError
from swetrials.judging import Judge
from swetrials.judging.late import Datasets, outstanding
from swetrials.runs.forecast import budget_check, forecast
from swetrials.runs.judge_choice import JudgeChoice, open_judges
from swetrials.runs.preflight import machine_checks, plan_checks, route_checks, stale_check
from swetrials.runs.prepared_run import PreparedRun
from swetrials.trials.recovery import recover_idle


async def batch_checks(benches: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    """Ask what each model's run will ask, so that nothing fails in the background that could be told before.

    That is machine, dataset, route, model, earlier results and budget. Models that the batch itself is to serve are not
    there yet; their own runs look at the route. The probe is left to the runs, too: it costs a call each. Each judge
    answers one real call.
    """
    good = True
    async for check in _free_checks(benches, options):
        if check.asks and not options.yes:
            check = replace(check, status="failed")
        good = good and check.status != "failed"
        yield check
    if good and options.judge_mode != "skip":
        async for check in _judge_checks(benches, options):
            yield check


async def _free_checks(benches: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    first = benches[0]
    for check in machine_checks(first.agent, first.project, first.sandbox, first.work_root):
        yield check
    async for check in plan_checks(first):
        yield check
    for bench in benches:
        for check in [*await _hosting_checks(bench), *await run_sync(_own_checks, bench, options)]:
            yield replace(check, detail=f"{bench.config.model}: {check.detail}")


async def _hosting_checks(bench: PreparedRun) -> Sequence[Check]:
    if bench.config.provider == SERVED_BY_BATCH:
        return []
    try:
        async with bench.provider.open(bench.config) as hosting:
            return [check async for check in route_checks(bench.agent, hosting)]
    except ProviderError as error:
        return [Check("provider", "failed", str(error), "see: swetrials batch --help")]


def _own_checks(bench: PreparedRun, options: BatchOptions) -> Sequence[Check]:
    for scope in bench.plan.scopes:
        recover_idle(scope, bench.prices)
    found = bench.standings()
    finished = sum(standing.finished for standing in found) if options.resume else 0
    return [
        stale_check(found, yes=options.yes, resume=options.resume, force=options.force),
        budget_check(bench, forecast(bench, found, len(found) - finished, resume=options.resume)),
    ]


async def _judge_checks(benches: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    bench = benches[0]
    choice = JudgeChoice.of(bench.config)
    rehearsal = bench.provider.scripted
    files = [bench.plan.dataset.path]
    async with open_judges(options.judges, choice, bench.project, rehearsal=rehearsal, datasets=files) as judges:
        for judge in judges:
            if not await run_sync(_needed, judge, benches, options):
                continue
            check = await judge.prove(bench.judging)
            if check.status == "skipped":
                # Every trial would stay without this judge's word, and every model would be a failure for it.
                check = replace(check, status="failed", mend=f"{check.mend}; or leave {judge.name} out of --judge")
            yield check


def _needed(judge: Judge, benches: Sequence[PreparedRun], options: BatchOptions) -> bool:
    """Whether the batch will have something to ask a judge: a trial that is to run, or one without its word."""
    if not options.resume or any(not standing.finished for bench in benches for standing in bench.standings()):
        return True
    folders = [trial.folder for bench in benches for trial in bench.plan.trials]
    datasets = Datasets(benches[0].plan.dataset, benches[0].project.dataset)
    return outstanding(folders, judge, datasets, overwrite=False, repo=None)
