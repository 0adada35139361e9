"""What an attempt leaves: artifacts, patch, figures and doubts, as a record."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents.events import Tally
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.environments.base import View
from swetrials.environments.machine import Machine
from swetrials.records.cost import Cost
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.metrics import (
    PATCH,
    AttemptRecord,
    Finding,
    NotKept,
    PatchRecord,
    TimeSplit,
)
from swetrials.records.registries import RegistryTraffic
from swetrials.records.requests import RequestsBlock
from swetrials.records.sealing import Sealing
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import UsageBlock, UsageReport
from swetrials.records.words import listed
from swetrials.store.files import write_atomically
from swetrials.trials.costing import attempt_cost, cost_doubts
from swetrials.trials.outcome_classification import decide
from swetrials.trials.run_context import Order, RunContext
from swetrials.trials.sealing_record import sealing_with_bill, server_tool_doubts
from swetrials.trials.seen import Seen
from swetrials.trials.trajectory_building import TRAJECTORY, doubtful_doings, keep, told
from swetrials.trials.usage_reconciliation import (
    call_doubts,
    counter_disagreements,
    other_models,
    stream_doubts,
    unconfirmed,
    usage_block,
    usage_doubts,
)
from swetrials.workspace.git import GitError
from swetrials.workspace.instructions import SetAside, put_back
from swetrials.workspace.patch import make_patch
from swetrials.workspace.processes import Ended
from swetrials.workspace.safe_read import open_left
from swetrials.workspace.space import Space

STREAM = "stream.jsonl"
"""What an agent's output is kept in, in the logs' folder."""

STDERR = "stderr.log"
"""What an agent's standard error is kept in, in its space and in the logs' folder."""

_LARGEST_ARTIFACT_BYTES = 20_000_000
_LARGEST_STDERR_BYTES = 5_000_000
_STDERR_TAIL_BYTES = 4_000
_NOT_KEPT_NAMED = 20


@dataclass(frozen=True)
class AttemptOutput:
    """An attempt that is over, before its folders are removed.

    ``machine`` is what there was before the agent started, ``environment`` what it ran in, and ``sealing`` what it
    could reach; ``None``: it was never started.
    """

    id: str
    view: View
    tally: Tally
    recorder: TrajectoryRecorder
    aside: tuple[SetAside, ...]
    ended: Ended
    requests: RequestsBlock | None
    metered: Seen | None
    unmetered: str
    served: UsageReport | None
    telemetry: VllmPrometheus | None
    queued_seconds: float
    machine: Machine
    environment: EnvironmentRecord | None = None
    sealing: Sealing | None = None
    registries: tuple[RegistryTraffic, ...] = ()

    @property
    def seen(self) -> Seen | None:
        """What reached the endpoint and came back; ``None`` when nobody counted."""
        if self.metered is not None:
            return self.metered
        if self.served is not None and self.served.requests is not None:
            return Seen(self.served.requests, self.served.usage.input)
        return None

    @property
    def usage(self) -> UsageBlock:
        """What each witness says of the tokens."""
        metered = self.requests.usage if self.requests is not None else None
        by_model = self.tally.end.usage_by_model if self.tally.end else {}
        return usage_block(self.tally.usage, metered, self.served, by_model)

    @property
    def turns(self) -> int | None:
        """See :func:`turns_of`."""
        return turns_of(self.requests, self.tally)

    @property
    def time(self) -> TimeSplit:
        """Where the time went: the meter's word where there is one, else the agent's."""
        requests, end = self.requests, self.tally.end
        return TimeSplit(
            wall_seconds=round(self.ended.wall_seconds, 3),
            api_seconds=requests.api_seconds if requests else end.api_seconds if end else None,
            waiting_seconds=requests.waiting_seconds if requests else round(self.tally.waiting_seconds, 3),
            queue_seconds=round(self.queued_seconds, 3),
        )


def turns_of(requests: RequestsBlock | None, tally: Tally) -> int | None:
    """Return the answered calls of a model, without probes and without those of subagents that the agent tells apart.

    A call that got an error, or an answer that broke off, is none. Calls on the side that an agent does not tell
    of, such as a summary, are in it. Without a meter it is the agent's own count.
    """
    if requests is None:
        return tally.turns or None
    return max(requests.turns - tally.turns_of_subagents, 0)


def gather(context: RunContext, order: Order, output: AttemptOutput) -> tuple[AttemptRecord, dict[str, bytes]]:
    """Return an attempt's record, and its artifacts with secrets masked."""
    findings: list[Finding] = []
    tally, ended, end = output.tally, output.ended, output.tally.end
    stderr_tail = keep_stderr(context, output.view.outside, order.folder)
    artifacts = _artifacts(context, output.view.outside, findings)
    patch, left_out = _patch(context, order, output, findings)
    if patch:
        artifacts[PATCH] = context.place.redactor.bytes(patch)
    outcome = decide(
        tally,
        ended,
        [name for name in context.skill.artifacts if name not in artifacts],
        output.seen,
        stderr_tail,
        context.config.idle_timeout_seconds,
        ran_out_of_memory=Machine.now().ran_out_since(output.machine),
    )
    usage = output.usage
    cost = cost_of(context, output, usage)
    trajectory = told(context, order, output.recorder, tally, outcome, usage, cost)
    keep(order, trajectory)
    findings += _doubts(tally, ended)
    findings += _doubts_of_the_route(context, output)
    findings += server_tool_doubts(output.requests)
    findings += cost_doubts(context, usage, cost, output.requests, ended.started_at)
    findings += usage_doubts(usage.reported, usage.metered, output.turns)
    findings += unconfirmed(usage)
    findings += stream_doubts(tally, output.metered, output.turns)
    findings += doubtful_doings(context, order, output.view, trajectory)
    record = AttemptRecord(
        id=output.id,
        number=order.number,
        reason=order.reason,
        started_at=ended.started_at.isoformat(),
        ended_at=ended.ended_at.isoformat(),
        outcome=outcome.model_copy(update={"detail": context.place.redactor.text(outcome.detail)}),
        artifacts_produced=tuple(name for name in context.skill.artifacts if name in artifacts),
        usage=usage,
        subagent_usage=tally.subagent_usage,
        requests=output.requests,
        cost=cost,
        time=output.time,
        num_turns=output.turns,
        exit_code=ended.exit_code,
        ended_by=ended.cause,
        survivors=ended.survivors,
        session_id=tally.session_id,
        result_subtype=end.subtype if end else None,
        api_error_status=end.api_error_status if end else None,
        stream_log=f"attempts/{order.number}/{STREAM}",
        trajectory=f"attempts/{order.number}/{TRAJECTORY}",
        vllm_prometheus=output.telemetry,
        environment=output.environment,
        sealing=sealing_with_bill(output.sealing, output.requests),
        registries=output.registries,
        patch=left_out,
        findings=tuple(findings),
    )
    return record, artifacts


def cost_of(context: RunContext, output: AttemptOutput, usage: UsageBlock) -> Cost:
    """Return what an agent that is over has cost."""
    end = output.tally.end
    return attempt_cost(
        context,
        usage,
        output.telemetry,
        reported_usd=end.cost_usd if end else None,
        wall_seconds=output.ended.wall_seconds,
        at=output.ended.started_at,
        requests=output.requests,
    )


def _patch(
    context: RunContext, order: Order, output: AttemptOutput, findings: list[Finding]
) -> tuple[bytes, PatchRecord | None]:
    checkout, text = output.view.outside.checkout, context.place.redactor.text
    if output.aside:
        message = f"out of the agent's sight: {', '.join(str(file.path) for file in output.aside)}"
        findings.append(Finding(code="instructions_neutralised", severity="info", message=message))
    try:
        put_back(checkout, output.aside)
        made = make_patch(
            context.place.repositories,
            order.repo,
            order.commit,
            checkout,
            output.view.prepared,
            order.earlier.get(PATCH, b""),
        )
    except (GitError, OSError) as error:
        findings.append(Finding(code="patch_failed", severity="error", message=text(str(error))))
        return b"", None
    if not made.not_kept and not made.ignored_files:
        return made.diff, None
    not_kept = [NotKept(path=text(file.path), reason=file.reason) for file in made.not_kept]
    if not_kept:
        told = listed([f"{file.path} ({file.reason})" for file in not_kept])
        message = f"not in the patch, which holds the rest: {told}"
        findings.append(Finding(code="patch_incomplete", severity="warning", message=message))
    return made.diff, PatchRecord(
        not_kept_files=len(not_kept),
        not_kept=tuple(not_kept[:_NOT_KEPT_NAMED]),
        ignored_files=made.ignored_files,
        ignored_named=tuple(map(text, made.ignored_named)),
    )


def keep_stderr(context: RunContext, space: Space, folder: Path) -> str:
    """Keep what an agent wrote to standard error in a folder, secrets masked, and return the end of it."""
    said = b""
    if (file := open_left(space.root, STDERR)) is not None:
        with file:
            file.seek(-min(_LARGEST_STDERR_BYTES, file.seek(0, os.SEEK_END)), os.SEEK_END)
            said = context.place.redactor.bytes(file.read())
    with suppress(OSError):  # on a full disk the attempt's record is what has to survive
        write_atomically(folder / STDERR, said)
    return said[-_STDERR_TAIL_BYTES:].decode(errors="replace").strip()


def _artifacts(context: RunContext, space: Space, findings: list[Finding]) -> dict[str, bytes]:
    artifacts: dict[str, bytes] = {}
    for name in context.skill.documents:
        if (file := open_left(space.artifacts, name)) is None:
            continue
        with file:
            data = file.read(_LARGEST_ARTIFACT_BYTES)
            cut = bool(file.read(1))
        if cut:
            message = f"{name} is cut at {_LARGEST_ARTIFACT_BYTES} bytes"
            findings.append(Finding(code="artifact_cut", severity="warning", message=message))
        if data.strip():
            artifacts[name] = context.place.redactor.bytes(data)
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


def _doubts_of_the_route(context: RunContext, output: AttemptOutput) -> list[Finding]:
    findings = []
    if output.unmetered:
        message = f"the meter stepped aside: {output.unmetered}"
        findings.append(Finding(code="not_metered", severity="warning", message=message))
    if output.requests is not None:
        findings += other_models(context.config.model, output.requests.models_served)
        findings += call_doubts(output.requests, output.metered)
    if output.telemetry is not None:
        findings += counter_disagreements(output.usage.headline, output.telemetry)
    return findings
