"""An attempt that the harness did not live to record, from what its agent and its meter had written by then."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from swetrials.agents import AGENTS
from swetrials.agents.events import Tally
from swetrials.records.metrics import AttemptRecord, AttemptStart, Finding, Metrics, TimeSplit
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.records.usage import UsageReport
from swetrials.store.files import RecordError, read_record
from swetrials.store.reading import read_bytes
from swetrials.store.results import ATTEMPTS, TrialFolder
from swetrials.trials.attempt import ATTEMPT, LOST
from swetrials.trials.attempt_session import START
from swetrials.trials.costing import Pricing, attempt_cost
from swetrials.trials.gathering import STREAM, turns_of
from swetrials.trials.sealing_record import sealing_with_bill
from swetrials.trials.usage_reconciliation import cut_usage_block
from swetrials.wire.meter.block import requests_block

REQUESTS = "requests.jsonl"

Reason = Literal["first", "topup", "retry"]

KILLED = "killed"
"""``ended_by`` of an attempt whose harness was killed, and which was put together again from its logs."""


@dataclass(frozen=True)
class Known:
    """What is known of an attempt that nobody saw to its end.

    Attributes:
        requests: those that had ended, as far as the meter's log tells; ``None``: there is no log.
        last_request_seconds: when the last of them had, since the attempt began.
        tally: what the agent had said.
        served: what the provider has counted.
    """

    requests: RequestsBlock | None
    last_request_seconds: float | None = None
    tally: Tally = field(default_factory=Tally)
    served: UsageReport | None = None

    @classmethod
    def of(cls, log: Path, tally: Tally, served: UsageReport | None = None) -> Self:
        """Read a meter's log, and set it beside what the agent had said."""
        records = _requests(log)
        if records is None:
            return cls(None, None, tally, served)
        last = max((record.ended_seconds for record in records), default=None)
        return cls(requests_block(records), last, tally, served)


def cut_attempt(
    pricing: Pricing,
    known: Known,
    *,
    attempt_id: str,
    number: int,
    reason: Reason,
    started: datetime,
    wall_seconds: float | None,
    queue_seconds: float | None = None,
    outcome: Outcome,
    ended_by: str,
) -> AttemptRecord:
    """Return the record of an attempt that nobody saw to its end: of a killed harness, or on a machine that is gone.

    Every call that was answered is counted to the token, and billed as any other. What was under way is nowhere told,
    so that tokens and cost are lower bounds.
    """
    metered = known.requests.usage if known.requests is not None else None
    usage = cut_usage_block(known.tally.usage, metered, known.served)
    block = known.requests.model_copy(update={"usage": usage.metered}) if known.requests is not None else None
    seconds = wall_seconds or 0.0
    return AttemptRecord(
        id=attempt_id,
        number=number,
        reason=reason,
        started_at=started.isoformat(),
        ended_at=(started + timedelta(seconds=seconds)).isoformat(),
        outcome=outcome,
        usage=usage,
        requests=block,
        cost=attempt_cost(
            pricing, usage, None, reported_usd=None, wall_seconds=seconds, at=started, requests=known.requests
        ),
        time=TimeSplit(
            wall_seconds=wall_seconds,
            api_seconds=block.api_seconds if block else None,
            waiting_seconds=block.waiting_seconds if block else None,
            queue_seconds=queue_seconds,
        ),
        num_turns=turns_of(block, known.tally),
        ended_by=ended_by,
        session_id=known.tally.session_id,
    )


def unrecorded(folder: TrialFolder, recorded: Sequence[AttemptRecord] = ()) -> list[int]:
    """Return the numbers of the attempts on disk that are not recorded, in their order.

    Both logs are begun before the agent is: where there is neither, nothing was asked.
    """
    known = {attempt.number for attempt in recorded}
    logged = {
        file.parent.name for name in (ATTEMPT, REQUESTS, STREAM) for file in folder.path.glob(f"attempts/*/{name}")
    }
    return sorted(int(name) for name in logged if name.isdecimal() and int(name) not in known)


def rebuilt(
    folder: TrialFolder, number: int, began_at: str, pricing: Pricing, *, agent: str, reason: Reason
) -> AttemptRecord:
    """Return the record of an attempt: its own where it had been written, else one from its logs.

    Args:
        folder: the trial's.
        number: of the attempt.
        began_at: not later than it began: the trial's start or the end of the attempt before it, ISO 8601.
        pricing: what it is priced by.
        agent: the folder's name of the agent that made it.
        reason: why it was made, as far as that can be told.
    """
    place = folder.attempt_folder(number)
    try:
        return read_record(place / ATTEMPT, AttemptRecord)
    except RecordError:
        known = Known.of(place / REQUESTS, _heard(place / STREAM, agent))
    message = f"the harness was killed in attempt {number}; what is known of it was read from its logs"
    record = cut_attempt(
        pricing,
        known,
        attempt_id=f"{folder.path.name}-{number}-{KILLED}",
        number=number,
        reason=reason,
        started=datetime.fromisoformat(began_at),
        wall_seconds=known.last_request_seconds,
        outcome=Outcome.of(OutcomeKind.INTERRUPTED, "the harness was killed while the agent worked"),
        ended_by=KILLED,
    )
    started = _started(place)
    return record.model_copy(
        update={
            "environment": started.environment,
            "sealing": sealing_with_bill(started.sealing, record.requests),
            "stream_log": f"{ATTEMPTS}/{number}/{STREAM}" if (place / STREAM).exists() else "",
            "findings": (Finding(code="harness_killed", severity="warning", message=message),),
        }
    )


def _started(place: Path) -> AttemptStart:
    try:
        return read_record(place / START, AttemptStart)
    except RecordError:
        return AttemptStart()


def lost(folder: TrialFolder, metrics: Metrics, number: int, began_at: str) -> AttemptRecord:
    """Return the record of an attempt on another machine of which nothing came home: that it cost something unknown."""
    message = f"the harness was killed while attempt {number} ran on another machine; what it cost nobody knows"
    return AttemptRecord(
        id=f"{folder.path.name}-{number}-{LOST}",
        number=number,
        reason="first",
        started_at=began_at,
        ended_at=began_at,
        outcome=Outcome.of(OutcomeKind.INTERRUPTED, "the harness was killed while the agent worked elsewhere"),
        ended_by=KILLED,
        session_id=metrics.session_id,
        findings=(Finding(code="harness_killed", severity="warning", message=message),),
    )


def _requests(path: Path) -> Sequence[RequestRecord] | None:
    """Return the requests of a log; ``None`` without one. A line that was torn by the kill is passed over."""
    try:
        lines = read_bytes(path).splitlines()
    except OSError:
        return None
    records = []
    for line in lines:
        try:
            records.append(RequestRecord.model_validate_json(line))
        except ValidationError:
            continue
    return records


def _heard(path: Path, agent_folder: str) -> Tally:
    """Return what an agent had said; nothing where its way of talking is unknown here."""
    tally = Tally()
    agent = next((agent for agent in AGENTS.values() if agent.folder == agent_folder), None)
    try:
        said = read_bytes(path)
    except OSError:
        return tally
    if agent is not None:
        reader = agent.reader()
        tally.add(reader.feed(said))
        tally.add(reader.finish())
    return tally
