"""What is looked at before the first model of a batch: what would fail each of them, after hours of serving."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from anyio.to_thread import run_sync

from swetrials.batch.plan import SERVED_BY_BATCH, BatchOptions
from swetrials.hosting.base import ProviderError
from swetrials.judging import Judge
from swetrials.judging.late import Datasets, outstanding
from swetrials.records.check import Check
from swetrials.runs.forecast import budget_check, forecast
from swetrials.runs.judge_choice import JudgeChoice, open_judges
from swetrials.runs.preflight import machine_checks, plan_checks, route_checks, stale_check
from swetrials.runs.prepared_run import PreparedRun
from swetrials.trials.recovery import recover_idle


async def batch_checks(prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    """Ask what each model's run will ask, so that nothing fails in the background that could be told before.

    That is machine, dataset, route, model, earlier results and budget. Models that the batch itself is to serve are not
    there yet; their own runs look at the route. The probe is left to the runs, too: it costs a call each. Each judge
    answers one real call.
    """
    good = True
    async for check in _free_checks(prepared_runs, options):
        if check.asks and not options.yes:
            check = replace(check, status="failed")
        good = good and check.status != "failed"
        yield check
    if good and options.judge_mode != "skip":
        async for check in _judge_checks(prepared_runs, options):
            yield check


async def _free_checks(prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    first = prepared_runs[0]
    for check in machine_checks(first.agent, first.project, first.place.environment, first.place.work_root):
        yield check
    async for check in plan_checks(first):
        yield check
    for prepared in prepared_runs:
        for check in [*await _hosting_checks(prepared), *await run_sync(_own_checks, prepared, options)]:
            yield replace(check, detail=f"{prepared.config.model}: {check.detail}")


async def _hosting_checks(prepared: PreparedRun) -> Sequence[Check]:
    if prepared.config.provider == SERVED_BY_BATCH:
        return []
    try:
        async with prepared.provider.open(prepared.config) as hosting:
            return [check async for check in route_checks(prepared.agent, hosting)]
    except ProviderError as error:
        return [Check("provider", "failed", str(error), "see: swetrials batch --help")]


def _own_checks(prepared: PreparedRun, options: BatchOptions) -> Sequence[Check]:
    for scope in prepared.plan.scopes:
        recover_idle(scope, prepared.prices)
    found = prepared.standings()
    finished = sum(standing.finished for standing in found) if options.resume else 0
    return [
        stale_check(found, yes=options.yes, resume=options.resume, force=options.force),
        budget_check(prepared, forecast(prepared, found, len(found) - finished, resume=options.resume)),
    ]


async def _judge_checks(prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> AsyncIterator[Check]:
    prepared = prepared_runs[0]
    choice = JudgeChoice.of(prepared.config)
    rehearsal = prepared.provider.scripted
    files = [prepared.plan.dataset.path]
    async with open_judges(options.judges, choice, prepared.project, rehearsal=rehearsal, datasets=files) as judges:
        for judge in judges:
            if not await run_sync(_needed, judge, prepared_runs, options):
                continue
            check = await judge.prove(prepared.place)
            if check.status == "skipped":
                # Every trial would stay without this judge's word, and every model would be a failure for it.
                check = replace(check, status="failed", fix=f"{check.fix}; or leave {judge.name} out of --judge")
            yield check


def _needed(judge: Judge, prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> bool:
    """Whether the batch will have something to ask a judge: a trial that is to run, or one without its word."""
    if not options.resume or any(
        not standing.finished for prepared in prepared_runs for standing in prepared.standings()
    ):
        return True
    folders = [trial.folder for prepared in prepared_runs for trial in prepared.plan.trials]
    datasets = Datasets(prepared_runs[0].plan.dataset, prepared_runs[0].project.dataset)
    return outstanding(folders, judge, datasets, overwrite=False, repo=None)
