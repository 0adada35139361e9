"""Driving an agent once: launched in its space over a metered route, within limits and budget, heard to its end."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio

from swetrials.agents.events import Event, Tally
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.hosting.base import Telemetry
from swetrials.records.requests import RequestRecord
from swetrials.store.stream_log import StreamLog
from swetrials.trials.costing import attempt_cost
from swetrials.trials.gathering import STDERR, STREAM, Remains
from swetrials.trials.launching import Way, command_for, job_for, open_way, write_files
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import RunContext
from swetrials.trials.seen import Seen
from swetrials.trials.usage_reconciliation import usage_block
from swetrials.wire.route import Route
from swetrials.workspace.instructions import SetAside
from swetrials.workspace.processes import Cause, Ended, ProcessLimits, run_group
from swetrials.workspace.space import Space

_GRACE_SECONDS = 5.0

Watch = Callable[[Tally, float | None], None]
"""Called with the tally and the cost in US dollars so far whenever the agent has said something."""


@dataclass
class Going:
    """An agent under way. Way and telemetry are there once it has started.

    Attributes:
        crew: what it shares with others.
        trial: for whom it works.
        folder: where its stream and its requests are logged.
        space: its own folders, with the checkout made.
        id: its mark, and the name of its route.
        route: its real way to the model.
        prompt: what it is asked.
        aside: what of the checkout it is not to see.
        writable: what of its space a sandbox lets it change.
    """

    crew: RunContext
    trial: Trial
    folder: Path
    space: Space
    id: str
    route: Route
    prompt: str
    aside: tuple[SetAside, ...]
    writable: Sequence[Path]
    tally: Tally = field(default_factory=Tally)
    recorder: TrajectoryRecorder = field(init=False)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    way: Way | None = None
    telemetry: Telemetry | None = None
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        self.recorder = TrajectoryRecorder(self.prompt, self.crew.redactor)

    def hear(self, events: Iterable[Event]) -> None:
        """Take in what the agent has said and done."""
        heard = tuple(events)
        self.tally.add(heard)
        self.recorder.add(heard)
        self.crew.listen(self.trial, heard)

    def cut_short(self, cause: Cause) -> Ended:
        """Return the end, now, of an agent that did not come to its own."""
        now = datetime.now(UTC)
        return Ended(None, cause, (now - self.started).total_seconds(), 0, self.started, now)

    def remains(self, ended: Ended, queued_seconds: float = 0.0) -> Remains:
        """Return what is known of it once it has ended."""
        way = self.way or Way(self.route)
        stopped = ended.cause not in {"exited", "grace"}
        requests = way.meter.block(ended.wall_seconds if stopped else None) if way.meter else None
        return Remains(
            id=self.id,
            space=self.space,
            tally=self.tally,
            recorder=self.recorder,
            aside=self.aside,
            ended=ended,
            requests=requests,
            metered=Seen.of(requests, way.meter.requests()) if requests and way.meter else None,
            unmetered=way.unmetered,
            served=self.crew.hosting.served(self.id),
            telemetry=self.telemetry.block() if self.telemetry else None,
            queued_seconds=queued_seconds,
        )


async def drive(going: Going, watch: Watch) -> Ended:
    """Run the agent to its end, or until the budget is spent. The budget is told of its beginning, not of its end.

    Raises:
        LaunchError: it cannot be started.
        OSError: the disk is full or not writable.
    """
    ended: Ended | None = None
    with anyio.CancelScope() as scope:
        going.crew.budget.begin(going.id, lambda: _cost_so_far(going), scope.cancel)
        ended = await _drive(going, watch)
    return ended or going.cut_short("budget")


async def _drive(going: Going, watch: Watch) -> Ended:
    crew, tally = going.crew, going.tally

    def on_request(request: RequestRecord) -> None:
        crew.backoff.saw(request.status, request.retry_after_seconds)

    async with (
        crew.hosting.telemetry(single_tenant=crew.config.concurrency == 1) as going.telemetry,
        open_way(crew, going.route, going.folder / "requests.jsonl", on_request) as going.way,
    ):
        job = job_for(crew.skill, crew.config, going.space, going.prompt, going.way.route)
        launch = crew.agent.launch(crew.installed.binary, job)
        write_files(launch)
        reader = crew.agent.reader()
        limits = ProcessLimits(
            crew.config.timeout_seconds, crew.config.idle_timeout_seconds, grace_seconds=_GRACE_SECONDS
        )
        with StreamLog(going.folder / STREAM, crew.redactor) as log:

            def on_output(data: bytes) -> bool:
                try:
                    log.write(data)
                finally:  # what the disk cannot take was spent all the same
                    going.hear(reader.feed(data))
                watch(tally, going.cost_usd)
                return tally.end is not None

            command = command_for(crew.sandbox, crew.installed.folder, going.space, launch, going.writable)
            stderr = going.space.root / STDERR
            ended = await run_group(
                command, limits, mark=going.id, on_output=on_output, stderr=stderr, stdin=launch.stdin
            )
        going.hear(reader.finish())
        return ended


def _cost_so_far(going: Going) -> float | None:
    block = going.way.meter.block() if going.way is not None and going.way.meter is not None else None
    usage = usage_block(going.tally.usage, block.usage if block else None, None, {})
    wall_seconds = (datetime.now(UTC) - going.started).total_seconds()
    cost = attempt_cost(
        going.crew, usage, None, reported_usd=None, wall_seconds=wall_seconds, at=going.started, requests=block
    )
    going.cost_usd = cost.amount_usd
    return cost.amount_usd
