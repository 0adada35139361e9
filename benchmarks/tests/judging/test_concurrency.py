"""Judging several trials at a time: who is at work when, what is on disk, what a stop leaves, what is kept."""

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import anyio
import pytest

from runs.written import rubric
from swetrials.environments.work_context import WorkContext
from swetrials.judging import Judge, Submission
from swetrials.judging.late import Datasets, Judged, judge_trials
from swetrials.judging.tests import TestsJudge
from swetrials.records.check import Check
from swetrials.records.evaluation import Evaluation, RubricEvaluation
from swetrials.store.files import read_record
from swetrials.store.results import TrialFolder
from trials.stand_in import Yard


@dataclass
class Desk:
    """What is being read at this moment, by the trial, and what was at most."""

    reading: Counter[str] = field(default_factory=Counter)
    most: int = 0
    order: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Reader:
    """A rubric judge that waits until so many trials lie on the desk, or a moment, and for ever where it is told to."""

    label: str
    desk: Desk
    wants: int = 1
    stuck_on: str = ""

    name: ClassVar[str] = "codex"
    kind: ClassVar[Literal["rubric", "tests"]] = "rubric"

    def scored_sha256(self, submission: Submission) -> str:
        return self.label

    def asks(self, submission: Submission) -> bool:
        return True

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> RubricEvaluation:
        desk, trial = self.desk, submission.task.id
        desk.reading[trial] += 1
        assert desk.reading[trial] == 1, "two judges read one trial"
        desk.order.append((trial, self.label))
        desk.most = max(desk.most, desk.reading.total())
        if trial == self.stuck_on:
            await anyio.sleep_forever()
        with anyio.move_on_after(1):
            while desk.most < self.wants:
                await anyio.sleep(0.001)
        desk.reading[trial] -= 1
        return rubric(20)

    async def prove(self, place: WorkContext) -> Check:
        return Check("judge", "ok", "reads")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """Trials of five tasks that ran."""
    yard = Yard(tmp_path_factory.mktemp("yard"))
    names = tuple(f"task-{number}" for number in range(1, 6))
    for name in names:
        yard.tasks = (name,)
        yard.write_dataset()
        yard.run()
    yard.tasks = names
    yard.write_dataset()
    return yard


@pytest.fixture
def folders(yard: Yard) -> list[TrialFolder]:
    """The trials, unjudged."""
    folders = [trial.folder for trial in yard.plan().trials]
    for folder in folders:
        folder.evaluation_file.unlink(missing_ok=True)
    return folders


async def judge(
    yard: Yard, folders: Sequence[TrialFolder], by: Sequence[Judge], concurrency: int, observe: Callable[[Judged], None]
) -> None:
    datasets = Datasets(yard.dataset(), yard.root)
    await judge_trials(
        folders, by, yard.place, datasets, overwrite=True, repo=None, observe=observe, concurrency=concurrency
    )


@pytest.mark.parametrize("concurrency", [1, 3, 9])
def test_so_many_trials_are_at_work_and_the_judges_of_one_take_turns(
    yard: Yard, folders: list[TrialFolder], concurrency: int
) -> None:
    desk, heard = Desk(), list[Judged]()
    at_once = min(concurrency, len(folders))
    by = [Reader("judge-a", desk, at_once), Reader("judge-b", desk, at_once)]
    anyio.run(judge, yard, folders, by, concurrency, heard.append)
    assert desk.most == at_once
    assert [trial for trial, label in desk.order if label == "judge-a"] == [*yard.tasks]
    assert len(heard) == 2 * len(folders)
    for folder in folders:
        assert [word.judge for word in heard if word.folder == folder] == ["codex", "codex"]
        evaluation = read_record(folder.evaluation_file, Evaluation)
        assert list(evaluation.judges) == ["judge-a", "judge-b"]
        assert evaluation == folder.metrics().evaluation


def test_records_are_what_they_are_one_after_another(yard: Yard, folders: list[TrialFolder]) -> None:
    def said(concurrency: int) -> list[object]:
        anyio.run(judge, yard, folders, [TestsJudge()], concurrency, lambda word: None)
        records = [read_record(folder.evaluation_file, Evaluation).model_dump() for folder in folders]
        return [without(record, "evaluated_at", "duration_seconds", "load_1m", "load") for record in records]

    assert said(1) == said(4)


def without(value: object, *names: str) -> object:
    """Return a record without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without(held, *names) for key, held in value.items() if key not in names}
    return [without(held, *names) for held in value] if isinstance(value, (list, tuple)) else value


def test_a_stop_leaves_what_was_said_and_nothing_half(yard: Yard, folders: list[TrialFolder]) -> None:
    desk, heard = Desk(), list[str]()
    by = [Reader("judge-a", desk), Reader("judge-b", desk, stuck_on="task-2")]

    async def stopped() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(judge, yard, folders, by, 2, lambda word: heard.append(word.folder.path.name))
            with anyio.fail_after(10):
                while len(heard) < 2 * len(folders) - 1:
                    await anyio.sleep(0.001)
            group.cancel_scope.cancel()

    anyio.run(stopped)
    for folder in folders:
        evaluation = read_record(folder.evaluation_file, Evaluation)
        expected = ["judge-a"] if folder.path.name == "task-2" else ["judge-a", "judge-b"]
        assert list(evaluation.judges) == expected
        assert evaluation == folder.metrics().evaluation
        assert not list(folder.path.glob("*.tmp"))


def test_what_was_said_is_not_kept(yard: Yard, folders: list[TrialFolder]) -> None:
    said: list[weakref.ref[object]] = []
    alive: list[int] = []

    def observe(word: Judged) -> None:
        alive.append(sum(one() is not None for one in said))
        said.append(weakref.ref(word))

    anyio.run(judge, yard, folders * 4, [Reader("judge-a", Desk())], 2, observe)
    assert len(said) == 4 * len(folders)
    assert max(alive) <= 2
