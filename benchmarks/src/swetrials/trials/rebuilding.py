"""An attempt that the harness did not live to record, from what its agent and its meter had written by then."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from swetrials.agents import AGENTS
from swetrials.agents.events import Tally
from swetrials.records.metrics import AttemptRecord, Finding, Metrics, TimeSplit
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.records.usage import UsageBlock, UsageReport
from swetrials.store.files import RecordError, read_record
from swetrials.store.reading import read_bytes
from swetrials.store.results import ATTEMPTS, TrialFolder
from swetrials.trials.attempt import ATTEMPT, LOST
from swetrials.trials.costing import Pricing, attempt_cost
from swetrials.trials.gathering import STREAM
from swetrials.wire.meter.block import requests_block

REQUESTS = "requests.jsonl"

KILLED = "killed"
"""``ended_by`` of an attempt whose harness was killed, and which was put together again from its logs."""


@dataclass(frozen=True)
class _Logs:
    """What was on disk of an attempt: the requests that had ended, and what the agent had said."""

    requests: RequestsBlock | None
    last_request_seconds: float | None
    tally: Tally = field(default_factory=Tally)

    @property
    def usage(self) -> UsageBlock:
        """The tokens of every call that was answered. One may have been under way, so they are a lower bound.

        The meter counts to the token what came whole; what the agent says of a call that was cut is a guess.
        """
        reported = _at_least(self.tally.usage)
        metered = _at_least(self.requests.usage) if self.requests is not None else None
        headline = reported if metered is None else metered
        known = headline.usage.total is not None
        source = "metered" if metered is not None else "reported"
        return UsageBlock(headline=headline, source=source if known else "none", reported=reported, metered=metered)


def unrecorded(folder: TrialFolder, metrics: Metrics) -> list[int]:
    """Return the numbers of the attempts on disk that a trial's record does not hold, in their order.

    Both logs are begun before the agent is: where there is neither, nothing was asked.
    """
    known = {attempt.number for attempt in metrics.attempts}
    logged = {
        file.parent.name for name in (ATTEMPT, REQUESTS, STREAM) for file in folder.path.glob(f"attempts/*/{name}")
    }
    return sorted(int(name) for name in logged if name.isdecimal() and int(name) not in known)


def rebuilt(folder: TrialFolder, metrics: Metrics, number: int, began_at: str, pricing: Pricing) -> AttemptRecord:
    """Return the record of an attempt: its own where it had been written, else one from its logs.

    Of a killed attempt every call that was answered is counted, to the token. What was under way is nowhere told, so
    that tokens, cost and time are lower bounds.

    Args:
        folder: the trial's.
        metrics: the trial's record, which does not hold the attempt.
        number: of the attempt.
        began_at: not later than it began: the trial's start or the end of the attempt before it, ISO 8601.
        pricing: what it is priced by.
    """
    place = folder.attempt_folder(number)
    try:
        return read_record(place / ATTEMPT, AttemptRecord)
    except RecordError:
        logs = _logs(place, metrics.agent)
    wall_seconds = logs.last_request_seconds
    started = datetime.fromisoformat(began_at)
    usage, block = logs.usage, logs.requests
    message = f"the harness was killed in attempt {number}; what is known of it was read from its logs"
    return AttemptRecord(
        id=f"{folder.path.name}-{number}-{KILLED}",
        number=number,
        reason="first" if began_at == metrics.run_started_at else "retry",
        started_at=began_at,
        ended_at=(started + timedelta(seconds=wall_seconds or 0.0)).isoformat(),
        outcome=Outcome.of(OutcomeKind.INTERRUPTED, "the harness was killed while the agent worked"),
        usage=usage,
        requests=block.model_copy(update={"usage": usage.metered}) if block is not None else None,
        cost=attempt_cost(
            pricing,
            usage,
            None,
            reported_usd=None,
            wall_seconds=wall_seconds or 0.0,
            at=started,
            requests=block,
        ),
        time=TimeSplit(
            wall_seconds=wall_seconds,
            api_seconds=block.api_seconds if block else None,
            waiting_seconds=block.waiting_seconds if block else None,
        ),
        num_turns=logs.tally.turns or (block.turns if block else None),
        ended_by=KILLED,
        session_id=logs.tally.session_id,
        stream_log=f"{ATTEMPTS}/{number}/{STREAM}" if (place / STREAM).exists() else "",
        findings=(Finding(code="harness_killed", severity="warning", message=message),),
    )


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


def _logs(place: Path, agent_folder: str) -> _Logs:
    records = _requests(place / REQUESTS)
    if records is None:
        return _Logs(None, None, _heard(place / STREAM, agent_folder))
    last = max((record.ended_seconds for record in records), default=None)
    return _Logs(requests_block(records), last, _heard(place / STREAM, agent_folder))


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


def _at_least(report: UsageReport) -> UsageReport:
    return UsageReport.of(report.usage, whole=False, requests=report.requests)
