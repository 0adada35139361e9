"""Projects that nobody here wrote, with a fault planted: their own code is the solution, and nothing is found in it."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import pytest

from e2e.releases import source_of
from environments.strongest import strongest
from judging.submissions import TASK
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.judging.verification import Verified, verify_patch
from swetrials.records.dataset import Verify
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root
from workspace.sources import commit_all, git, new_repository

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Release:
    """A release with its own tests, and a change of one file that they do not let pass."""

    package: str
    version: str
    report: str
    command: tuple[str, ...]
    python_path: str
    file: str
    right: str
    wrong: str


PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore")
RELEASES = [
    Release(
        "idna", "3.10", "unittest", (sys.executable, "-m", "unittest", "discover", "-q", "-s", "tests", "-t", "."), ".",
        "idna/core.py", "if len(label) > 63:", "if len(label) > 630:",
    ),
    Release(
        "click", "8.1.7", "junit", (*PYTEST, "tests/test_options.py", "tests/test_basic.py"), "src",
        "src/click/types.py", "if self.clamp:", "if not self.clamp:",
    ),
]  # fmt: skip


class Bench:
    """A release as a repository with the fault in it, and the patch that takes it out."""

    def __init__(self, release: Release, root: Path) -> None:
        self.release = release
        released = source_of(release.package, release.version, root / "released")
        self.repo = root / "subject"
        new_repository(self.repo)
        for path in released.iterdir():
            path.rename(self.repo / path.name)
        file = self.repo / release.file
        right = file.read_text()
        assert release.right in right
        file.write_text(right.replace(release.right, release.wrong))
        self.commit = commit_all(self.repo, "with a fault")
        self.solution = self.patch(release.file, right)
        self.place = WorkContext(Repositories(root / "mirrors"), private_root(root / "work"), strongest(), Redactor())

    def patch(self, name: str, text: str) -> bytes:
        (self.repo / name).write_text(text)
        git(self.repo, "add", "-A")
        git(self.repo, "diff", "--cached", f"--output={self.repo.parent / 'patch'}")
        git(self.repo, "reset", "-q", "--hard")
        return (self.repo.parent / "patch").read_bytes()

    def judged(self, patch: bytes, fail_to_pass: list[str], *, solved: bool) -> TestsEvaluation:
        submission = self._submission(patch, fail_to_pass, solved=solved)
        return anyio.run(TestsJudge().score, submission, self.place, Path("unused"))

    def run(self, patch: bytes) -> Verified:
        submission = self._submission(patch, [], solved=False)
        assert submission.task.verify
        return anyio.run(partial(verify_patch, submission, submission.task.verify, patch, self.place))

    def _submission(self, patch: bytes, fail_to_pass: list[str], *, solved: bool) -> Submission:
        verify = {"commands": [self.release.command], "report": self.release.report, "fail_to_pass": fail_to_pass}
        return Submission(
            TASK.model_copy(update={"verify": Verify.model_validate(verify)}), "trial",
            Outcome(kind=OutcomeKind.COMPLETED), str(self.repo), self.commit, {}, patch,
            solution=self.solution if solved else None,
            environment=EnvironmentSpec(env={"PYTHONPATH": self.release.python_path}),
        )  # fmt: skip


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.package)
def test_a_solution_passes_and_nothing_is_found_in_it(release: Release, tmp_path: Path) -> None:
    bench = Bench(release, tmp_path)
    broken, whole = bench.run(b"").states.by_id, bench.run(bench.solution).states.by_id
    turned = [one for one, state in whole.items() if state == "passed" and broken.get(one) != "passed"]
    assert turned, broken
    for solved in (True, False):
        found = bench.judged(bench.solution, turned, solved=solved)
        assert (found.resolved, found.findings, found.evidence) == (True, (), "tests"), found
        assert not found.doubtful
        nothing = bench.judged(bench.patch("notes.txt", "Nothing.\n"), turned, solved=solved)
        assert (nothing.status, nothing.resolved, nothing.findings) == ("scored", False, ()), nothing
