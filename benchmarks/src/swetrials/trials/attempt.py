"""One go of an agent at a trial: a fresh checkout, a private home, a process group, and what came of it."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.events import End, Tally
from swetrials.providers.base import Telemetry
from swetrials.records.metrics import PATCH, AttemptRecord, Finding
from swetrials.records.telemetry import VllmPrometheus
from swetrials.store.files import write_atomically
from swetrials.store.stream_log import StreamLog
from swetrials.trials.crew import Crew, Order
from swetrials.trials.gathering import Remains, gather
from swetrials.trials.launching import Way, command_for, job_for, open_way, write_files
from swetrials.trials.plan import prompt_for
from swetrials.wire.route import Route
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.processes import Ended, Limits, run_group
from swetrials.workspace.space import Space, attempt_space

_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Attempt:
    """What came of an attempt."""

    record: AttemptRecord
    artifacts: dict[str, bytes]
    end: End | None
    telemetry: VllmPrometheus | None
    findings: tuple[Finding, ...]


Watch = Callable[[Tally], None]
"""Called with the tally so far whenever the agent has said something."""


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
    way: Way | None = None
    telemetry: Telemetry | None = None


async def run_attempt(crew: Crew, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
    """Run an agent once, gather what it leaves, and add it to the trial's ledger.

    The attempt's stream, its requests and its standard error go to the trial's folder as they come. Whatever
    becomes of the agent is the record's outcome. An attempt that was cancelled, or that the disk could not
    follow, is in the ledger too when the exception goes on: its tokens were spent.

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
        await run_sync(_furnish, crew, order, space)
        prompt = prompt_for(order.trial.task, space.checkout, space.artifacts, order.only)
        going = _Going(crew, order, space, attempt_id, route, prompt, Tally())
        started = datetime.now(UTC)
        try:
            ended = await _drive(going, watch)
        except (OSError, anyio.get_cancelled_exc_class()):
            now = datetime.now(UTC)
            ended = Ended(None, "cancelled", (now - started).total_seconds(), 0, started, now)
            with anyio.CancelScope(shield=True):
                ledger.append(await run_sync(_attempt, going, ended))
            raise
        with anyio.CancelScope(shield=True):
            ledger.append(await run_sync(_attempt, going, ended))
        return ledger[-1]


def _furnish(crew: Crew, order: Order, space: Space) -> None:
    crew.repositories.check_out(order.repo, order.commit, space.checkout)
    for name, data in order.earlier.items():
        if name == PATCH:
            apply_patch(space.checkout, data)
        else:
            write_atomically(space.artifacts / name, data)


async def _drive(going: _Going, watch: Watch) -> Ended:
    crew, tally = going.crew, going.tally
    async with (
        crew.hosting.telemetry(single_tenant=crew.config.concurrency == 1) as going.telemetry,
        open_way(crew, going.route, going.order.folder / "requests.jsonl") as going.way,
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
                    tally.add(reader.feed(data))
                watch(tally)
                return tally.end is not None

            command = command_for(crew, going.space, launch)
            stderr = going.space.root / "stderr.log"
            ended = await run_group(command, limits, mark=going.id, on_output=on_output, stderr=stderr)
        tally.add(reader.finish())
        return ended


def _attempt(going: _Going, ended: Ended) -> Attempt:
    crew, order = going.crew, going.order
    telemetry = going.telemetry.block() if going.telemetry else None
    way = going.way or Way(going.route)
    remains = Remains(
        id=going.id,
        space=going.space,
        tally=going.tally,
        ended=ended,
        requests=way.meter.block() if way.meter else None,
        unmetered=way.unmetered,
        served=crew.hosting.served(going.id),
        telemetry=telemetry,
    )
    record, artifacts, findings = gather(crew, order, remains)
    return Attempt(record, artifacts, going.tally.end, telemetry, findings)
