"""Many trials: as many at a time as asked for, each leaving its record whatever becomes of the others."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio

from swetrials.records.known import known_sum
from swetrials.records.metrics import Metrics
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import write_record
from swetrials.store.results import ATTEMPTS, TrialFolder, move_to_trash, state_of
from swetrials.trials.crew import Crew
from swetrials.trials.executors.base import Machines
from swetrials.trials.executors.local import HERE
from swetrials.trials.standing import Standing
from swetrials.trials.trial import Observer, leave_out, run_trial
from swetrials.workspace.places import one_of

T = TypeVar("T")


async def run_trials(
    crew: Crew,
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
        crew: what the trials share.
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
        earlier = standing.earlier  # read while the folder is still in its place
        if crew.budget.closed:
            records[index] = leave_out(
                crew, dataset, standing.trial, planned_at, observe, keep=standing.stale, earlier=earlier
            )
            return
        with _in_place_of(standing, results):
            records[index] = await run_trial(crew, dataset, standing.trial, planned_at, observe, machines, earlier)

    await in_turn(crew, range(len(standings)), one)
    return [records[index] for index in sorted(records)]


async def in_turn(crew: Crew, items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do some work on each item, at most ``concurrency`` at a time, and count the budget meanwhile.

    Work begins in the order of the items, never while the provider throttles, and within ``provider_concurrency``
    of all that share the working folder. It has to look for itself whether the budget is spent by then.
    """
    places = anyio.CapacityLimiter(crew.config.concurrency)

    async def one(item: T) -> None:
        async with places, _place_at_provider(crew):
            await crew.backoff.over()
            await work(item)

    async with anyio.create_task_group() as counting:
        counting.start_soon(crew.budget.keep_counting)
        async with anyio.create_task_group() as group:
            for item in items:
                group.start_soon(one, item)
        counting.cancel_scope.cancel()


def _place_at_provider(crew: Crew) -> AbstractAsyncContextManager[None]:
    limit = crew.config.provider_concurrency
    return one_of(crew.work_root / "places" / crew.config.provider, limit) if limit else nullcontext()


@contextmanager
def _in_place_of(standing: Standing, results: Path) -> Iterator[None]:
    """Move what is on disk of a trial to the trash while a new one is made, and back if that came to nothing.

    A finished trial of this very run is worth more than one that was interrupted or met a failure of somebody else's.
    Attempts that go on being the trial's own stay where they are, and no dollar goes to the trash alone: what the
    trial that stays does not count as its own, it says beside.
    """
    aside = move_to_trash(standing.folder, results) if standing.stale else None
    if aside is not None and standing.earlier.attempts and (aside / ATTEMPTS).is_dir():
        standing.folder.path.mkdir(parents=True)
        (aside / ATTEMPTS).rename(standing.folder.path / ATTEMPTS)
    try:
        yield
    finally:
        if aside is not None and standing.finished and not _says_something(made := state_of(standing.folder)):
            move_to_trash(standing.folder, results)
            aside.rename(standing.folder.path)
            _count_beside(standing.folder, made)


def _count_beside(kept: TrialFolder, vain: object) -> None:
    """Enter into the record that stays what the trial that was to replace it has cost."""
    spent_usd = vain.total_cost_usd if isinstance(vain, Metrics) else None
    if spent_usd:
        record = kept.metrics()
        elsewhere_usd = known_sum([record.spent_elsewhere_usd, spent_usd])
        write_record(kept.metrics_file, record.model_copy(update={"spent_elsewhere_usd": elsewhere_usd}))


def _says_something(state: object) -> bool:
    return isinstance(state, Metrics) and state.outcome.valid
