"""One go of an agent at a trial: a fresh checkout, a private home, a process group, and what came of it."""

import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.events import Event, Tally
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.providers.base import Telemetry
from swetrials.records.metrics import PATCH, AttemptRecord
from swetrials.records.requests import RequestRecord
from swetrials.store.files import write_atomically, write_record_once
from swetrials.store.stream_log import StreamLog
from swetrials.trials.costing import attempt_cost
from swetrials.trials.crew import Crew, Order
from swetrials.trials.gathering import Remains, gather
from swetrials.trials.launching import Way, command_for, job_for, open_way, write_files
from swetrials.trials.plan import prompt_for
from swetrials.trials.witnesses import usage_block
from swetrials.wire.route import Route
from swetrials.workspace.instructions import SetAside, set_aside
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.processes import Cause, Ended, Limits, run_group
from swetrials.workspace.space import Space, attempt_space

_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Attempt:
    """What came of an attempt."""

    record: AttemptRecord
    artifacts: dict[str, bytes]


Watch = Callable[[Tally, float | None], None]
"""Called with the tally and the cost in US dollars so far whenever the agent has said something."""


@dataclass
class _Going:
    """An attempt under way. Way and telemetry are there once it has started."""

    crew: Crew
    order: Order
    space: Space
    id: str
    route: Route
    prompt: str
    tally: Tally
    recorder: TrajectoryRecorder
    aside: tuple[SetAside, ...]
    started: datetime
    way: Way | None = None
    telemetry: Telemetry | None = None
    cost_usd: float | None = None

    def hear(self, events: Iterable[Event]) -> None:
        """Take in what the agent has said and done."""
        heard = tuple(events)
        self.tally.add(heard)
        self.recorder.add(heard)
        self.crew.listen(self.order.trial, heard)


async def run_attempt(crew: Crew, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
    """Run an agent once, gather what it leaves, and add it to the trial's ledger.

    The attempt's stream, its requests and its standard error go to the trial's folder as they come, its record
    when it has ended. Whatever becomes of the agent is the record's outcome. An attempt that was cancelled, or
    that the disk could not follow, is in the ledger too when the exception goes on: its tokens were spent.

    Raises:
        ProviderError: there is no route any more.
        GitError: the checkout cannot be made.
        LaunchError: the agent cannot be started.
        OSError: the disk is full or not writable.
    """
    attempt_id = f"{order.trial.label[:40]}-{order.number}-{secrets.token_hex(4)}"
    route = crew.hosting.route(attempt_id)
    # Without the meter the agent holds the real key, which may be in no variable of ours: a profile's, for one.
    crew = crew.hiding(route.secrets)
    with attempt_space(crew.work_root, attempt_id, keep=crew.keep_checkouts) as space:
        aside = await run_sync(_furnish, crew, order, space)
        prompt = prompt_for(order.trial.task, space.checkout, space.artifacts, order.only)
        recorder = TrajectoryRecorder(prompt, crew.redactor)
        going = _Going(crew, order, space, attempt_id, route, prompt, Tally(), recorder, aside, datetime.now(UTC))
        try:
            ended = await _within_budget(going, watch)
        except (OSError, anyio.get_cancelled_exc_class()):
            await _enter(going, _cut_short(going, "cancelled"), ledger)
            raise
        return await _enter(going, ended, ledger)


def _furnish(crew: Crew, order: Order, space: Space) -> tuple[SetAside, ...]:
    """Make the attempt's checkout, and return what of it the agent is not to see."""
    crew.repositories.check_out(order.repo, order.commit, space.checkout)
    for name, data in order.earlier.items():
        if name == PATCH:
            apply_patch(space.checkout, data)
        else:
            write_atomically(space.artifacts / name, data)
    return set_aside(space.checkout) if crew.config.repo_instructions == "neutralise" else ()


async def _within_budget(going: _Going, watch: Watch) -> Ended:
    ended: Ended | None = None
    with anyio.CancelScope() as scope:
        going.crew.budget.begin(going.id, lambda: _cost_so_far(going), scope.cancel)
        ended = await _drive(going, watch)
    return ended or _cut_short(going, "budget")


def _cut_short(going: _Going, cause: Cause) -> Ended:
    now = datetime.now(UTC)
    return Ended(None, cause, (now - going.started).total_seconds(), 0, going.started, now)


async def _drive(going: _Going, watch: Watch) -> Ended:
    crew, tally = going.crew, going.tally

    def on_request(request: RequestRecord) -> None:
        crew.backoff.saw(request.status, request.retry_after_seconds)

    async with (
        crew.hosting.telemetry(single_tenant=crew.config.concurrency == 1) as going.telemetry,
        open_way(crew, going.route, going.order.folder / "requests.jsonl", on_request) as going.way,
    ):
        launch = crew.agent.launch(crew.installed.binary, job_for(crew, going.space, going.prompt, going.way.route))
        write_files(launch)
        reader = crew.agent.reader()
        limits = Limits(crew.config.timeout_seconds, crew.config.idle_timeout_seconds, grace_seconds=_GRACE_SECONDS)
        with StreamLog(going.order.folder / "stream.jsonl", crew.redactor) as log:

            def on_output(data: bytes) -> bool:
                try:
                    log.write(data)
                finally:  # what the disk cannot take was spent all the same
                    going.hear(reader.feed(data))
                watch(tally, going.cost_usd)
                return tally.end is not None

            command = command_for(crew, going.space, launch)
            stderr = going.space.root / "stderr.log"
            ended = await run_group(
                command, limits, mark=going.id, on_output=on_output, stderr=stderr, stdin=launch.stdin
            )
        going.hear(reader.finish())
        return ended


def _cost_so_far(going: _Going) -> float | None:
    metered = going.way.meter.block().usage if going.way is not None and going.way.meter is not None else None
    usage = usage_block(going.tally.usage, metered, None, {})
    wall_seconds = (datetime.now(UTC) - going.started).total_seconds()
    cost = attempt_cost(going.crew, usage, None, reported_usd=None, wall_seconds=wall_seconds, at=going.started)
    going.cost_usd = cost.amount_usd
    return cost.amount_usd


async def _enter(going: _Going, ended: Ended, ledger: list[Attempt]) -> Attempt:
    """Gather what an attempt left and enter it into the ledger and the budget, come what may."""
    with anyio.CancelScope(shield=True):
        attempt = await run_sync(_attempt, going, ended)
        ledger.append(attempt)
        going.crew.budget.end(going.id, attempt.record.cost.amount_usd)
        with suppress(OSError):  # on a full disk the trial's own record, which holds this one, has to survive
            await run_sync(write_record_once, going.order.folder / "attempt.json", attempt.record)
    return ledger[-1]


def _attempt(going: _Going, ended: Ended) -> Attempt:
    crew, order = going.crew, going.order
    telemetry = going.telemetry.block() if going.telemetry else None
    way = going.way or Way(going.route)
    remains = Remains(
        id=going.id,
        space=going.space,
        tally=going.tally,
        recorder=going.recorder,
        aside=going.aside,
        ended=ended,
        requests=way.meter.block() if way.meter else None,
        unmetered=way.unmetered,
        served=crew.hosting.served(going.id),
        telemetry=telemetry,
        queued_seconds=order.queued_seconds,
    )
    return Attempt(*gather(crew, order, remains))
