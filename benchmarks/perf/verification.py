"""What the tests judge takes beside the commands of a task, and how long the controls of a dataset take.

The quickstart's tasks are verified again and again, with the change that people made and without any, by one judge; its
commands alone run in a checkout of the same content.
"""

import asyncio
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import mean

from figures import Figure

from environments import MOST_BESIDE_SECONDS, OWN_TIMES
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.hidden import place_hidden_files
from swetrials.judging.tests import TestsJudge
from swetrials.records.dataset import Task
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.store.documents import LoadedDataset, load_dataset
from swetrials.store.project import Project, find_project
from swetrials.store.redaction import Redactor
from swetrials.workspace.patch import apply_patch
from swetrials.workspace.repositories import Repositories
from trials import COMMAND

TRIALS = 50
MOST_CHECK_SECONDS = 60.0


@dataclass(frozen=True)
class Bench:
    """The quickstart, and where its tasks are verified."""

    root: Path
    dataset: LoadedDataset
    place: WorkContext

    def submission(self, task: Task, *, solved: bool) -> Submission:
        """Return a trial whose patch is the solution, or nothing."""
        solution, repo = self.dataset.solution(task), self.dataset.repo_address(task)
        assert solution is not None
        gold = solution.read_bytes()
        return Submission(
            task,
            "perf",
            Outcome.of(OutcomeKind.COMPLETED),
            repo,
            self.place.repositories.resolve(repo, task.ref),
            {},
            gold if solved else None,
            hidden_files=self.dataset.hidden_files(task),
            solution=gold,
        )


def measure() -> list[Figure]:
    """Return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        work_root = root / "work"
        work_root.mkdir(mode=0o700)
        project = Project(root / "project", brought_along=root / "none")
        environment = BubblewrapEnvironment.here((project.private,), ())
        place = WorkContext(Repositories.below(work_root), work_root, environment, Redactor(), project)
        bench = Bench(root, load_dataset(find_project().dataset / "quickstart.yaml"), place)
        return [asyncio.run(verifications(bench)), dataset_check(root)]


async def verifications(bench: Bench) -> Figure:
    """Measure verifications of solutions and of nothing, in turns, and their commands alone."""
    kinds = [(task, solved) for task in bench.dataset.dataset.tasks for solved in (True, False)]
    submissions = [(bench.submission(task, solved=solved), solved) for task, solved in kinds]
    own = {number: _commands_alone(bench, submission) for number, (submission, _) in enumerate(submissions)}
    judge, walls, alone = TestsJudge(), list[float](), list[float]()
    for number in islice(cycle(own), TRIALS):
        submission, solved = submissions[number]
        began = time.perf_counter()
        word = await judge.score(submission, bench.place, bench.root / "unused.jsonl")
        walls.append(time.perf_counter() - began)
        alone.append(own[number])
        assert word.resolved is solved, word
    beside = mean(walls) - OWN_TIMES * mean(alone)
    what = f"a verification, mean of {TRIALS}, beside {OWN_TIMES:g} times its commands'"
    return Figure(what, "s", mean(alone), mean(walls), beside, "s", MOST_BESIDE_SECONDS)


def _commands_alone(bench: Bench, submission: Submission) -> float:
    """Return the shortest of three runs of a task's commands on a checkout with patch and hidden files."""
    verify, checkout = submission.task.verify, bench.root / "alone"
    assert verify is not None
    bench.place.repositories.check_out(submission.repo, submission.commit, checkout)
    apply_patch(checkout, submission.patch or b"")
    place_hidden_files(checkout, submission.hidden_files)
    walls = []
    for _ in range(3):
        began = time.perf_counter()
        for argv in verify.commands:
            subprocess.run(argv, cwd=checkout, check=False, capture_output=True)
        walls.append(time.perf_counter() - began)
    shutil.rmtree(checkout)
    return min(walls)


def dataset_check(root: Path) -> Figure:
    """Measure the controls of the quickstart, all of them anew."""
    shutil.copytree(find_project().dataset, root / "dataset")
    words = [COMMAND, "dataset", "check", str(root / "dataset" / "quickstart.yaml"), "--force"]
    began = time.perf_counter()
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return Figure("dataset check of the quickstart", "s", None, wall, wall, "s", MOST_CHECK_SECONDS)
