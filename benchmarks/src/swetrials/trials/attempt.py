"""One go of an agent at a trial: a fresh checkout, a private home, a process group, and what came of it."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import anyio
from anyio.to_thread import run_sync

from swetrials.agents.base import Agent, Job, Launch, Skill
from swetrials.agents.events import End, Tally
from swetrials.agents.install import Installed
from swetrials.providers.base import Hosting
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.metrics import EXPECTED_ARTIFACTS, AttemptRecord, Finding, TimeSplit
from swetrials.records.usage import UsageReport
from swetrials.store.files import write_atomically
from swetrials.store.redaction import Redactor
from swetrials.store.stream_log import StreamLog
from swetrials.trials.plan import Trial, prompt_for
from swetrials.trials.verdict import decide
from swetrials.workspace.environment import allowed_environment
from swetrials.workspace.git import GitError
from swetrials.workspace.leavings import open_left
from swetrials.workspace.patch import apply_patch, make_patch
from swetrials.workspace.processes import Command, Ended, Limits, run_group
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.sandbox import confined
from swetrials.workspace.space import Space, attempt_space

_PATCH = "patch.diff"
_LARGEST_ARTIFACT_BYTES = 20_000_000
_LARGEST_STDERR_BYTES = 5_000_000
_STDERR_TAIL_BYTES = 4_000
_GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class Sandbox:
    """Where bubblewrap is, what it hides from an agent, and what it shows again. Without a path there is none."""

    bwrap: Path | None
    hidden: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """What the record calls it."""
        return "bubblewrap" if self.bwrap else "none"


@dataclass(frozen=True)
class Crew:
    """What every attempt of a run shares."""

    config: RunnerConfig
    agent: Agent
    installed: Installed
    skill: Skill
    hosting: Hosting
    free: bool
    repositories: Repositories
    work_root: Path
    sandbox: Sandbox
    redactor: Redactor
    keep_checkouts: bool = False


@dataclass(frozen=True)
class Order:
    """One attempt to make: the trial, the pinned commit, and what an earlier attempt left to build on."""

    trial: Trial
    repo: str
    commit: str
    number: int
    reason: Literal["first", "topup"]
    only: tuple[str, ...] = ()
    earlier: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """What came of an attempt."""

    record: AttemptRecord
    artifacts: dict[str, bytes]
    tally: Tally
    served: UsageReport | None
    findings: tuple[Finding, ...]

    @property
    def end(self) -> End | None:
        """The agent's own last word."""
        return self.tally.end


Watch = Callable[[Tally], None]
"""Called with the tally so far whenever the agent has said something."""


@dataclass(frozen=True)
class _Going:
    """An attempt under way."""

    crew: Crew
    order: Order
    space: Space
    id: str
    prompt: str
    tally: Tally


async def run_attempt(crew: Crew, order: Order, ledger: list[Attempt], watch: Watch) -> Attempt:
    """Run an agent once, gather what it leaves, and add it to the trial's ledger.

    The attempt's stream and standard error go to the trial's folder as they come. Whatever becomes of the
    agent is the record's outcome. An attempt that was cancelled, or that the disk could not follow, is in the ledger
    too when the exception goes on: its tokens were spent.

    Raises:
        GitError: the checkout cannot be made.
        LaunchError: the agent cannot be started.
        OSError: the disk is full or not writable.
    """
    attempt_id = f"{order.trial.label[:40]}-{order.number}-{secrets.token_hex(4)}"
    with attempt_space(crew.work_root, attempt_id, keep=crew.keep_checkouts) as space:
        await run_sync(_furnish, crew, order, space)
        prompt = prompt_for(order.trial.task, space.checkout, space.artifacts, order.only)
        going = _Going(crew, order, space, attempt_id, prompt, Tally())
        started = datetime.now(UTC)
        try:
            ended = await _drive(going, watch)
        except (OSError, anyio.get_cancelled_exc_class()):
            now = datetime.now(UTC)
            ended = Ended(None, "cancelled", (now - started).total_seconds(), 0, started, now)
            with anyio.CancelScope(shield=True):
                ledger.append(await run_sync(_gather, going, ended))
            raise
        with anyio.CancelScope(shield=True):
            ledger.append(await run_sync(_gather, going, ended))
        return ledger[-1]


def _furnish(crew: Crew, order: Order, space: Space) -> None:
    crew.repositories.check_out(order.repo, order.commit, space.checkout)
    for name, data in order.earlier.items():
        if name == _PATCH:
            apply_patch(space.checkout, data)
        else:
            write_atomically(space.artifacts / name, data)


def job_for(crew: Crew, space: Space, prompt: str, attempt_id: str) -> Job:
    """Return what the agent's driver has to know of an attempt."""
    return Job(
        prompt=prompt,
        skill=crew.skill,
        route=crew.hosting.route(attempt_id),
        checkout=space.checkout,
        home=space.home,
        temporary=space.temporary,
        artifacts=space.artifacts,
        config=crew.config,
    )


def command_for(crew: Crew, space: Space, launch: Launch) -> Command:
    """Return what really runs: the agent's words, sandboxed when there is one, in an allow-listed environment."""
    argv = launch.argv
    if crew.sandbox.bwrap is not None:
        argv = confined(
            argv,
            bwrap=crew.sandbox.bwrap,
            writable=[space.root],
            hidden=crew.sandbox.hidden,
            readable=[*crew.sandbox.readable, crew.installed.binary.resolve().parent],
        )
    return Command(argv, space.checkout, allowed_environment(space.home, space.temporary, launch.environment))


def write_files(launch: Launch) -> None:
    """Put a launch's private files where they belong."""
    for path, text in launch.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


async def _drive(going: _Going, watch: Watch) -> Ended:
    crew, tally = going.crew, going.tally
    launch = crew.agent.launch(crew.installed.binary, job_for(crew, going.space, going.prompt, going.id))
    write_files(launch)
    reader = crew.agent.reader()
    limits = Limits(crew.config.timeout_seconds, crew.config.idle_timeout_seconds, grace_seconds=_GRACE_SECONDS)
    log_file = going.order.trial.folder.attempt_folder(going.order.number) / "stream.jsonl"
    with StreamLog(log_file, crew.redactor) as log:

        def on_output(data: bytes) -> bool:
            try:
                log.write(data)
            finally:  # what the disk cannot take was spent all the same
                tally.add(reader.feed(data))
            watch(tally)
            return tally.end is not None

        command = command_for(crew, going.space, launch)
        ended = await run_group(
            command, limits, mark=going.id, on_output=on_output, stderr=going.space.root / "stderr.log"
        )
    tally.add(reader.finish())
    return ended


def _gather(going: _Going, ended: Ended) -> Attempt:
    crew, order, tally = going.crew, going.order, going.tally
    findings: list[Finding] = []
    stderr_tail = _keep_stderr(going)
    artifacts = _artifacts(crew, going.space, findings)
    try:
        patch = make_patch(crew.repositories, order.repo, order.commit, going.space.checkout)
    except GitError as error:
        patch = b""
        findings.append(Finding(code="patch_failed", severity="error", message=crew.redactor.text(str(error))))
    if patch:
        artifacts[_PATCH] = crew.redactor.bytes(patch)
    served = crew.hosting.served(going.id)
    outcome = decide(tally, ended, artifacts, served, stderr_tail)
    record = AttemptRecord(
        id=going.id,
        number=order.number,
        reason=order.reason,
        started_at=ended.started_at.isoformat(),
        ended_at=ended.ended_at.isoformat(),
        outcome=outcome.model_copy(update={"detail": crew.redactor.text(outcome.detail)}),
        artifacts_produced=tuple(name for name in EXPECTED_ARTIFACTS if name in artifacts),
        usage=tally.usage,
        cost=_cost(crew, tally),
        time=TimeSplit(
            wall_seconds=round(ended.wall_seconds, 3),
            api_seconds=tally.end.api_seconds if tally.end else None,
            waiting_seconds=round(tally.waiting_seconds, 3),
        ),
        num_turns=tally.turns,
        exit_code=ended.exit_code,
        ended_by=ended.cause,
        survivors=ended.survivors,
        session_id=tally.session_id,
        stream_log=f"attempts/{order.number}/stream.jsonl",
    )
    return Attempt(record, artifacts, tally, served, (*findings, *_doubts(tally, ended)))


def _keep_stderr(going: _Going) -> str:
    said = b""
    if (file := open_left(going.space.root, "stderr.log")) is not None:
        with file:
            file.seek(-min(_LARGEST_STDERR_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            said = going.crew.redactor.bytes(file.read())
    with suppress(OSError):  # on a full disk the attempt's record is what has to survive
        write_atomically(going.order.trial.folder.attempt_folder(going.order.number) / "stderr.log", said)
    return said[-_STDERR_TAIL_BYTES:].decode(errors="replace").strip()


def _artifacts(crew: Crew, space: Space, findings: list[Finding]) -> dict[str, bytes]:
    artifacts: dict[str, bytes] = {}
    for name in EXPECTED_ARTIFACTS:
        if name == _PATCH or (file := open_left(space.artifacts, name)) is None:
            continue
        with file:
            data = file.read(_LARGEST_ARTIFACT_BYTES)
            cut = bool(file.read(1))
        if cut:
            message = f"{name} is cut at {_LARGEST_ARTIFACT_BYTES} bytes"
            findings.append(Finding(code="artifact_cut", severity="warning", message=message))
        if data.strip():
            artifacts[name] = crew.redactor.bytes(data)
    return artifacts


def _doubts(tally: Tally, ended: Ended) -> list[Finding]:
    findings = []
    if ended.survivors:
        message = f"{ended.survivors} processes of the agent were still alive after KILL"
        findings.append(Finding(code="survivors", severity="error", message=message))
    if ended.cause == "grace":
        message = "the agent reported its result and then did not exit; it was stopped"
        findings.append(Finding(code="did_not_exit", severity="info", message=message))
    if tally.permission_denials:
        message = f"{tally.permission_denials} tool calls were refused by the agent's permission rules"
        findings.append(Finding(code="permission_denied", severity="warning", message=message))
    return findings


def _cost(crew: Crew, tally: Tally) -> Cost:
    reported = tally.end.cost_usd if tally.end else None
    if crew.free:
        return Cost(amount_usd=0, basis="free", status="complete", reported_usd=reported)
    return Cost(reported_usd=reported, note=f"no price is known for {crew.config.model}")
