"""Many trials: as many at a time as asked for, each leaving its record whatever becomes of the others."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio

from swetrials.records.known import known_sum
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import write_record
from swetrials.store.results import ATTEMPTS, TrialFolder, move_files, move_to_trash, state_of
from swetrials.trials.earlier import Earlier
from swetrials.trials.executors.base import Machines
from swetrials.trials.executors.local import HERE
from swetrials.trials.record import TrialLedger, record_of
from swetrials.trials.resume_state import Standing
from swetrials.trials.run_context import RunContext
from swetrials.trials.trial import Observer, environment_failure, leave_out, run_trial
from swetrials.workspace.semaphore import one_of
from swetrials.workspace.space import remove_tree

T = TypeVar("T")


async def run_trials(
    context: RunContext,
    dataset: LoadedDataset,
    standings: Sequence[Standing],
    results: Path,
    observe: Observer,
    machines: Machines = HERE,
) -> list[Metrics]:
    """Run trials in their order, at most ``concurrency`` at a time, and return their records in that order.

    So there are never more checkouts than that on disk. ``provider_concurrency`` holds over all runs that share the
    working folder. Nothing begins while the provider throttles, nor once the
    budget is spent: what is left then gets a record that says so. Cancelling it stops every agent, leaves an
    ``interrupted`` record for each trial that had started, and goes on to the caller.

    Args:
        context: what the trials share.
        dataset: where their tasks are from.
        standings: the trials, with what is on disk of them.
        results: root of the results tree, where earlier trials are moved to the trash.
        observe: called with each trial's progress.
        machines: where their attempts are made.
    """
    planned_at = datetime.now(UTC)
    records: dict[int, Metrics] = {}

    async def one(index: int) -> None:
        standing = standings[index]
        earlier = standing.earlier  # read while everything is still in its place
        about = context, dataset, standing.trial, planned_at
        if context.budget.closed:
            spent = Outcome.of(OutcomeKind.BUDGET_SPENT, f"not begun: {context.budget.told}")
            records[index] = leave_out(*about, observe, earlier, spent, keep=standing.stale)
            return
        now = datetime.now(UTC)
        unbegun = record_of(TrialLedger(*about, now, earlier, commit=standing.commit), now)
        try:
            aside = _set_aside(standing, unbegun, results)
        except OSError as error:
            records[index] = leave_out(*about, observe, earlier, environment_failure(error), keep=True)
            return
        try:
            records[index] = await run_trial(*about, observe, earlier, machines)
        finally:
            _put_back(standing, aside, results)

    await in_turn(context, range(len(standings)), one)
    return [records[index] for index in sorted(records)]


async def in_turn(context: RunContext, items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do some work on each item, at most ``concurrency`` at a time, and count the budget meanwhile.

    Work begins in the order of the items, never while the provider throttles, and within ``provider_concurrency``
    of all that share the working folder. It has to look for itself whether the budget is spent by then.
    """
    places = anyio.CapacityLimiter(context.config.concurrency)

    async def one(item: T) -> None:
        async with places, _place_at_provider(context):
            await context.backoff.over()
            await work(item)

    async with anyio.create_task_group() as counting:
        counting.start_soon(context.budget.keep_counting)
        async with anyio.create_task_group() as group:
            for item in items:
                group.start_soon(one, item)
        counting.cancel_scope.cancel()


def _place_at_provider(context: RunContext) -> AbstractAsyncContextManager[None]:
    limit = context.config.provider_concurrency
    return one_of(context.place.work_root / "places" / context.config.provider, limit) if limit else nullcontext()


def _set_aside(standing: Standing, unbegun: Metrics, results: Path) -> Path | None:
    """Move what is on disk of a trial to the trash while a new one is made, and return where it is now.

    Attempts that go on being the trial's own stay where they are, and no dollar goes to the trash alone: what the
    trial that stays does not count as its own, it says beside, in the record that is there from the first moment.
    """
    if not standing.stale:
        return None
    keep = (ATTEMPTS,) if standing.earlier.attempts else ()
    return move_to_trash(standing.folder, results, unbegun, keep)


def _put_back(standing: Standing, aside: Path | None, results: Path) -> None:
    """Put a finished trial of this very run back where a new one came to nothing, with what that one has cost beside.

    It is worth more than one that was interrupted or met a failure of somebody else's.
    """
    folder = standing.folder
    made = state_of(folder)
    if aside is None or not standing.finished or not isinstance(made, Metrics) or made.outcome.valid:
        return
    kept, vain = TrialFolder(aside).metrics(), Earlier.of_another(made.model_copy(update={"spent_elsewhere_usd": None}))
    move_to_trash(folder, results, made)
    move_files(aside, folder.path)
    beside = {
        "spent_elsewhere_usd": known_sum([kept.spent_elsewhere_usd, vain.elsewhere_usd or None]),
        "spent_elsewhere_is_lower_bound": kept.spent_elsewhere_is_lower_bound or vain.elsewhere_is_lower_bound,
    }
    write_record(folder.metrics_file, kept.model_copy(update=beside))
    remove_tree(aside)
