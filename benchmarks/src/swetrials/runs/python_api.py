"""``swetrials.run`` and ``swetrials.judge``: the commands ``run`` and ``judge`` for programs."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio

from swetrials.errors import first_error
from swetrials.records.check import Check
from swetrials.records.evaluation import Evaluation
from swetrials.records.metrics import Metrics
from swetrials.runs.benchmark import PreflightError, RunOptions, RunResult, run_plan
from swetrials.runs.end_to_end import JudgingRequest, judge_folders
from swetrials.runs.judge_choice import JudgeChoice
from swetrials.runs.prepared_run import clear_up, lay_out
from swetrials.store.documents import load_config
from swetrials.store.results import trial_folders
from swetrials.trials.run_context import Listener
from swetrials.trials.trial import Observer

T = TypeVar("T")


def run(
    config_file: Path | str | None = None, *, yes: bool = False, resume: bool = False, **keys: object
) -> list[Metrics]:
    """Run trials, as ``swetrials run`` does, and return their records: those made now and those kept.

    Args:
        config_file: the configuration; without one, ``keys``, the environment and the defaults.
        yes: move earlier trials to the trash, and agree to what the pre-flight asks about.
        resume: keep finished trials and run the others.
        **keys: keys of the configuration, which rank above the file: ``model="..."``, ``tasks=["..."]``.

    Raises:
        KnownError: nothing was run; the message says what is wrong and what mends it.
    """
    prepared = lay_out(load_config(Path(config_file) if config_file else None, os.environ, keys))
    clear_up(prepared.place.work_root, lambda line: None)
    failed: list[Check] = []

    async def go() -> RunResult:
        async with prepared.provider.open(prepared.config) as hosting:
            return await run_plan(prepared, hosting, RunOptions(yes=yes, resume=resume), _Silent(failed))

    result = _told(go, failed)
    return [*result.kept, *result.made]


def judge(
    folder: Path | str,
    *,
    judges: Sequence[str] = ("tests",),
    dataset: Path | str | None = None,
    overwrite: bool = True,
    concurrency: int = 1,
    config_file: Path | str | None = None,
    **keys: object,
) -> list[Evaluation]:
    """Score every trial at or below a folder, as ``swetrials judge --recursive`` does, and return what is on disk then.

    Args:
        folder: one trial's, or a tree of them.
        judges: their names, or ``module:Name``.
        dataset: the dataset's file, where the trials' own record does not lead to it.
        overwrite: judge again what is judged already.
        concurrency: how many trials are judged at the same time.
        config_file: the configuration; the keys ``judge_*``, ``environment`` and ``preparations_max_gb`` count.
        **keys: such keys, which rank above the file: ``judge_model="..."``.

    Raises:
        KnownError: nothing was judged; the message says why.
    """
    config = load_config(Path(config_file) if config_file else None, os.environ, keys)
    choice = JudgeChoice.of(config)
    request = JudgingRequest(
        Path(folder),
        recursive=True,
        overwrite=overwrite,
        judges=tuple(judges),
        dataset=Path(dataset) if dataset else None,
        concurrency=concurrency,
        environment=config.environment,
        preparations_max_gb=config.preparations_max_gb,
    )
    failed: list[Check] = []

    async def go() -> None:
        await judge_folders(request, choice, _Silent(failed).check, lambda word: None)

    _told(go, failed)
    scored = (one.evaluation(one.metrics()) for one in trial_folders(Path(folder)))
    return [evaluation for evaluation in scored if evaluation is not None]


class _Silent:
    """Watches a run for the checks that failed."""

    listener: Listener | None = None

    def __init__(self, failed: list[Check]) -> None:
        self._failed = failed

    def check(self, check: Check) -> None:
        if check.status == "failed":
            self._failed.append(check)

    def say(self, line: str) -> None:
        pass

    def expect(self, trials: int) -> None:
        pass

    @property
    def progress(self) -> Observer:
        return lambda progress: None


def _told(work: Callable[[], Awaitable[T]], failed: Sequence[Check]) -> T:
    """Return what the work gives. Of a group of errors the first counts; a pre-flight's names what failed."""
    try:
        return anyio.run(work)
    except (Exception, BaseExceptionGroup) as raised:
        error = first_error(raised)
        if isinstance(error, PreflightError):
            lines = "; ".join(f"{check.name}: {check.detail}" for check in failed)
            raise PreflightError(f"{error}: {lines}") from None
        raise error from None
