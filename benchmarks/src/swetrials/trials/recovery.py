"""What a killed harness had spent: put into the records of its trials from what lies on disk beside them."""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from swetrials.hosting import PROVIDERS
from swetrials.hosting.base import Provider
from swetrials.pricing.book import PriceBook
from swetrials.records.config import RunnerConfig
from swetrials.records.lock import RunLock, RunSession
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.store.files import RecordError, read_record, write_record, write_record_once
from swetrials.store.results import LOCK, TrialFolder, has_no_end, read_instead, state_of, subfolders, trial_folders
from swetrials.trials.attempt import ATTEMPT
from swetrials.trials.rebuilding import KILLED, Reason, lost, rebuilt, unrecorded
from swetrials.trials.record import with_attempts


@dataclass(frozen=True)
class _Priced:
    """What a killed session's attempts are priced by."""

    config: RunnerConfig
    provider: Provider
    prices: PriceBook


def recover_idle(scope: Path, prices: PriceBook) -> None:
    """Put into the records of a run's folder what a killed harness had spent, unless a run is at work there.

    Where they cannot be written, this process reads them as they would be.
    """
    if not any(map(has_no_end, _trials(scope))):
        return
    try:
        with FileLock(scope / ".lock", timeout=0):
            recover_killed([scope], prices)
    except Timeout:
        return  # its trials are under way, and their records will be written
    except OSError:
        if not _is_at_work(scope):
            for folder, metrics, more in _cut_trials(scope, prices):
                read_instead(folder, with_attempts(metrics, more))


def recover_killed(scopes: Sequence[Path], prices: PriceBook) -> None:
    """Put into the records of a run's folders the attempts of which only logs are there.

    Each gets a record of its own as well, so that its money does not hang on the trial's. The caller holds the
    folders' locks: the trials of a run at work look the same.

    Raises:
        OSError: a record cannot be written.
    """
    for scope in scopes:
        for folder, metrics, more in _cut_trials(scope, prices):
            for attempt in more:
                _keep(folder, attempt)
            write_record(folder.metrics_file, with_attempts(metrics, more))
        _recover_unreadable(scope, prices)


def _is_at_work(scope: Path) -> bool:
    """Whether somebody holds the lock of a folder, as far as one can tell who may read and not write it."""
    try:
        with (scope / ".lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _trials(scope: Path) -> Iterator[TrialFolder]:
    return trial_folders(scope, lambda error: None)  # what cannot be looked into is told by who reads the trials


def _cut_trials(scope: Path, prices: PriceBook) -> Iterator[tuple[TrialFolder, Metrics, list[AttemptRecord]]]:
    """Give each trial of a killed harness with the attempts that its record does not hold."""
    for folder in filter(has_no_end, _trials(scope)):
        metrics = state_of(folder)
        if isinstance(metrics, Metrics) and _is_cut(metrics) and (more := _missing(folder, metrics, prices)):
            yield folder, metrics, more


def _is_cut(metrics: Metrics) -> bool:
    return metrics.run_ended_at is None and metrics.outcome.kind is OutcomeKind.INTERRUPTED and not metrics.imported


def _missing(folder: TrialFolder, metrics: Metrics, prices: PriceBook) -> list[AttemptRecord]:
    config = _config(folder, metrics)
    if config.provider not in PROVIDERS:
        return []
    pricing = _Priced(config, PROVIDERS[config.provider], prices)
    more: list[AttemptRecord] = []
    for number in unrecorded(folder, metrics.attempts):
        began_at = _began_at(metrics, more)
        reason: Reason = "first" if began_at == metrics.run_started_at else "retry"
        more.append(rebuilt(folder, number, began_at, pricing, agent=metrics.agent, reason=reason))
    attempts = [*metrics.attempts, *more]
    told = any(attempt.ended_by == KILLED and attempt.started_at >= _session(metrics) for attempt in attempts)
    if config.executor != "local" and not told:
        number = max((attempt.number for attempt in attempts), default=0) + 1
        more.append(lost(folder, metrics, number, _began_at(metrics, more)))
    return more


def _keep(folder: TrialFolder, attempt: AttemptRecord) -> None:
    with suppress(FileExistsError):
        write_record_once(folder.attempt_folder(attempt.number) / ATTEMPT, attempt)


def _recover_unreadable(scope: Path, prices: PriceBook) -> None:
    """Give the attempts of trials whose record cannot be read records of their own, from their logs.

    They are priced by the last session that the folder's lock tells of. Without one, nobody knows what they cost.
    """
    session = _last_session(scope)
    if session is None:
        return
    config = RunnerConfig.model_validate(session.config)
    pricing = _Priced(config, PROVIDERS[config.provider], prices)
    for folder in map(TrialFolder, subfolders(scope)):
        if isinstance(state_of(folder), RecordError):
            for number in unrecorded(folder):
                began_at = session.started_at
                _keep(folder, rebuilt(folder, number, began_at, pricing, agent=session.agent, reason="first"))


def _last_session(scope: Path) -> RunSession | None:
    """Return the last session of a folder's lock, where it can be read and its provider is known."""
    try:
        session = read_record(scope / LOCK, RunLock).sessions[-1]
        known = RunnerConfig.model_validate(session.config).provider in PROVIDERS
    except (RecordError, IndexError, ValidationError):
        return None
    return session if known else None


def _session(metrics: Metrics) -> str:
    return metrics.run_started_at or ""


def _began_at(metrics: Metrics, more: Sequence[AttemptRecord]) -> str:
    """Return when the next attempt of the session cannot have begun before."""
    attempts = [*metrics.attempts, *more]
    ends = [attempt.ended_at for attempt in attempts if attempt.started_at >= _session(metrics)]
    return max([*ends, _session(metrics)])


def _config(folder: TrialFolder, metrics: Metrics) -> RunnerConfig:
    """Return what the session ran with, as its lock says; without a readable one, what the record says."""
    try:
        sessions = read_record(folder.path.parent / LOCK, RunLock).sessions
        started = [session for session in sessions if session.started_at <= _session(metrics)]
        return RunnerConfig.model_validate(started[-1].config)
    except (RecordError, IndexError, ValidationError):
        named = {"model": metrics.model, "provider": metrics.provider, "aws_region": metrics.aws_region}
        return RunnerConfig.model_validate(named)
