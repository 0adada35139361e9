"""Driving an agent once: launched in its space over a metered route, within limits and budget, heard to its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio

from swetrials.agents.events import Event, Tally
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.environments.base import View
from swetrials.environments.machine import Machine, environment_record
from swetrials.environments.sealing import require_sealed_enough
from swetrials.hosting.base import Telemetry
from swetrials.records.environment import EnvironmentRecord, EnvironmentSpec
from swetrials.records.metrics import AttemptStart
from swetrials.records.requests import RequestRecord
from swetrials.records.sealing import Sealing
from swetrials.store.files import write_record
from swetrials.store.stream_log import StreamLog
from swetrials.trials.costing import attempt_cost
from swetrials.trials.gathering import STDERR, STREAM, AttemptOutput
from swetrials.trials.metered_way import Way, open_way
from swetrials.trials.plan import Trial
from swetrials.trials.run_context import RunContext
from swetrials.trials.seen import Seen
from swetrials.trials.usage_reconciliation import usage_block
from swetrials.wire.route import Route
from swetrials.workspace.instructions import SetAside
from swetrials.workspace.processes import Cause, Ended, ProcessLimits

START = "start.json"
"""What an attempt ran in and could reach, kept as it begins."""

_GRACE_SECONDS = 5.0

Watch = Callable[[Tally, float | None], None]
"""Called with the tally and the cost in US dollars so far whenever the agent has said something."""


@dataclass
class AttemptSession:
    """An agent at work on an attempt, with its budget and its trial. Way and telemetry are there once it has started.

    Attributes:
        context: what it shares with others.
        trial: for whom it works.
        folder: where its stream and its requests are logged.
        view: its own folders, with the checkout made.
        id: its mark, and the name of its route.
        route: its real way to the model.
        prompt: what it is asked.
        aside: what of the checkout it is not to see.
        writable: those of its folders that it may change.
        machine: as it is before the agent starts.
        asked: what the agent is to run in.
        preparation_sha256: of what was prepared for it; ``None``: nothing was.
        sealing: what the agent can reach, known as soon as it is about to start.
    """

    context: RunContext
    trial: Trial
    folder: Path
    view: View
    id: str
    route: Route
    prompt: str
    aside: tuple[SetAside, ...]
    writable: Sequence[Path]
    asked: EnvironmentSpec
    preparation_sha256: str | None = None
    tally: Tally = field(default_factory=Tally)
    recorder: TrajectoryRecorder = field(init=False)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    way: Way | None = None
    telemetry: Telemetry | None = None
    cost_usd: float | None = None
    machine: Machine = field(default_factory=Machine.now)
    sealing: Sealing | None = None

    def __post_init__(self) -> None:
        self.recorder = TrajectoryRecorder(self.prompt, self.context.place.redactor)

    def hear(self, events: Sequence[Event]) -> None:
        """Keep what the agent has said and done, and tell who listens."""
        self.recorder.add(events)
        self.context.listen(self.trial, events)

    @property
    def environment(self) -> EnvironmentRecord:
        """What the agent runs in."""
        return environment_record(
            self.context.place.environment,
            self.machine,
            self.asked,
            preparation_sha256=self.preparation_sha256,
        )

    def admit(self, sealing: Sealing) -> None:
        """Let the agent begin, or not. What it can reach is kept before that, for the folder of a killed attempt, too.

        Raises:
            SealError: it may not begin.
            OSError: the disk is full or not writable.
        """
        self.sealing = sealing
        write_record(self.folder / START, AttemptStart(environment=self.environment, sealing=sealing))
        require_sealed_enough(sealing, require_sealed=self.context.config.require_sealed)

    def cut_short(self, cause: Cause) -> Ended:
        """Return the end, now, of an agent that did not come to its own."""
        now = datetime.now(UTC)
        return Ended(None, cause, (now - self.started).total_seconds(), 0, self.started, now)

    def output(self, ended: Ended, queued_seconds: float = 0.0) -> AttemptOutput:
        """Return what is known of it once it has ended."""
        way = self.way or Way(self.route)
        stopped = ended.cause not in {"exited", "grace"}
        requests = way.meter.block(ended.wall_seconds if stopped else None) if way.meter else None
        return AttemptOutput(
            id=self.id,
            view=self.view,
            tally=self.tally,
            recorder=self.recorder,
            aside=self.aside,
            ended=ended,
            requests=requests,
            metered=Seen.of(requests, way.meter.requests()) if requests and way.meter else None,
            unmetered=way.unmetered,
            served=self.context.hosting.served(self.id),
            telemetry=self.telemetry.block() if self.telemetry else None,
            queued_seconds=queued_seconds,
            machine=self.machine,
            environment=self.environment,
            sealing=self.sealing,
            registries=way.meter.registries() if way.meter else (),
        )


async def drive(session: AttemptSession, watch: Watch) -> Ended:
    """Run the agent to its end, or until the budget is spent. The budget is told of its beginning, not of its end.

    Raises:
        LaunchError: it cannot be started.
        SealError: it cannot be sealed.
        OSError: the disk is full or not writable.
    """
    ended: Ended | None = None
    with anyio.CancelScope() as scope:
        session.context.budget.begin(session.id, lambda: _cost_so_far(session), scope.cancel)
        ended = await _drive(session, watch)
    return ended or session.cut_short("budget")


async def _drive(session: AttemptSession, watch: Watch) -> Ended:
    context = session.context

    def on_request(request: RequestRecord) -> None:
        context.backoff.saw(request.status, request.retry_after_seconds)

    async with (
        context.hosting.telemetry(single_tenant=context.config.concurrency == 1) as session.telemetry,
        open_way(context, session.route, session.folder / "requests.jsonl", session.asked, on_request) as session.way,
    ):
        agent = context.agent_session(
            session.view.having(session.way.variables),
            session.prompt,
            session.way.route,
            session.writable,
            skill=context.skill,
            door=session.way.door(session.asked, session.admit),
        )
        session.tally = agent.tally
        limits = ProcessLimits(
            context.config.timeout_seconds, context.config.idle_timeout_seconds, grace_seconds=_GRACE_SECONDS
        )

        def hear(events: Sequence[Event]) -> None:
            session.hear(events)
            watch(agent.tally, session.cost_usd)

        with StreamLog(session.folder / STREAM, context.place.redactor) as log:
            return await agent.run(limits, stderr=session.view.outside.root / STDERR, log=log, hear=hear)


def _cost_so_far(session: AttemptSession) -> float | None:
    block = session.way.meter.block() if session.way is not None and session.way.meter is not None else None
    usage = usage_block(session.tally.usage, block.usage if block else None, None, {})
    wall_seconds = (datetime.now(UTC) - session.started).total_seconds()
    cost = attempt_cost(
        session.context, usage, None, reported_usd=None, wall_seconds=wall_seconds, at=session.started, requests=block
    )
    session.cost_usd = cost.amount_usd
    return cost.amount_usd
