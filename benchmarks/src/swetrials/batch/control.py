"""Working through a batch: one model after another, judging beside or between them, nothing left unjudged at the end.

Judging, summary and commit of a model are one unit: a summary is committed after its scores are there, or not at all.
Units may run side by side, since every judge works in a checkout of its own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from swetrials.batch.budget import left_usd
from swetrials.batch.plan import BatchPlan, PlannedModel
from swetrials.batch.status import BatchStatus, Board
from swetrials.tasks.committing import CommitError, commit_files

Step = Callable[[str, tuple[str, ...]], Awaitable[int]]
"""Runs the command with some words, its output behind a label, and returns its exit code."""

_RAN = (0, 1)
# Exit codes of a run that has left trials to be judged; of 1 some failed for another reason than the model.

_MEANING = {
    1: "some trials failed for another reason than the model",
    2: "bad usage or configuration: nothing was run",
    3: "pre-flight failed: nothing was run",
    130: "interrupted; --resume goes on",
}


async def run_batch(plan: BatchPlan, board: Board, step: Step) -> BatchStatus:
    """Work through a batch and return how it came out; what fails for one model keeps nothing from the others.

    Cancelling it ends the step that is under way in good order, and the server and the collector as well.
    """
    try:
        async with anyio.create_task_group() as tasks:
            # An interruption hits the task that waits here, whatever shield it stands behind; the work in tasks of
            # its own hears of it as a cancellation, which waits while server and collector are ended.
            tasks.start_soon(_one_after_another, plan, board, step)
    finally:
        board.end()
    return board.status


async def _one_after_another(plan: BatchPlan, board: Board, step: Step) -> None:
    units = anyio.CapacityLimiter(plan.judge_parallel)
    commits = anyio.Lock()
    async with anyio.create_task_group() as background, _server(plan, step):
        for model in plan.models:
            if not await _run(plan, model, board, step) or plan.judge_mode == "skip":
                board.judging(model.model, "none")
            elif plan.judge_mode == "inline":
                await _judge(plan, model, board, step, units, commits)
            else:
                background.start_soon(_judge, plan, model, board, step, units, commits)


@asynccontextmanager
async def _server(plan: BatchPlan, step: Step) -> AsyncIterator[None]:
    """See to it that no model is served any more than there is a run for."""
    try:
        yield
    finally:
        if plan.serves:
            with anyio.CancelScope(shield=True):
                await step("serve", ("serve", "stop"))


async def _run(plan: BatchPlan, model: PlannedModel, board: Board, step: Step) -> bool:
    """Run a model's trials and return whether there is something to judge."""
    name, budget_usd = model.model, left_usd(plan, model)
    if budget_usd is not None and budget_usd <= 0:
        board.problem(name, f"run: nothing is left of --max-budget-usd {plan.max_budget_usd:g}")
        board.run(name, "failed")
        return False
    if plan.serves:
        board.run(name, "serving")
        if code := await step(f"{name} serve", plan.serve(model)):
            board.problem(name, f"serve: {_meaning(code)}")
            board.run(name, "failed")
            return False
    board.run(name, "running")
    async with _collected(plan, model, board, step):
        code = await step(f"{name} run", plan.run(model, budget_usd))
    if code:
        board.problem(name, f"run: {_meaning(code)}")
    board.run(name, "failed" if code else "done")
    return code in _RAN


@asynccontextmanager
async def _collected(plan: BatchPlan, model: PlannedModel, board: Board, step: Step) -> AsyncIterator[None]:
    """Collect the server's metrics meanwhile. That there are none is said, and keeps nobody from running."""
    if not plan.serves:
        yield
        return
    label = f"{model.model} collect"
    with anyio.CancelScope(shield=True):  # or nobody would know whether there is a collector to be stopped
        collecting = await step(label, plan.collect(model)) == 0
    if not collecting:
        board.remark(model.model, "the server's metrics are not collected")
    try:
        yield
    finally:
        if collecting:
            with anyio.CancelScope(shield=True):
                await step(label, ("collect", "stop"))
                if await step(label, plan.archive(model)) != 0:
                    board.remark(model.model, "the server's metrics are not archived")


async def _judge(
    plan: BatchPlan, model: PlannedModel, board: Board, step: Step, units: anyio.CapacityLimiter, commits: anyio.Lock
) -> None:
    """Judge a model's trials, summarise them, and commit the summaries."""
    name = model.model
    async with units:
        board.judging(name, "judging")
        problems = []
        for scope in model.scopes:
            if code := await step(f"{name} judge", plan.judge(scope)):
                problems.append(f"judging of {scope.name}: {_judging_meaning(code)}")
            if code := await step(f"{name} summary", ("summarize", f"--folder={scope}")):
                problems.append(f"summary of {scope.name}: exit code {code}")
        for problem in problems:
            board.problem(name, problem)
        if plan.commit:
            await _commit(model, board, commits, problems)
        board.judging(name, "failed" if problems else "done")


async def _commit(model: PlannedModel, board: Board, commits: anyio.Lock, problems: list[str]) -> None:
    if problems:
        board.remark(model.model, "not committed: scores are missing")
        return
    files: list[Path] = [scope / f"run-summary.{kind}" for scope in model.scopes for kind in ("json", "md")]
    try:
        async with commits:
            commit = await run_sync(commit_files, files, f"Run summary of {model.model}")
    except CommitError as error:
        board.remark(model.model, f"not committed: {error}")
    else:
        board.remark(model.model, f"committed: {commit}" if commit else "committed already, unchanged")


def _meaning(code: int) -> str:
    return f"exit code {code}{f' ({_MEANING[code]})' if code in _MEANING else ''}"


def _judging_meaning(code: int) -> str:
    return "a judge failed, its trials are unscored" if code == 1 else f"exit code {code}"
