"""An attempt on a machine of a cluster, from the harness's side."""

import asyncio
import shutil
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.events import Tally
from swetrials.errors import KnownError
from swetrials.hosting.base import Telemetry
from swetrials.records.outcome import Blame, Outcome, OutcomeKind
from swetrials.store.files import write_record_once
from swetrials.trials.attempt import ATTEMPT, ATTEMPT_ERRORS, LOST, Attempt
from swetrials.trials.attempt_session import Watch
from swetrials.trials.executors.worker import TRIAL, AttemptDelivery, Errand, Keys, News, Word
from swetrials.trials.rebuilding import REQUESTS, Known, cut_attempt
from swetrials.trials.run_context import Order, RunContext
from swetrials.wire.route import Route
from swetrials.workspace.processes import LaunchError, killed_too


class MachineLost(Exception):
    """A machine, or the process on it that made an attempt, is gone."""


class Line(Protocol):
    """The line to one :class:`~swetrials.trials.executors.worker.Worker`."""

    machine: str
    """The machine's name."""

    def call(self, method: str, *arguments: object) -> asyncio.Future[Any]:
        """Call a method of the outpost and return its answer to come: :class:`MachineLost` where there will be none."""


@dataclass
class Away:
    """One attempt on another machine: what is known of it here, which is never more than a second old."""

    line: Line
    context: RunContext
    order: Order
    id: str
    route: Route
    ledger: list[Attempt]
    watch: Watch
    tally: Tally = field(default_factory=Tally)
    cost_usd: float | None = None
    spent_usd: float = 0.0
    began: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def make(self) -> Attempt:
        """Have the attempt made, bring home what it leaves, and enter it into ledger and budget, come what may.

        A machine that is lost on the way leaves an attempt that says so, with what was heard of it until then.

        Raises:
            MachineLost: before the attempt had begun.
            Exception: what :func:`~swetrials.trials.attempt.run_attempt` raises.
        """
        await self._bring_commit()
        errand = Errand.of(self.context, self.order, self.id)
        self.watch(self.tally, self.cost_usd)
        self.context.budget.begin(self.id, lambda: self.spent_usd, lambda: self._tell("spend_no_more"))
        loop = asyncio.get_running_loop()

        def kill() -> None:
            loop.call_soon_threadsafe(self._tell, "kill")

        with killed_too(kill):
            try:
                return await self._make(errand)
            except MachineLost as lost:
                return await self._enter(self._lost(lost))

    async def _make(self, errand: Errand) -> Attempt:
        key = self.context.config.api_key
        keys = Keys(self.route, (*self.route.secrets, *([key.get_secret_value()] if key else ())))
        delivery = self.line.call("run", errand, keys)
        async with AsyncExitStack() as watching:
            single_tenant = self.context.config.concurrency == 1
            telemetry = await watching.enter_async_context(self.context.hosting.telemetry(single_tenant=single_tenant))
            try:
                await self._follow(watching, telemetry)
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await self.line.call("stop")
                    await self._follow(watching, telemetry)
                    await self._bring_home(await delivery)
                raise
        with anyio.CancelScope(shield=True):
            await self._bring_home(await delivery)
        return self.ledger[-1]

    async def _bring_commit(self) -> None:
        """Take the pinned commit there: the machine may have no access to the repository, nor need any."""
        if not await self.line.call("holds", self.order.repo, self.order.commit):
            pack = await run_sync(self.context.place.repositories.pack, self.order.repo, self.order.commit)
            await self.line.call("take_in", self.order.repo, pack)

    async def _follow(self, watching: AsyncExitStack, telemetry: Telemetry) -> None:
        while True:
            news: News = await self.line.call("news")
            self._take(news)
            if news.over:
                return
            if news.agent_ended:
                await watching.aclose()
                await self.line.call("hear", Word(self.context.hosting.served(self.id), telemetry.block()))

    def _take(self, news: News) -> None:
        for status, retry_after_seconds in news.requests:
            self.context.backoff.saw(status, retry_after_seconds)
        if news.events:
            self.context.listen(self.order.trial, news.events)
        self.spent_usd = news.spent_usd
        if news.log:
            self._log(news.log)
        if news.tally is not None:
            self.tally, self.cost_usd = news.tally, news.cost_usd
            self.watch(self.tally, self.cost_usd)

    def _log(self, lines: bytes) -> None:
        """Keep what the meter there has logged: it is what stays of the attempt if either side is gone."""
        with suppress(OSError):  # on a full disk the attempt goes on, and its own log comes home at its end
            self.order.folder.mkdir(parents=True, exist_ok=True)
            with (self.order.folder / REQUESTS).open("ab") as file:
                file.write(lines)

    def _tell(self, method: str) -> None:
        """Call a method whose answer nobody waits for; that a machine is lost shows elsewhere."""
        self.line.call(method)

    async def _bring_home(self, delivery: AttemptDelivery) -> None:
        error = delivery.error
        if delivery.attempt is not None:
            try:
                await self._fetch_files()
            except OSError as full:
                error = full
            await self._enter(delivery.attempt)
        else:
            self.context.budget.end(self.id, None)
        if error is not None:
            raise as_at_home(error, self.line.machine)
        if delivery.attempt is None:
            raise LaunchError(f"{self.line.machine}: stopped before the attempt had begun")

    async def _fetch_files(self) -> None:
        """Put what the attempt has left where it belongs: the machine's own record of it is not among it."""
        root = self.order.trial.folder.path
        for name in await self.line.call("left"):
            if Path(name).name == ATTEMPT:
                continue
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if self.context.config.shared_dir is not None:
                await run_sync(shutil.move, Path(self.context.config.shared_dir) / self.id / TRIAL / name, root / name)
            else:
                await self._fetch(name, root / name)

    async def _fetch(self, name: str, into: Path) -> None:
        with into.open("wb") as file:
            while data := await self.line.call("read", name, file.tell()):
                await run_sync(file.write, data)

    async def _enter(self, attempt: Attempt) -> Attempt:
        record = attempt.record.model_copy(update={"machine": self.line.machine})
        self.ledger.append(replace(attempt, record=record))
        self.context.budget.end(self.id, record.cost.amount_usd)
        with anyio.CancelScope(shield=True), suppress(OSError):
            await run_sync(write_record_once, self.order.folder / ATTEMPT, record)
        return self.ledger[-1]

    def _lost(self, lost: MachineLost) -> Attempt:
        wall_seconds = (datetime.now(UTC) - self.began).total_seconds()
        record = cut_attempt(
            self.context,
            Known.of(self.order.folder / REQUESTS, self.tally, self.context.hosting.served(self.id)),
            attempt_id=self.id,
            number=self.order.number,
            reason=self.order.reason,
            started=self.began,
            wall_seconds=round(wall_seconds, 3),
            queue_seconds=round(self.order.queued_seconds, 3),
            outcome=Outcome.of(OutcomeKind.INTERRUPTED, f"{self.line.machine}: {lost}", Blame.ENVIRONMENT),
            ended_by=LOST,
        )
        return Attempt(record, {})


def as_at_home(error: KnownError | OSError, machine: str) -> Exception:
    """Return an error from another machine as one that a trial can meet at home as well, with the machine's name."""
    if isinstance(error, OSError):
        return OSError(error.errno, f"{machine}: {error.strerror}", error.filename)
    kind = type(error) if isinstance(error, ATTEMPT_ERRORS) else LaunchError
    return kind(f"{machine}: {error}")
