"""An attempt on a machine of a cluster, from that machine's side.

The machine makes the attempt as the harness would make it at home. What only the harness can do it asks for: the
way to the model comes with the errand, and what the provider has counted is told when the agent has ended.
"""

import asyncio
import copy
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.base import Agent, Skill
from swetrials.agents.events import Event, Tally
from swetrials.agents.install import find
from swetrials.environments import environment_for
from swetrials.environments.work_context import WorkContext
from swetrials.errors import KnownError
from swetrials.hosting import PROVIDERS
from swetrials.pricing.book import PriceBook
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.limits import Limits
from swetrials.records.metrics import HostingRecord
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import UsageReport
from swetrials.store.files import write_atomically
from swetrials.store.project import find_project
from swetrials.store.reading import read_bytes
from swetrials.store.redaction import Redactor
from swetrials.store.results import TrialFolder
from swetrials.trials.attempt import Attempt, run_attempt
from swetrials.trials.backoff import Backoff
from swetrials.trials.budget import Budget
from swetrials.trials.plan import Trial
from swetrials.trials.rebuilding import REQUESTS
from swetrials.trials.run_context import Order, RunContext, nobody
from swetrials.wire.route import Route
from swetrials.workspace.orphan_reaper import guarded
from swetrials.workspace.processes import LaunchError, kill_running
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import SpaceError, private_root, remove_tree

OUTBOXES = "outbox"
"""Folder below the working folder that holds what attempts leave, until it is fetched."""

TRIAL = "trial"
"""Folder in an outbox that stands for the trial's own."""

_NEWS_SECONDS = 1.0
_CHUNK_BYTES = 4_000_000


@dataclass(frozen=True)
class Errand:
    """All that a machine has to know of an attempt, but for the secrets.

    Attributes:
        id: the attempt's.
        order: the attempt; its trial's folder is the harness's.
        config: of the run, without the key and with absolute paths, which are the harness's as well.
        settings: what is in ``settings_file``.
        wants_events: whether somebody listens to what the agent says.
    """

    id: str
    order: Order
    config: RunnerConfig
    settings: bytes | None
    agent: Agent
    skill: Skill
    limits: Limits
    prices: PriceBook
    keep_checkouts: bool
    wants_events: bool

    @classmethod
    def of(cls, context: RunContext, order: Order, attempt_id: str) -> Self:
        """Return the errand for an attempt of a run.

        Raises:
            OSError: the file of settings cannot be read.
        """
        config = context.config
        here = {name: str(Path(getattr(config, name)).absolute()) for name in ("dataset", "output_dir")}
        return cls(
            id=attempt_id,
            order=order,
            config=config.model_copy(update={**here, "api_key": None, "settings_file": None}),
            settings=read_bytes(Path(config.settings_file)) if config.settings_file else None,
            agent=context.agent,
            skill=context.skill,
            limits=context.limits,
            prices=context.prices,
            keep_checkouts=context.keep_checkouts,
            wants_events=context.listen is not nobody,
        )


@dataclass(frozen=True)
class Keys:
    """What must not be written anywhere. It travels alone: something small is never put on a disk on its way."""

    route: Route
    secrets: tuple[str, ...]


@dataclass(frozen=True)
class Word:
    """What the provider has counted for an attempt, as the harness knows it."""

    served: UsageReport | None = None
    telemetry: VllmPrometheus | None = None


@dataclass(frozen=True)
class News:
    """What has happened since the last time that somebody asked.

    Attributes:
        tally: of what the agent has said by now; ``None``: it has said nothing new.
        cost_usd: of the attempt when it last said something; ``None``: unknown.
        spent_usd: of the attempt by now, whether it says something or not.
        log: what the meter has logged, a line for each request that has ended.
        requests: status of each request that has ended, with the seconds to wait that came with it.
        events: what the agent said, where somebody wants to hear it.
        agent_ended: the attempt now waits for the harness's :class:`Word`.
        over: the attempt can be fetched.
    """

    tally: Tally | None
    cost_usd: float | None
    spent_usd: float
    log: bytes
    requests: tuple[tuple[int | None, float | None], ...]
    events: tuple[Event, ...]
    agent_ended: bool
    over: bool


@dataclass(frozen=True)
class AttemptDelivery:
    """What has become of an attempt: the attempt where it began, and what kept it from going on."""

    attempt: Attempt | None
    error: KnownError | OSError | None


class Worker:
    """One attempt's place on a machine. Its methods are called from afar, several at a time, in one event loop."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._hosting: _HarnessHosting | None = None
        self._ledger: list[Attempt] = []
        self._scope: anyio.CancelScope | None = None
        self._stopped = False
        self._spent = False
        self._over = False
        self._news_is_urgent = asyncio.Event()
        self._latest: tuple[Tally, float | None] | None = None
        self._backoff = _Overheard()
        self._budget = Budget()
        self._events: list[Event] = []
        self._log: Path | None = None
        self._log_read_bytes = 0

    async def open(self, attempt_id: str, clone_dir: str | None, shared_dir: str | None) -> None:
        """Make the folders that the attempt needs, and make sure that nothing of it outlives this process.

        Raises:
            SpaceError: the working folder cannot be used.
            OSError: a folder cannot be made.
        """
        self._work_root = private_root(Path(clone_dir) if clone_dir else None)
        self._repositories = Repositories.below(self._work_root)
        self._outbox = (Path(shared_dir) if shared_dir else self._work_root / OUTBOXES) / attempt_id
        self._trial = self._outbox / TRIAL
        self._trial.mkdir(parents=True)
        await run_sync(self._held.enter_context, guarded(self._work_root, self._outbox))

    async def holds(self, repo: str, commit: str) -> bool:
        """Whether the commit to check out is here."""
        return await run_sync(self._repositories.holds, repo, commit)

    async def take_in(self, repo: str, pack: bytes) -> None:
        """Take in the commit to check out."""
        await run_sync(self._repositories.take_in, repo, pack)

    async def run(self, errand: Errand, keys: Keys) -> AttemptDelivery:
        """Make the attempt, to its end or until it is stopped."""
        error: KnownError | OSError | None = None
        try:
            with anyio.CancelScope() as self._scope:
                if self._stopped:
                    self._scope.cancel()
                try:
                    await self._attempt(errand, keys)
                except (KnownError, OSError) as failure:
                    error = failure
        finally:
            self._over = True
            self._news_is_urgent.set()
        return AttemptDelivery(self._ledger[-1] if self._ledger else None, error)

    async def _attempt(self, errand: Errand, keys: Keys) -> None:
        self._hosting = _HarnessHosting(keys.route, self._news_is_urgent)
        context = await run_sync(self._context_for, errand, keys, self._hosting)
        trial = replace(errand.order.trial, folder=TrialFolder(self._trial))
        self._log = trial.folder.attempt_folder(errand.order.number) / REQUESTS
        await run_attempt(context, replace(errand.order, trial=trial), errand.id, self._ledger, self._watch)

    def _context_for(self, errand: Errand, keys: Keys, hosting: "_HarnessHosting") -> RunContext:
        project, agent, config = find_project(), errand.agent, errand.config
        installed = find(agent.package, project.tools)
        if installed is None:
            raise LaunchError(f"{agent.name} {agent.package.version} is not installed; swetrials agents install")
        if errand.settings is not None:
            settings = self._outbox / "settings.json"
            write_atomically(settings, errand.settings)
            config = config.model_copy(update={"settings_file": str(settings)})
        private = [Path(config.dataset).parent, Path(config.output_dir), self._work_root, self._outbox.parent]
        return RunContext(
            config=config,
            agent=agent,
            installed=installed,
            skill=errand.skill,
            limits=errand.limits,
            provider=PROVIDERS.named(config.provider),
            hosting=hosting,
            prices=errand.prices,
            place=WorkContext(
                repositories=self._repositories,
                work_root=self._work_root,
                environment=environment_for(config.environment, project, *private),
                redactor=Redactor.from_environment(os.environ, keys.secrets),
                project=project,
                preparations_max_gb=config.preparations_max_gb,
            ),
            keep_checkouts=errand.keep_checkouts,
            backoff=self._backoff,
            budget=self._budget,
            listen=self._listen if errand.wants_events else nobody,
        )

    def _watch(self, tally: Tally, cost_usd: float | None) -> None:
        self._latest = (tally, cost_usd)

    def _listen(self, trial: Trial, events: Sequence[Event]) -> None:
        self._events += events

    async def news(self) -> News:
        """Return what is new: at once when the harness has to do something, else after a second."""
        with anyio.move_on_after(_NEWS_SECONDS):
            await self._news_is_urgent.wait()
        self._news_is_urgent.clear()
        if self._spent:
            self._budget.limit_usd = 0.0
        self._budget.count()
        # What is sent is read while the agent goes on talking.
        tally, cost_usd = copy.deepcopy(self._latest) if self._latest else (None, None)
        requests, events = tuple(self._backoff.seen), tuple(self._events)
        self._latest, self._events = None, []
        self._backoff.seen.clear()
        ended = self._hosting is not None and self._hosting.agent_ended
        log = await run_sync(self._logged)
        return News(tally, cost_usd, self._budget.spent_usd, log, requests, events, ended, self._over)

    def _logged(self) -> bytes:
        """Return what the meter has logged since somebody asked last."""
        if self._log is None:
            return b""
        try:
            with self._log.open("rb") as file:
                file.seek(self._log_read_bytes)
                lines = file.read()
        except OSError:  # it is not there yet, or not any more
            return b""
        self._log_read_bytes += len(lines)
        return lines

    async def hear(self, word: Word) -> None:
        """Take the harness's word on what the provider has counted."""
        if self._hosting is not None:
            self._hosting.hear(word)

    async def stop(self) -> None:
        """Cancel the attempt: its agent is stopped in good order."""
        self._stopped = True
        if self._scope is not None:
            self._scope.cancel()

    async def spend_no_more(self) -> None:
        """Stop the attempt because the run's budget is spent."""
        self._spent = True
        self._news_is_urgent.set()

    async def kill(self) -> None:
        """Kill the agent at once; whoever waits for the attempt's end goes on waiting."""
        kill_running()

    async def left(self) -> list[str]:
        """Return the names of the files that the attempt has left, below its trial's folder."""
        return sorted(path.relative_to(self._trial).as_posix() for path in self._trial.rglob("*") if path.is_file())

    async def read(self, name: str, offset: int) -> bytes:
        """Return the next few megabytes of one of these files; nothing at its end."""
        with (self._trial / name).open("rb") as file:
            file.seek(offset)
            return file.read(_CHUNK_BYTES)

    async def close(self) -> None:
        """Remove what has been fetched; what cannot be removed is not the attempt's fault."""
        with suppress(SpaceError):
            remove_tree(self._outbox)
        self._held.close()


@dataclass
class _Overheard(Backoff):
    """Keeps what the harness's own back-off has to know: a pause is for the whole run, on all machines."""

    seen: list[tuple[int | None, float | None]] = field(default_factory=list)

    def saw(self, status: int | None, retry_after_seconds: float | None) -> None:
        """Keep the status of a response for the next news."""
        self.seen.append((status, retry_after_seconds))


class _HarnessHosting:
    """The provider, as far as the harness has let this machine in on it."""

    def __init__(self, route: Route, news_is_urgent: asyncio.Event) -> None:
        self._route = route
        self._news_is_urgent = news_is_urgent
        self._word = Word()
        self._told = asyncio.Event()
        self.agent_ended = False

    async def checks(self) -> Sequence[Check]:
        return ()

    def route(self, attempt_id: str) -> Route:
        return self._route

    def served(self, attempt_id: str) -> UsageReport | None:
        return self._word.served

    def hosted_as(self) -> HostingRecord:
        return HostingRecord()  # the harness writes the record, not this machine

    def telemetry(self, *, single_tenant: bool) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Wait for the harness's word: what was served is complete only once the agent has ended."""
        with anyio.CancelScope(shield=True):
            self.agent_ended = True
            self._news_is_urgent.set()
            await self._told.wait()

    def hear(self, word: Word) -> None:
        self._word = word
        self.agent_ended = False
        self._told.set()

    def block(self) -> VllmPrometheus | None:
        return self._word.telemetry
