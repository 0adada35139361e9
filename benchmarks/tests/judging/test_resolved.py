"""Verification by single tests: real runners in real checkouts, from the dataset's keys to ``eval.json``'s."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from environments.strongest import strongest
from judging.submissions import TASK, submission
from swetrials.environments.base import Environment
from swetrials.environments.host import Host
from swetrials.environments.work_context import WorkContext
from swetrials.judging.tests import TestsJudge
from swetrials.records.dataset import Verify
from swetrials.records.evaluation import TestsEvaluation
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import private_root

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
UNITTEST = ["python3", "-m", "unittest", "-q"]
CALC = "def add(first, second):\n    return first - second\n\n\ndef sub(first, second):\n    return first - second\n"
FIXED = CALC.replace("return first - second", "return first + second", 1)
BOTH_CHANGED = CALC.replace("first - second", "first + second")
TEST_CALC = """\
import unittest

from calc import add, sub


class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 2), 4)

    def test_sub(self):
        self.assertEqual(sub(2, 2), 0)

    @unittest.skip("later")
    def test_later(self):
        pass
"""
NODE_TEST = """\
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
const calc = readFileSync('calc.py', 'utf8');
describe('calc', () => {
  it('adds \\u001b[1m "well"', () => assert.match(calc, /add.*\\n.*\\+/));
  it('subtracts', () => assert.match(calc, /sub.*\\n.*-/));
  it.skip('divides', () => {});
});
"""
KINDS = {
    "junit": ([*PYTEST, "tests"], "tests/test_calc.py::Calc::test_add", "tests/test_calc.py::Calc::test_sub"),
    "unittest": ([*UNITTEST, "tests.test_calc"], "tests.test_calc.Calc.test_add", "tests.test_calc.Calc.test_sub"),
    "node-test": (
        ["node", "--test", "tests/"],
        'tests/calc.test.mjs > calc > adds \\x1b[1m "well"',
        "tests/calc.test.mjs > calc > subtracts",
    ),
}


class Bench:
    """A repository with a fault, its hidden tests, and a place to verify a change of it."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self.folder = folder
        self.source = folder / "source"
        self.hidden = folder / "hidden"
        self.place = WorkContext(
            Repositories(folder / "mirrors"), private_root(folder / "work"), environment, Redactor(["hunter2-secret"])
        )
        self.source.mkdir()
        self.hidden.mkdir()
        self.write("calc.py", CALC)
        self._git("init", "-q")
        self.commit()
        (self.hidden / "test_calc.py").write_text(TEST_CALC)
        (self.hidden / "calc.test.mjs").write_text(NODE_TEST)
        (self.hidden / "__init__.py").touch()

    def write(self, name: str, text: str) -> None:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> None:
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "a step")

    def patch(self, **files: str) -> bytes:
        """Return the patch that gives some files these contents; a name's dots are written as ``__``."""
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self._git("add", "-A")
        patch = self._git("diff", "--cached", "--binary")
        self._git("reset", "-q", "--hard")
        return patch

    def verdict(self, patch: bytes, commands: list[list[str]], report: str, **verify: Any) -> TestsEvaluation:  # noqa: ANN401
        wanted = Verify.model_validate({"commands": commands, "report": report, **verify})
        submitted = submission(
            task=TASK.model_copy(update={"verify": wanted}),
            repo=str(self.source),
            commit=self._git("rev-parse", "HEAD").decode().strip(),
            hidden_files={"tests": self.hidden},
            patch=patch,
        )
        evaluation = anyio.run(TestsJudge().score, submitted, self.place, self.folder / "unused.jsonl")
        assert not [path for path in self.place.work_root.rglob("*") if path.is_file()]
        return TestsEvaluation.model_validate_json(evaluation.model_dump_json())

    def _git(self, *arguments: str) -> bytes:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        return subprocess.run(["git", *who, *arguments], cwd=self.source, check=True, capture_output=True).stdout


@pytest.fixture(params=["strongest", "host"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Bench:
    return Bench(tmp_path, strongest(Path("/root/none")) if request.param == "strongest" else Host())


@pytest.mark.parametrize("report", KINDS)
def test_a_fix_resolves_a_half_does_not_and_a_regression_is_named(bench: Bench, report: str) -> None:
    command, fixed, kept = KINDS[report]
    lists = {"fail_to_pass": [fixed], "pass_to_pass": [kept]}
    good = bench.verdict(bench.patch(calc__py=FIXED), [command], report, **lists)
    assert (good.status, good.resolved, good.report, good.reason) == ("scored", True, report, ""), good
    assert [(test.id, test.state) for test in good.tests][:2] == [(fixed, "passed"), (kept, "passed")]
    assert [test.state for test in good.tests][2:] == ["skipped"]
    none = bench.verdict(b"", [command], report, **lists)
    assert (none.resolved, none.passed) == (False, False)
    assert none.reason.startswith(f"fail-to-pass failed: {fixed}")
    for keep in ([kept], "all"):
        broken = bench.verdict(bench.patch(calc__py=BOTH_CHANGED), [command], report, **{**lists, "pass_to_pass": keep})
        assert (broken.resolved, broken.regressions) == (False, (kept,))
        assert broken.fail_to_pass is not None
        assert broken.fail_to_pass.model_dump() == {"passed": 1, "total": 1}
        assert broken.pass_to_pass is not None
        assert broken.pass_to_pass.model_dump() == {"passed": 0, "total": 1}


@pytest.mark.parametrize("report", KINDS)
def test_reporters_work_below_make_and_npm(bench: Bench, report: str) -> None:
    command, fixed, kept = KINDS[report]
    line = " ".join(command)
    bench.write("Makefile", f"test:\n\t{line}\n")
    bench.write("package.json", json.dumps({"name": "calc", "scripts": {"test": line}}))
    bench.commit()
    below = ["npm", "test", "--silent"] if report == "node-test" else ["make", "test"]
    if not shutil.which(below[0]):
        pytest.skip(f"{below[0]} is not installed")
    found = bench.verdict(bench.patch(calc__py=FIXED), [below], report, fail_to_pass=[fixed], pass_to_pass=[kept])
    assert found.resolved, found
