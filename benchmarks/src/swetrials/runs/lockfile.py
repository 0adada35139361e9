"""Writing ``lock.json`` beside the trials of a run: what this session runs with, and at its end what answered."""

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from swetrials import __version__
from swetrials.environments.base import sandbox_name
from swetrials.records.lock import JudgePin, PricePin, RunLock, RunSession, TaskPin
from swetrials.records.metrics import Metrics
from swetrials.runs.prepared_run import PreparedRun
from swetrials.store.clock import utc_now
from swetrials.store.files import RecordError, read_record, sha256_of, to_json, write_atomically
from swetrials.store.results import LOCK, state_of
from swetrials.trials.plan import Trial, prompt_sha256


@contextmanager
def locked(prepared: PreparedRun, judge: JudgePin | None) -> Iterator[None]:
    """Pin what a run runs with, in each of its folders, and complete that when the block is left, however it is.

    Sessions of before stay. A file that cannot be read any more is written anew.

    Raises:
        OSError: it cannot be written.
    """
    earlier = {scope: _sessions(scope / LOCK) for scope in prepared.plan.scopes}
    started_at = utc_now()
    sessions = {scope: _session(prepared, scope, judge, started_at) for scope in prepared.plan.scopes}
    for scope, session in sessions.items():
        _write(prepared, scope, (*earlier[scope], session))
    try:
        yield
    finally:
        for scope, session in sessions.items():
            _write(prepared, scope, (*earlier[scope], _completed(prepared, scope, session)))


def _sessions(path: Path) -> tuple[RunSession, ...]:
    try:
        return read_record(path, RunLock).sessions
    except RecordError:
        return ()


def _write(prepared: PreparedRun, scope: Path, sessions: tuple[RunSession, ...]) -> None:
    lock = RunLock(scope=scope.name, sessions=sessions)
    write_atomically(scope / LOCK, prepared.place.redactor.bytes(to_json(lock)))


def _session(prepared: PreparedRun, scope: Path, judge: JudgePin | None, started_at: str) -> RunSession:
    config, plan = prepared.config, prepared.plan
    return RunSession(
        started_at=started_at,
        harness_version=__version__,
        agent=prepared.agent.folder,
        agent_version=prepared.agent_version,
        model=config.model,
        provider=config.provider,
        skill=plan.skill.name,
        skill_sha256=sha256_of(plan.skill.text),
        dataset=plan.dataset.dataset.name,
        dataset_sha256=plan.dataset.sha256,
        tasks={trial.task.id: _task(prepared, trial) for trial in _trials(prepared, scope)},
        config=config.model_dump(mode="json", exclude={"api_key", "judge_api_key"}),
        prices=_prices(prepared),
        judge=judge,
        sandbox=sandbox_name(prepared.place.environment.kind),
        python_version=platform.python_version(),
        platform=platform.platform(),
    )


def _completed(prepared: PreparedRun, scope: Path, session: RunSession) -> RunSession:
    """Add what is known only afterwards: which models answered, which commits were checked out, when it ended."""
    records = [record for trial in _trials(prepared, scope) if isinstance(record := state_of(trial.folder), Metrics)]
    commits = {record.task: record.provenance.commit for record in records if record.provenance.commit}
    tasks = {name: pin.model_copy(update={"commit": commits.get(name)}) for name, pin in session.tasks.items()}
    return session.model_copy(update={"ended_at": utc_now(), "models_served": _served(records), "tasks": tasks})


def _served(records: Sequence[Metrics]) -> tuple[str, ...]:
    blocks = [attempt.requests for record in records for attempt in record.attempts if attempt.requests is not None]
    return tuple(dict.fromkeys(model for block in blocks for model in block.models_served))


def _trials(prepared: PreparedRun, scope: Path) -> list[Trial]:
    return [trial for trial in prepared.plan.trials if trial.folder.path.parent == scope]


def _task(prepared: PreparedRun, trial: Trial) -> TaskPin:
    return TaskPin(
        repo=trial.task.repo,
        ref=trial.task.ref,
        task_sha256=prepared.plan.dataset.task_sha256(trial.task),
        prompt_sha256=prompt_sha256(trial.task, prepared.plan.skill.artifacts),
    )


def _prices(prepared: PreparedRun) -> PricePin:
    release = prepared.prices.file.genai_prices
    installed = version("genai-prices")
    return PricePin(
        file=prepared.prices.label,
        file_sha256=sha256_of(to_json(prepared.prices.file)),
        genai_prices=installed,
        genai_prices_date=release.date if release and release.version == installed else None,
    )
