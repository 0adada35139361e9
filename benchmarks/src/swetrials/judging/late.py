"""Scoring trials that have run: each judge's word goes into ``eval.json`` and is mirrored in ``metrics.json``."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from swetrials.environments.work_context import WorkContext
from swetrials.errors import KnownError
from swetrials.judging import Judge, Submission
from swetrials.judging.task_checks import without_flaky
from swetrials.records.dataset import Task
from swetrials.records.evaluation import Evaluation, RubricEvaluation
from swetrials.records.metrics import PATCH, Metrics, documents_in
from swetrials.records.verification import TestsEvaluation
from swetrials.store.documents import DocumentError, LoadedDataset, load_dataset
from swetrials.store.files import RecordError, write_record
from swetrials.store.reading import read_bytes
from swetrials.store.results import TrialFolder
from swetrials.trials.identity import still_given
from swetrials.trials.plan import prompt_sha256
from swetrials.workspace.git import GitError


class JudgingError(KnownError):
    """A trial cannot be judged at all; the message says which and what mends it."""


_UNJUDGED = (JudgingError, RecordError, DocumentError, GitError, OSError)
# What keeps one trial from being judged, and no other.


@dataclass(frozen=True)
class Judged:
    """What one judge said of one trial.

    ``skipped``: there was nothing to ask it for. ``unjudgeable``: the trial cannot be judged, by whomever; the reason
    is in the word.
    """

    folder: TrialFolder
    judge: str
    verdict: RubricEvaluation | TestsEvaluation | None
    skipped: bool = False
    unjudgeable: bool = False

    @property
    def failed(self) -> bool:
        """Whether the judge failed, which is no score and has to be named: the trial was there to be scored."""
        return not self.skipped and (self.verdict is None or self.verdict.status == "unscored")


class Datasets:
    """Finds the dataset a trial was made from: the given one, else one of the project's by its name."""

    def __init__(self, given: LoadedDataset | None, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._found: dict[str, LoadedDataset] | None = None

    def of(self, metrics: Metrics) -> LoadedDataset:
        """Return the dataset of a trial.

        Raises:
            JudgingError: it cannot be found, has no such task, or words the task differently by now. What scores a
                trial is no part of the wording.
        """
        name = metrics.trial.dataset
        dataset = self._given or self._known().get(name)
        if dataset is None:
            raise JudgingError(f"dataset {name!r} is not in {self._folder}; name its file with --dataset")
        tasks = {task.id: task for task in dataset.dataset.tasks}
        if metrics.task not in tasks:
            raise JudgingError(f"{dataset.path} has no task {metrics.task!r}; name the right file with --dataset")
        if not _is_as_given(dataset, tasks[metrics.task], metrics):
            raise JudgingError(
                f"{dataset.path}: what task {metrics.task!r} gives an agent has changed since the trial; run it again"
            )
        return dataset

    def _known(self) -> dict[str, LoadedDataset]:
        """Return the project's datasets by name, read once: there may be a thousand trials of none of them."""
        if self._found is None:
            self._found = {}
            for path in sorted(self._folder.glob("*.yaml")):
                try:
                    dataset = load_dataset(path)
                except DocumentError:
                    continue
                self._found.setdefault(dataset.dataset.name, dataset)
        return self._found


def _is_as_given(dataset: LoadedDataset, task: Task, metrics: Metrics) -> bool:
    """Whether a task still is what the trial's agent was given. Of an older record its prompt tells, or the whole."""
    if (same := still_given(task, metrics)) is not None:
        return same
    return metrics.provenance.prompt_sha256 == prompt_sha256(task, metrics.artifacts_expected) or (
        metrics.trial.task_sha256 == dataset.task_sha256(task)
    )


def submission_for(folder: TrialFolder, metrics: Metrics, dataset: LoadedDataset, repo: str | None) -> Submission:
    """Return a trial as a judge may see it.

    Args:
        folder: the trial's folder, which holds the artifacts.
        metrics: its record.
        dataset: where the task stands.
        repo: where to fetch the repository from instead of the task's own address.
    """
    task = next(task for task in dataset.dataset.tasks if task.id == metrics.task)
    texts = {name: _text(folder.path / name) for name in documents_in(metrics.artifacts_expected)}
    patch, solution = folder.path / PATCH, dataset.solution(task)
    submission = Submission(
        task=task,
        trial_id=metrics.trial.id,
        outcome=metrics.outcome,
        repo=repo or dataset.repo_address(task),
        commit=metrics.provenance.commit or task.ref,
        artifacts=texts,
        patch=read_bytes(patch) if patch.is_file() else None,
        hidden_files=dataset.hidden_files(task),
        solution=read_bytes(solution) if solution else None,
        environment=dataset.dataset.environment_of(task),
    )
    return without_flaky(submission, dataset)


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


async def judge_trials(
    folders: Iterable[TrialFolder],
    judges: Sequence[Judge],
    place: WorkContext,
    datasets: Datasets,
    *,
    overwrite: bool,
    repo: str | None,
    observe: Callable[[Judged], None],
    concurrency: int = 1,
) -> None:
    """Let each judge score each trial, and write what they say as they say it.

    Trials begin in their order, so many at a time; the judges of one trial score it one after another. What has been
    said is on disk and not kept here: it may be of ten thousand trials. Cancelling it leaves every finished word.

    A score that is there already is kept unless ``overwrite``, as long as the same would score it now
    (``scored_sha256``); an unscored trial is always tried again. A judge that fails takes no score away that the same
    means have given: what was paid for stays. A score by other means does not outlive the asking. A trial that cannot
    be judged does not keep the others from it.

    Args:
        folders: the trials.
        judges: who is to score them.
        place: where to work.
        datasets: where their tasks are.
        overwrite: score again what is scored.
        repo: where to fetch repositories from instead of the tasks' own addresses.
        observe: takes in each word as it is said.
        concurrency: how many trials are judged at the same time.
    """
    waiting = iter(folders)

    async def score_what_waits() -> None:
        for folder in waiting:
            for judge in judges:
                try:
                    judged = await _judge(folder, judge, place, datasets, overwrite=overwrite, repo=repo)
                except _UNJUDGED as error:
                    judged = Judged(folder, judge.name, _unscored(judge, str(error)), unjudgeable=True)
                observe(judged)

    async with anyio.create_task_group() as group:
        for _ in range(concurrency):
            group.start_soon(score_what_waits)


def outstanding(
    folders: Iterable[TrialFolder], judge: Judge, datasets: Datasets, *, overwrite: bool, repo: str | None
) -> bool:
    """Whether there is a trial that a judge would have to be proved for: one that it asks somebody about.

    What cannot be judged at all is no reason; judging it tells why.
    """
    for folder in folders:
        try:
            wanted = _wanted(folder, judge, datasets, overwrite=overwrite, repo=repo)
        except _UNJUDGED:
            continue
        if isinstance(wanted, Submission) and judge.asks(wanted):
            return True
    return False


async def _judge(
    folder: TrialFolder, judge: Judge, place: WorkContext, datasets: Datasets, *, overwrite: bool, repo: str | None
) -> Judged:
    wanted = _wanted(folder, judge, datasets, overwrite=overwrite, repo=repo)
    if isinstance(wanted, Judged):
        return wanted
    scored_sha256 = judge.scored_sha256(wanted)
    word = await judge.score(wanted, place, _log(folder, judge))
    if word.status == "unscored" and _has_score(folder, judge, scored_sha256):
        reason = f"{word.reason}; its earlier score by the same means stays"
        return Judged(folder, judge.name, word.model_copy(update={"reason": reason}))
    record_word(folder, judge.label, word, scored_sha256)
    return Judged(folder, judge.name, word, skipped=word.status == "unscored" and not judge.asks(wanted))


def _has_score(folder: TrialFolder, judge: Judge, scored_sha256: str) -> bool:
    known = folder.evaluation(folder.metrics())
    earlier = known.judgments.get(judge.label) if known else None
    return earlier is not None and earlier.scored and earlier.scored_sha256 == scored_sha256


def _wanted(
    folder: TrialFolder, judge: Judge, datasets: Datasets, *, overwrite: bool, repo: str | None
) -> Submission | Judged:
    """Return the trial to be judged, or what there is of it already: a score by the same means, or nothing to ask."""
    metrics = folder.metrics()
    known = folder.evaluation(metrics)
    earlier = known.judgments.get(judge.label) if known else None
    if metrics.imported:
        scores = known.rubric if known and judge.kind == "rubric" else None
        if scores is not None and not overwrite:
            return Judged(folder, judge.name, scores, skipped=True)
        raise JudgingError(f"figures imported from {metrics.imported.file}, no artifacts to judge")
    submission = submission_for(folder, metrics, datasets.of(metrics), repo)
    if judge.kind == "tests" and submission.task.verify is None:
        return Judged(folder, judge.name, None, skipped=True)
    kept = earlier is not None and earlier.scored and not overwrite
    if earlier is not None and kept and earlier.scored_sha256 == judge.scored_sha256(submission):
        return Judged(folder, judge.name, earlier.word, skipped=True)
    return submission


def _log(folder: TrialFolder, judge: Judge) -> Path:
    """Return where a judge's own stream goes: that of a second rubric judge stands beside the first one's."""
    known = folder.evaluation(folder.metrics())
    first = known is None or known.headline in {None, judge.label} or judge.kind == "tests"
    name = judge.name if first else re.sub(r"[^A-Za-z0-9._-]+", "-", judge.label)
    return folder.path / f"judge-{name}.jsonl"


def _unscored(judge: Judge, reason: str) -> RubricEvaluation | TestsEvaluation:
    kind = TestsEvaluation if judge.kind == "tests" else RubricEvaluation
    return kind(status="unscored", reason=reason)


def record_word(
    folder: TrialFolder, name: str, word: RubricEvaluation | TestsEvaluation, scored_sha256: str | None
) -> None:
    """Put a judge's word into ``eval.json`` and its mirror in ``metrics.json``; the other judges' words stay.

    Args:
        folder: the trial's.
        name: the judge's in ``eval.json``.
        word: what it says.
        scored_sha256: of all that scored it.
    """
    metrics = folder.metrics()
    evaluation = folder.evaluation(metrics) or Evaluation(task=metrics.task, trial_id=metrics.trial.id)
    evaluation = evaluation.with_word(name, word, scored_sha256)
    write_record(folder.evaluation_file, evaluation)
    write_record(folder.metrics_file, metrics.model_copy(update={"evaluation": evaluation}))
