"""One trial from its first record to its last: attempts, artifacts, and ``metrics.json`` written last."""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.events import Tally
from swetrials.environments.base import PreparationError
from swetrials.environments.sealing import SealError
from swetrials.hosting.base import ProviderError
from swetrials.records.known import known_sum
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import Blame, Outcome, OutcomeKind
from swetrials.store.documents import LoadedDataset
from swetrials.store.files import write_atomically, write_record
from swetrials.trials.attempt import ATTEMPT_ERRORS
from swetrials.trials.earlier import Earlier
from swetrials.trials.executors.base import Machines
from swetrials.trials.executors.local import HERE
from swetrials.trials.plan import Trial
from swetrials.trials.record import TrialLedger, record_of
from swetrials.trials.retry_policy import next_order
from swetrials.trials.run_context import Order, RunContext
from swetrials.trials.trajectory_building import TRAJECTORY
from swetrials.workspace.git import GitError
from swetrials.workspace.space import require_room

_STATES = {"first": "working", "topup": "topping up", "retry": "working again"}


@dataclass(frozen=True)
class Progress:
    """A trial as a person watching wants to see it."""

    trial: Trial
    state: str
    turns: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    outcome: Outcome | None = None


Observer = Callable[[Progress], None]


async def run_trial(
    context: RunContext,
    dataset: LoadedDataset,
    trial: Trial,
    planned_at: datetime,
    observe: Observer,
    earlier: Earlier,
    machines: Machines = HERE,
) -> Metrics:
    """Run one trial and return its record, which is on disk by then, unless the disk refuses it.

    A record that says ``interrupted`` is written first, so that even a killed harness leaves one, with what was given;
    the final record replaces it in one step, after every other file of the trial is in place. What earlier sessions
    have left of the trial is in both.
    """
    ledger = TrialLedger(context, dataset, trial, planned_at, datetime.now(UTC), earlier)
    repo = dataset.repo_address(trial.task)
    try:
        observe(_progress(ledger, "checkout"))
        require_room(context.place.work_root, trial.folder.path)
        ledger.commit = await run_sync(context.place.repositories.resolve, repo, trial.task.ref)
        write_record(trial.folder.metrics_file, record_of(ledger, ended=None))
        asked = dataset.dataset.environment_of(trial.task)
        number = ledger.earlier.next_number
        order = Order(trial, repo, ledger.commit, number=number, reason="first", environment=asked)
        await _attempts(ledger, order, observe, machines)
    except ATTEMPT_ERRORS as error:
        ledger.failure = environment_failure(error)
    except anyio.get_cancelled_exc_class():
        _finish(ledger, observe)
        raise
    return _finish(ledger, observe)


def leave_out(
    context: RunContext,
    dataset: LoadedDataset,
    trial: Trial,
    planned_at: datetime,
    observe: Observer,
    earlier: Earlier,
    why: Outcome,
    *,
    keep: bool,
) -> Metrics:
    """Return the record of a trial that was not begun.

    Args:
        context: what the trials share.
        dataset: where its task is from.
        trial: the trial.
        planned_at: when it was planned.
        observe: called with its end.
        earlier: what earlier sessions have left of it.
        why: what kept it from being begun.
        keep: leave what is on disk of it; without that, the record is written.
    """
    now = datetime.now(UTC)
    ledger = TrialLedger(context, dataset, trial, planned_at, now, earlier, failure=why)
    if not keep:
        return _finish(ledger, observe)
    metrics = record_of(ledger, now)
    observe(Progress(trial, "done", outcome=metrics.outcome))
    return metrics


async def _attempts(ledger: TrialLedger, order: Order, observe: Observer, machines: Machines) -> None:
    context, trial = ledger.context, ledger.trial

    def watch(tally: Tally, cost_usd: float | None) -> None:
        state = f"retrying ({tally.pending_retry.reason})" if tally.pending_retry else _STATES[order.reason]
        observe(_progress(ledger, state, tally.turns, tally.usage.usage.total, cost_usd))

    while True:
        if machines.waiting:
            observe(_progress(ledger, machines.waiting))
        attempt = await machines.attempt(context, order, ledger.attempts, watch)
        following = next_order(context.config, order, ledger.attempts)
        if following is None or context.budget.closed:
            return
        write_record(trial.folder.metrics_file, record_of(ledger, ended=None))
        if attempt.record.outcome.kind is OutcomeKind.RATE_LIMITED:
            context.backoff.throttled()  # the meter, where there is one, has said so already
        if context.backoff.seconds_left:
            observe(_progress(ledger, "waiting for the provider"))
        order = replace(following, queued_seconds=await context.backoff.over())


def _progress(
    ledger: TrialLedger, state: str, turns: int = 0, tokens: int | None = None, cost_usd: float | None = None
) -> Progress:
    """Return how a trial is getting on: what the attempt under way has come to, and all of those before it."""
    before = ledger.records
    return Progress(
        ledger.trial,
        state,
        turns + sum(attempt.num_turns or 0 for attempt in before),
        known_sum([*(attempt.usage.headline.usage.total for attempt in before), tokens]),
        known_sum([*(attempt.cost.amount_usd for attempt in before), cost_usd]),
    )


def environment_failure(error: Exception) -> Outcome:
    """Return the outcome of what an exception has kept from being done, or from coming to its end."""
    detail = str(error)
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Outcome.of(OutcomeKind.DISK_FULL, detail)
    if isinstance(error, ProviderError):
        return Outcome.of(OutcomeKind.AUTH_FAILED, detail)
    if isinstance(error, SealError):
        return Outcome.of(OutcomeKind.NOT_SEALED, detail)
    if isinstance(error, PreparationError):
        return Outcome.of(OutcomeKind.PREPARATION_FAILED, detail)
    if isinstance(error, GitError):
        return Outcome.of(OutcomeKind.CHECKOUT_FAILED, detail)
    return Outcome.of(OutcomeKind.AGENT_CRASHED, detail, blame=Blame.ENVIRONMENT)


def _finish(ledger: TrialLedger, observe: Observer) -> Metrics:
    ended = datetime.now(UTC)
    try:
        metrics = _written(ledger, ended)
    except OSError as error:
        # Nothing more can be kept, but the other trials go on, and the caller hears of this one.
        ledger.failure = environment_failure(error)
        metrics = record_of(ledger, ended)
        with suppress(OSError):
            write_record(ledger.trial.folder.metrics_file, metrics)
    observe(
        Progress(
            ledger.trial,
            "done",
            metrics.num_turns or 0,
            metrics.usage.headline.usage.total,
            metrics.total_cost_usd,
            metrics.outcome,
        )
    )
    return metrics


def _written(ledger: TrialLedger, ended: datetime) -> Metrics:
    folder = ledger.trial.folder
    if ledger.attempts:
        last = ledger.attempts[-1]
        for name, data in last.artifacts.items():
            write_atomically(folder.path / name, data)
        if last.record.trajectory:
            with suppress(FileNotFoundError):  # the disk had no room for it
                write_atomically(folder.path / TRAJECTORY, (folder.path / last.record.trajectory).read_bytes())
    metrics = record_of(ledger, ended)
    write_record(folder.metrics_file, metrics)
    return metrics
