"""What is looked at before the first model of a batch: what would fail each of them, after hours of serving."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from anyio.to_thread import run_sync

from swetrials.pipeline.batch_plan import BatchOptions
from swetrials.pipeline.judge_choice import JudgeChoice, open_judges
from swetrials.pipeline.preflight import machine_checks, plan_checks, stale_check
from swetrials.pipeline.workbench import Workbench
from swetrials.providers.base import Check


async def batch_checks(benches: Sequence[Workbench], options: BatchOptions) -> AsyncIterator[Check]:
    """Look at the machine, the dataset, earlier results and the judges; each judge answers one real call.

    Everything else is looked at by each model's own run.
    """
    good = True
    async for check in _free_checks(benches, options):
        good = good and check.status != "failed"
        yield check
    if good and options.judge_mode != "skip":
        async for check in _judge_checks(benches[0], options):
            yield check


async def _free_checks(benches: Sequence[Workbench], options: BatchOptions) -> AsyncIterator[Check]:
    first = benches[0]
    for check in machine_checks(first.agent, first.project, first.sandbox, first.work_root):
        yield check
    async for check in plan_checks(first):
        yield check
    for bench in benches:
        found = await run_sync(bench.standings)
        check = stale_check(found, yes=options.yes, resume=options.resume, force=options.force)
        yield replace(check, detail=f"{bench.config.model}: {check.detail}")


async def _judge_checks(bench: Workbench, options: BatchOptions) -> AsyncIterator[Check]:
    choice = JudgeChoice(options.judge_provider, options.judge_model)
    rehearsal = bench.config.provider == "rehearsal"
    files = [bench.plan.dataset.path]
    async with open_judges(options.judges, choice, bench.project, rehearsal=rehearsal, datasets=files) as judges:
        for judge in judges:
            check = await judge.prove(bench.judging)
            if check.status == "skipped":
                # Every trial would stay without this judge's word, and every model would be a failure for it.
                check = replace(check, status="failed", mend=f"{check.mend}; or leave {judge.name} out of --judge")
            yield check
