"""Scoring trials that have run: each judge's word goes into ``eval.json`` and is mirrored in ``metrics.json``."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from swetrials.judges import Bench, Judge, Submission
from swetrials.records.errors import KnownError
from swetrials.records.evaluation import Evaluation, RubricEvaluation, TestsEvaluation
from swetrials.records.metrics import EXPECTED_ARTIFACTS, PATCH, Metrics
from swetrials.store.documents import DocumentError, LoadedDataset, load_dataset
from swetrials.store.files import RecordError, write_record
from swetrials.store.results import TrialFolder
from swetrials.workspace.git import GitError


class JudgingError(KnownError):
    """A trial cannot be judged at all; the message says which and what mends it."""


@dataclass(frozen=True)
class Judged:
    """What one judge said of one trial. ``skipped``: there was nothing to ask it for."""

    folder: TrialFolder
    judge: str
    verdict: RubricEvaluation | TestsEvaluation | None
    skipped: bool = False

    @property
    def failed(self) -> bool:
        """Whether the judge failed, which is no score and has to be named: the trial was there to be scored."""
        return not self.skipped and (self.verdict is None or self.verdict.status == "unscored")


class Datasets:
    """Finds the dataset a trial was made from: the given one, else one of the project's by its name."""

    def __init__(self, given: LoadedDataset | None, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._found: dict[str, LoadedDataset] = {}

    def of(self, metrics: Metrics) -> LoadedDataset:
        """Return the dataset of a trial.

        Raises:
            JudgingError: it cannot be found, has no such task, or words the task differently by now.
        """
        name = metrics.trial.dataset
        dataset = self._given or self._found.get(name) or self._search(name)
        if dataset is None:
            raise JudgingError(f"dataset {name!r} is not in {self._folder}; name its file with --dataset")
        tasks = {task.id: task for task in dataset.dataset.tasks}
        if metrics.task not in tasks:
            raise JudgingError(f"{dataset.path} has no task {metrics.task!r}; name the right file with --dataset")
        if dataset.task_sha256(tasks[metrics.task]) != metrics.trial.task_sha256:
            raise JudgingError(f"{dataset.path}: task {metrics.task!r} has changed since the trial; run it again")
        return dataset

    def _search(self, name: str) -> LoadedDataset | None:
        for path in sorted(self._folder.glob("*.yaml")):
            try:
                dataset = load_dataset(path)
            except DocumentError:
                continue
            self._found.setdefault(dataset.dataset.name, dataset)
        return self._found.get(name)


def submission_for(folder: TrialFolder, metrics: Metrics, dataset: LoadedDataset, repo: str | None) -> Submission:
    """Return a trial as a judge may see it.

    Args:
        folder: the trial's folder, which holds the artifacts.
        metrics: its record.
        dataset: where the task stands.
        repo: where to fetch the repository from instead of the task's own address.
    """
    task = next(task for task in dataset.dataset.tasks if task.id == metrics.task)
    texts = {name: _text(folder.path / name) for name in EXPECTED_ARTIFACTS if name != PATCH}
    patch = folder.path / PATCH
    return Submission(
        task=task,
        trial_id=metrics.trial.id,
        outcome=metrics.outcome,
        repo=repo or dataset.repo_address(task),
        commit=metrics.provenance.commit or task.ref,
        artifacts=texts,
        patch=patch.read_bytes() if patch.is_file() else None,
        hidden_files=dataset.hidden_files(task),
    )


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


async def judge_trials(
    folders: Iterable[TrialFolder],
    judges: Sequence[Judge],
    bench: Bench,
    datasets: Datasets,
    *,
    overwrite: bool,
    repo: str | None,
    observe: Callable[[Judged], None],
) -> list[Judged]:
    """Let each judge score each trial, one after another, and write what they say as they say it.

    A score that is there already is kept unless ``overwrite``; an unscored trial is always tried again. A
    trial that cannot be judged does not keep the others from it.
    """
    words: list[Judged] = []
    for folder in folders:
        for judge in judges:
            try:
                judged = await _judge(folder, judge, bench, datasets, overwrite=overwrite, repo=repo)
            except (JudgingError, RecordError, DocumentError, GitError, OSError) as error:
                judged = Judged(folder, judge.name, _unscored(judge, str(error)))
            words.append(judged)
            observe(judged)
    return words


async def _judge(
    folder: TrialFolder, judge: Judge, bench: Bench, datasets: Datasets, *, overwrite: bool, repo: str | None
) -> Judged:
    metrics = folder.metrics()
    known = folder.evaluation(metrics) or Evaluation(task=metrics.task, trial_id=metrics.trial.id)
    earlier = known.tests if judge.name == "tests" else known.rubric
    if earlier is not None and earlier.status == "scored" and not overwrite:
        return Judged(folder, judge.name, earlier, skipped=True)
    if metrics.imported:
        raise JudgingError(f"{folder.path}: figures imported from {metrics.imported.file}, no artifacts to judge")
    submission = submission_for(folder, metrics, datasets.of(metrics), repo)
    if judge.name == "tests" and submission.task.verify is None:
        return Judged(folder, judge.name, None, skipped=True)
    word = await judge.score(submission, bench, folder.path / f"judge-{judge.name}.jsonl")
    record_word(folder, word)
    return Judged(folder, judge.name, word, skipped=not metrics.outcome.valid)


def _unscored(judge: Judge, reason: str) -> RubricEvaluation | TestsEvaluation:
    kind = TestsEvaluation if judge.name == "tests" else RubricEvaluation
    return kind(status="unscored", reason=reason)


def record_word(folder: TrialFolder, word: RubricEvaluation | TestsEvaluation) -> None:
    """Put a judge's word into ``eval.json`` and its mirror in ``metrics.json``; the other judge's word stays."""
    metrics = folder.metrics()
    evaluation = folder.evaluation(metrics) or Evaluation(task=metrics.task, trial_id=metrics.trial.id)
    field = "tests" if isinstance(word, TestsEvaluation) else "rubric"
    evaluation = evaluation.model_copy(update={field: word})
    write_record(folder.evaluation_file, evaluation)
    write_record(folder.metrics_file, metrics.model_copy(update={"evaluation": evaluation}))
