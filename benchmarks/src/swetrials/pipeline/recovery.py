"""What a killed harness had spent: put into the records of its trials from what lies on disk beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from swetrials.pricing.book import PriceBook
from swetrials.providers import PROVIDERS
from swetrials.providers.base import Provider
from swetrials.records.config import RunnerConfig
from swetrials.records.lock import RunLock
from swetrials.records.metrics import AttemptRecord, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.store.files import RecordError, read_record, write_record
from swetrials.store.results import LOCK, TrialFolder, has_no_end, state_of, trial_folders
from swetrials.trials.rebuilding import KILLED, lost, rebuilt, unrecorded
from swetrials.trials.record import sums_of


@dataclass(frozen=True)
class _Priced:
    """What a killed session's attempts are priced by."""

    config: RunnerConfig
    provider: Provider
    prices: PriceBook


def recover_idle(scope: Path, prices: PriceBook) -> None:
    """Put into the records of a run's folder what a killed harness had spent, unless a run is at work there.

    Raises:
        OSError: a record cannot be written.
    """
    if not any(has_no_end(folder) for folder in trial_folders(scope)):
        return
    try:
        with FileLock(scope / ".lock", timeout=0):
            recover_killed([scope], prices)
    except Timeout:
        return  # its trials are under way, and their records will be written


def recover_killed(scopes: Sequence[Path], prices: PriceBook) -> None:
    """Put into the records of a run's folders the attempts of which only logs are there.

    The caller holds the folders' locks: the trials of a run at work look the same.

    Raises:
        OSError: a record cannot be written.
    """
    for scope in scopes:
        for folder in filter(has_no_end, trial_folders(scope)):
            metrics = state_of(folder)
            if isinstance(metrics, Metrics) and _is_cut(metrics):
                _recover(folder, metrics, prices)


def _is_cut(metrics: Metrics) -> bool:
    return metrics.run_ended_at is None and metrics.outcome.kind is OutcomeKind.INTERRUPTED and not metrics.imported


def _recover(folder: TrialFolder, metrics: Metrics, prices: PriceBook) -> None:
    config = _config(folder, metrics)
    if config.provider not in PROVIDERS:
        return
    pricing = _Priced(config, PROVIDERS[config.provider], prices)
    attempts: list[AttemptRecord] = list(metrics.attempts)
    for number in unrecorded(folder, metrics):
        attempts.append(rebuilt(folder, metrics, number, _began_at(metrics, attempts), pricing))
    told = any(attempt.ended_by == KILLED and attempt.started_at >= _session(metrics) for attempt in attempts)
    if config.executor != "local" and not told:
        number = max((attempt.number for attempt in attempts), default=0) + 1
        attempts.append(lost(folder, metrics, number, _began_at(metrics, attempts)))
    if len(attempts) > len(metrics.attempts):
        attempts.sort(key=lambda attempt: attempt.number)
        queued = [attempt.time.queue_seconds or 0.0 for attempt in metrics.attempts]
        waited = None if metrics.time.queue_seconds is None else metrics.time.queue_seconds - sum(queued)
        sums = sums_of(attempts, waited)
        write_record(folder.metrics_file, metrics.model_copy(update=sums))


def _session(metrics: Metrics) -> str:
    return metrics.run_started_at or ""


def _began_at(metrics: Metrics, attempts: Sequence[AttemptRecord]) -> str:
    """Return when the next attempt of the session cannot have begun before."""
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
