"""A task alone, without anybody's trial: what scores it, and what its check has shown."""

from dataclasses import replace

from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.checked import CheckedTask, pruned
from swetrials.records.dataset import Task
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.store.checked_file import read_checked
from swetrials.store.documents import LoadedDataset
from swetrials.store.reading import read_bytes


def task_submission(loaded: LoadedDataset, task: Task, commit: str) -> Submission:
    """Return a task as its tests are given it, with nobody's patch.

    Args:
        loaded: where the task stands.
        task: as the dataset words it, flaky tests among the others.
        commit: what its ref stands for.

    Raises:
        DocumentError: a hidden file or the solution is not there.
        OSError: the solution cannot be read.
    """
    solution = loaded.solution(task)
    return Submission(
        task=task,
        trial_id="check",
        outcome=Outcome.of(OutcomeKind.COMPLETED),
        repo=loaded.repo_address(task),
        commit=commit,
        artifacts={},
        patch=None,
        hidden_files=loaded.hidden_files(task),
        solution=read_bytes(solution) if solution else None,
        environment=loaded.dataset.environment_of(task),
    )


def check_of(loaded: LoadedDataset, task: Task, commit: str | None) -> CheckedTask | None:
    """Return the check of a task as it is now; ``None``: never checked, or something has changed since.

    Args:
        loaded: where the task stands.
        task: as the dataset words it.
        commit: what its ref stands for; ``None``: nobody looked that up, and it counts as the same.

    Raises:
        RecordError: the file of the checks is torn, or is something else.
        DocumentError: a hidden file or the solution is not there.
        OSError: a file cannot be read.
    """
    known = read_checked(loaded).tasks.get(task.id)
    if known is None or task.verify is None:
        return None
    scored = TestsJudge().scored_sha256(task_submission(loaded, task, commit or task.ref))
    return known if known.is_of(scored, commit) else None


def without_flaky(submission: Submission, loaded: LoadedDataset) -> Submission:
    """Return a submission whose tests are those that its task's check found to be steady.

    Raises:
        RecordError: the file of the checks is torn, or is something else.
        OSError: a file cannot be read.
    """
    task = submission.task
    check = check_of(loaded, task, submission.commit)
    if check is None or task.verify is None or not check.flaky:
        return submission
    flaky = frozenset(check.flaky)
    steady = task.model_copy(update={"verify": pruned(task.verify, flaky)})
    return replace(submission, task=steady, flaky=flaky)
