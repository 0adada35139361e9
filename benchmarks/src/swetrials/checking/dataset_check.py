"""Checking a dataset: the controls of its tasks, some at a time, and what they have shown in the file beside it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from swetrials.checking.task_check import Tell, check_task
from swetrials.environments.local_context import local_context
from swetrials.environments.work_context import WorkContext
from swetrials.errors import KnownError, UsageError, first_error
from swetrials.judging.checkout import CheckoutFailed
from swetrials.judging.task_checks import task_submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.checked import CheckedTask, RefusalReason
from swetrials.records.config import RunnerConfig
from swetrials.records.dataset import Task
from swetrials.store.checked_file import checked_file, read_checked, write_checked
from swetrials.store.documents import LoadedDataset
from swetrials.store.project import find_project

_TRANSIENT: frozenset[RefusalReason] = frozenset({"setup-fails", "times-out"})
# What a registry out of reach, a loaded machine or a missing program does to a good task too: it is tried again.


def place_for(loaded: LoadedDataset, config: RunnerConfig) -> WorkContext:
    """Return where the controls of a dataset are run.

    Raises:
        AbsentError: the environment that is asked for is not to be had.
        UncoveredError: something private cannot be hidden.
    """
    return local_context(
        config.environment,
        find_project(),
        Path(config.clone_dir) if config.clone_dir else None,
        (loaded.folder, *loaded.local_repositories),
        preparations_max_gb=config.preparations_max_gb,
    )


@dataclass(frozen=True)
class TaskVerdict:
    """What became of one task.

    Attributes:
        task: its id.
        check: what its controls have shown; ``None``: nothing can be said of it.
        kept: whether that is from an earlier check.
        why_not: why nothing can be said; empty where there is a check, or the task has no ``verify``.
    """

    task: str
    check: CheckedTask | None = None
    kept: bool = False
    why_not: str = ""


@dataclass(frozen=True)
class CheckViewer:
    """Who is told, as it happens.

    Attributes:
        control: takes in each control that came to its end.
        verdict: takes in what became of each task.
    """

    control: Tell
    verdict: Callable[[TaskVerdict], None]


@dataclass(frozen=True)
class CheckOptions:
    """How a dataset is checked.

    Attributes:
        times: how often the commands are run with the solution, and without.
        jobs: how many runs of commands there may be at one time.
        force: check again what was checked and has not changed.
    """

    times: int = 3
    jobs: int = 2
    force: bool = False


@dataclass
class _DatasetCheck:
    """A check under way: what is known of each task, old and new."""

    loaded: LoadedDataset
    place: WorkContext
    options: CheckOptions
    viewer: CheckViewer
    limiter: anyio.CapacityLimiter
    known: dict[str, CheckedTask]
    verdicts: dict[str, TaskVerdict] = field(default_factory=dict)

    async def check(self, task: Task, tasks_at_once: anyio.CapacityLimiter) -> None:
        # One task after another rather than all a little: what an interruption finds done stays done.
        async with tasks_at_once:
            verdict = await self._verdict(task)
        self.verdicts[task.id] = verdict
        self.viewer.verdict(verdict)

    async def _verdict(self, task: Task) -> TaskVerdict:
        if task.verify is None:
            return TaskVerdict(task.id)
        try:
            repo = self.loaded.repo_address(task)
            commit = await run_sync(self.place.repositories.resolve, repo, task.ref)
            submission = task_submission(self.loaded, task, commit)
            scored = TestsJudge().scored_sha256(submission)
            earlier = self.known.get(task.id)
            if earlier is not None and earlier.is_of(scored, commit) and self._stays(earlier):
                return TaskVerdict(task.id, earlier, kept=True)
            check = await check_task(submission, self.place, self.limiter, self.options.times, self.viewer.control)
        except (Exception, BaseExceptionGroup) as raised:
            error = first_error(raised)
            if not isinstance(error, KnownError | OSError | CheckoutFailed):
                raise
            return TaskVerdict(task.id, why_not=self.place.redactor.text(str(error)))
        self.known[task.id] = check
        write_checked(self.loaded, self.known)
        return TaskVerdict(task.id, check)

    def _stays(self, check: CheckedTask) -> bool:
        return not self.options.force and check.times >= self.options.times and check.reason not in _TRANSIENT


async def check_dataset(
    loaded: LoadedDataset, tasks: Sequence[Task], place: WorkContext, options: CheckOptions, viewer: CheckViewer
) -> list[TaskVerdict]:
    """Run the controls of tasks, and keep what they show in the file beside the dataset, task by task.

    What was checked and has not changed is not run again. A check that was interrupted goes on with what is missing.

    Args:
        loaded: the dataset.
        tasks: those of it that are to be checked.
        place: where to work.
        options: how.
        viewer: who is told.

    Returns:
        What became of each task, in their order.

    Raises:
        RecordError: the file beside the dataset is torn, or is something else.
        UsageError: it cannot be written.
    """
    path = checked_file(loaded)
    known = dict(read_checked(loaded).tasks)
    if not os.access(path if path.exists() else loaded.folder, os.W_OK):
        raise UsageError(
            f"{path} cannot be written: copy the dataset, with all that is beside it, to a folder of yours"
        )
    checking = _DatasetCheck(loaded, place, options, viewer, anyio.CapacityLimiter(options.jobs), known)
    tasks_at_once = anyio.CapacityLimiter(options.jobs)
    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(checking.check, task, tasks_at_once)
    return [checking.verdicts[task.id] for task in tasks]
