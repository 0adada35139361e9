"""Projects that nobody here wrote: prepared once, then verified ten times by their own tests, without network."""

import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from e2e.releases import source_of
from environments.preparing import Bench
from swetrials.environments.bubblewrap import Bubblewrap, probe
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.preparation_store import PreparationStore
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.store.documents import load_dataset
from swetrials.store.redaction import Redactor
from workspace.sources import commit_all, git, new_repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here"),
]

TIMES = 10


@dataclass(frozen=True)
class Project:
    """A release, how it is set up and tested, and a change that its tests do not let pass.

    ``python`` says something only where what was set up is what is imported.
    """

    package: str
    version: str
    setup: str
    python: str
    tests: str
    file: str
    right: str
    wrong: str


COMPILED = Project(
    "markupsafe", "3.0.2", "uv pip install -e . pytest",
    "import markupsafe._speedups as it; assert it.__file__.startswith('/workspace/'), it.__file__",
    "tests", "src/markupsafe/__init__.py", "self.escape(value).__add__(self)", "self.__add__(value)",
)  # fmt: skip
MANY = Project(
    "flask", "3.1.2", "uv pip install -e .[async,dotenv] pytest<9",
    "import flask, werkzeug, jinja2, click, itsdangerous, blinker, asgiref, dotenv; "
    "assert flask.__file__.startswith('/workspace/'), flask.__file__",
    "tests/test_basic.py tests/test_async.py tests/test_cli.py tests/test_json.py",  # newer werkzeugs fail another file
    "src/flask/helpers.py", "return flashes", "return []",
)  # fmt: skip


def lay_out(project: Project, root: Path) -> Path:
    """Make the release a repository, and return a dataset of one task on it."""
    released = source_of(project.package, project.version, root / "released")
    new_repository(root / "subject")
    for path in released.iterdir():
        path.rename(root / "subject" / path.name)
    commit_all(root / "subject", f"{project.package} {project.version}")
    git(root / "subject", "tag", project.version)
    task = {
        "id": "its-own-tests", "repo": "subject", "ref": project.version, "complexity": "low",
        "problem_statement": "Let the tests pass.",
        "environment": {"python": "{}.{}".format(*sys.version_info), "setup": [project.setup]},
        "verify": {
            "setup": [["python", "-c", project.python]], "report": "junit",
            "commands": [f"python -m pytest -q {project.tests}"],
        },
    }  # fmt: skip
    header = {"schema_version": "1.0", "name": "released", "output_scope": "released"}
    (root / "released.yaml").write_text(json.dumps({**header, "tasks": [task]}))
    return root / "released.yaml"


def submitted(file: Path, commit: str) -> Submission:
    """Return the untouched checkout of a dataset's only task, as the tests judge gets it."""
    dataset = load_dataset(file)
    [task] = dataset.dataset.tasks
    asked = dataset.dataset.environment_of(task)
    outcome = Outcome(kind=OutcomeKind.COMPLETED)
    return Submission(task, "trial", outcome, dataset.repo_address(task), commit, {}, None, environment=asked)


async def seconds_to_prepare(preparations: Preparations, source: Source) -> tuple[float, bool]:
    """Return what it takes until a preparation is there, and whether it was made for that."""
    began = time.monotonic()
    async with preparations.holding(source) as preparation:
        return time.monotonic() - began, preparation.new


async def verified(submission: Submission, place: WorkContext) -> tuple[TestsEvaluation, float]:
    """Return a verification, and its seconds less 1.3 times those of its commands."""
    began = time.monotonic()
    evaluation = await TestsJudge().score(submission, place, Path("unused"))
    took = time.monotonic() - began
    return evaluation, took - 1.3 * sum(result.duration_seconds for result in evaluation.results)


@pytest.mark.parametrize("project", [COMPILED, MANY], ids=lambda project: project.package)
def test_prepared_once_and_verified_ten_times(project: Project, tmp_path: Path) -> None:
    file = lay_out(project, tmp_path)
    bench = Bench.at(tmp_path)
    commit = git(bench.repo, "rev-parse", "HEAD")
    preparations = bench.preparations(limit_seconds=300)
    submission = submitted(file, commit)
    preparations.place.repositories.resolve(submission.repo, commit)
    source = Source(submission.environment, submission.repo, commit)

    _, new = anyio.run(seconds_to_prepare, preparations, source)
    assert new
    seconds, new = anyio.run(seconds_to_prepare, preparations, source)
    assert (new, seconds < 1) == (False, True), seconds

    place = WorkContext(preparations.place.repositories, bench.work_root, bench.environment, Redactor(), bench.project)
    beside = []
    for _ in range(TIMES):
        evaluation, more = anyio.run(verified, submission, place)
        assert evaluation.passed, (evaluation.reason, [result.output_tail for result in evaluation.results])
        beside.append(more)
    # A busy machine is not what is measured.
    print(f"{project.package}: second preparation {seconds:.2f} s, verifications beyond 1.3 times: {sorted(beside)}")
    assert sorted(beside)[(TIMES - 1) // 2] < 0.5, beside

    text = (bench.repo / project.file).read_text()
    assert text.count(project.right) == 1
    (bench.repo / project.file).write_text(text.replace(project.right, project.wrong))
    git(bench.repo, "diff", f"--output={tmp_path / 'patch.diff'}")
    changed = replace(submission, patch=(tmp_path / "patch.diff").read_bytes())
    evaluation, _ = anyio.run(verified, changed, place)
    assert (evaluation.status, evaluation.passed, evaluation.patch_applied) == ("scored", False, True)
    assert len(PreparationStore.of(bench.project).stored()) == 1
