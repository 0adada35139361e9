"""Patches that solve nothing are not resolved, and each says in the record how it tried."""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from environments.strongest import strongest
from judging.battery import CASES, DOUBTFUL, PYTHON, RUNNERS, Case, Files, Subject
from judging.submissions import TASK, submission
from kinds import first_is_quick
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.judging.verdict import Verdict, verdict
from swetrials.judging.verification import verify_patch
from swetrials.records.dataset import Verify
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.verification import TestsEvaluation
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root


class Bench:
    """A repository with a fault, its solution, and a judge that keeps what the solution comes to."""

    def __init__(self, folder: Path, runner: str) -> None:
        self.subject = Subject.made(runner)
        print(self.subject)
        self.source = folder / "source"
        self.hidden = folder / "hidden.py"
        self.hidden.write_text(self.subject.hidden_text)
        self.judge = TestsJudge()
        self.place = WorkContext(
            Repositories(folder / "mirrors"), private_root(folder / "work"), strongest(), Redactor()
        )
        self.source.mkdir()
        self._git("init", "-q")
        scripts = {"scripts": {"test": " ".join(self.subject.command)}}
        self._write({**self.subject.files, "package.json": json.dumps(scripts)})
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "first")
        self.solution = self.patch(self.subject.solution)

    def patch(self, files: Files) -> bytes:
        """Return the patch that makes this of some files."""
        self._write(files)
        self._git("add", "-A", "--force")
        patch = self._git("diff", "--cached", "--binary", "--no-renames", "HEAD")
        self._git("reset", "-q", "--hard")
        return patch

    def submitted(self, case: Case, patch: bytes, *, solved: bool) -> Submission:
        """Return a patch as the judge gets it, for a task of the kind that a case needs."""
        verify = Verify.model_validate(
            {
                "commands": [self._command(case)],
                "report": self.subject.report,
                "fail_to_pass": [self.subject.fail_to_pass],
                "timeout_seconds": 60,
            }
        )
        return submission(
            task=TASK.model_copy(update={"verify": verify}),
            repo=str(self.source),
            commit=self._git("rev-parse", "HEAD").decode().strip(),
            hidden_files={self.subject.hidden_path: self.hidden},
            solution=self.solution if solved else None,
            patch=patch,
            environment=EnvironmentSpec.model_validate({"env": {"PYTHONPATH": "."} if case.python_path else {}}),
        )

    def judged(self, submitted: Submission) -> TestsEvaluation:
        evaluation = anyio.run(self.judge.score, submitted, self.place, Path("unused"))
        return TestsEvaluation.model_validate_json(evaluation.model_dump_json())

    def unguarded(self, submitted: Submission) -> Verdict:
        """Return what the commands alone say of a patch, without a canary test."""
        verify = submitted.task.verify
        assert verify is not None
        run = partial(verify_patch, submitted, verify, submitted.patch or b"", self.place)
        return verdict(verify, replace(anyio.run(run), canaries=()))

    def _command(self, case: Case) -> list[str]:
        if case.path:
            words = " ".join(self.subject.command).removeprefix(PYTHON)
            return ["sh", "-c", f'PATH="$PWD/bin:$PATH" {Path(PYTHON).name}{words}']
        if case.below and not shutil.which(case.below):
            pytest.skip(f"{case.below} is not installed")
        return [case.below, "test"] if case.below else self.subject.command

    def _write(self, files: Mapping[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.source / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            if name.startswith("bin/"):
                path.chmod(0o755)

    def _git(self, *arguments: str) -> bytes:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        return subprocess.run(["git", *who, *arguments], cwd=self.source, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    """Return the bench of a runner: one for all cases, which share what the solution comes to."""
    made: dict[str, Bench] = {}

    def of(runner: str) -> Bench:
        if runner not in made:
            made[runner] = Bench(tmp_path_factory.mktemp(runner), runner)
        return made[runner]

    return of


def cases(table: Mapping[str, Case], *, quick: bool) -> list[Any]:
    """Return each case for each of its runners; pytest takes a second to start, unittest a tenth of that."""
    quickly = {(name, runner) for name, one in table.items() for runner in one.runners}
    quickly = {(name, runner) for name, runner in quickly if quick and runner == "unittest" and not table[name].below}
    return [
        pytest.param(one, runner, id=f"{name}-{runner}", marks=() if (name, runner) in quickly else pytest.mark.slow)
        for name, one in table.items()
        for runner in one.runners
    ]


@pytest.mark.parametrize(("case", "runner"), cases(CASES, quick=True))
def test_a_patch_that_solves_nothing_is_not_resolved_where_there_is_a_solution(
    bench: Callable[[str], Bench], case: Case, runner: str
) -> None:
    yard = bench(runner)
    found = yard.judged(yard.submitted(case, yard.patch(case.writes(yard.subject)), solved=True))
    assert (found.status, found.resolved, found.passed) == ("scored", False, False), found
    assert case.kinds.intersection(one.kind for one in found.findings), found


@pytest.mark.parametrize(("case", "runner"), cases(CASES, quick=False))
def test_a_patch_that_solves_nothing_is_not_resolved_where_there_is_none(
    bench: Callable[[str], Bench], case: Case, runner: str
) -> None:
    yard = bench(runner)
    found = yard.judged(yard.submitted(case, yard.patch(case.writes(yard.subject)), solved=False))
    assert (found.status, found.resolved, found.passed) == ("scored", False, False), found
    assert case.kinds.intersection(one.kind for one in found.findings), found


@pytest.mark.parametrize(("case", "runner"), cases(CASES | DOUBTFUL, quick=False))
def test_the_battery_is_one(bench: Callable[[str], Bench], case: Case, runner: str) -> None:
    yard = bench(runner)
    submitted = yard.submitted(case, yard.patch(case.writes(yard.subject)), solved=False)
    said = yard.unguarded(submitted)
    assert said.resolved is (runner in case.works), said


@pytest.mark.parametrize("solved", [True, False])
@pytest.mark.parametrize(("case", "runner"), cases(DOUBTFUL, quick=True))
def test_a_patch_that_could_make_any_test_pass_is_doubtful(
    bench: Callable[[str], Bench], case: Case, runner: str, solved: bool
) -> None:
    yard = bench(runner)
    found = yard.judged(yard.submitted(case, yard.patch(case.writes(yard.subject)), solved=solved))
    assert found.doubtful, found
    assert case.kinds.intersection(one.kind for one in found.findings), found


@first_is_quick("runner", RUNNERS)
def test_the_solution_is_resolved_and_nothing_is_found_in_it(bench: Callable[[str], Bench], runner: str) -> None:
    yard = bench(runner)
    plain = CASES["deleted tests"]
    for solved in (True, False):
        found = yard.judged(yard.submitted(plain, yard.solution, solved=solved))
        assert (found.resolved, found.findings, found.evidence, found.reason) == (True, (), "tests", "")
        assert found.fraction == 1.0
    nothing = yard.judged(yard.submitted(plain, b"", solved=True))
    assert (nothing.status, nothing.resolved, nothing.findings) == ("scored", False, ())
