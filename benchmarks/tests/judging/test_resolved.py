"""Verification by single tests: real runners in real checkouts, from the dataset's keys to ``eval.json``'s."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from environments.strongest import strongest
from judging.submissions import TASK, submission
from swetrials.environments.base import Environment, View
from swetrials.environments.host import Host
from swetrials.environments.work_context import WorkContext
from swetrials.judging.runner_reports.reporting import Reporting
from swetrials.judging.tests import TestsJudge
from swetrials.records.dataset import ReportFormat, Verify
from swetrials.records.verification import TestsEvaluation
from swetrials.store.redaction import Redactor
from swetrials.workspace.repositories import Repositories
from swetrials.workspace.space import attempt_space, private_root

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


@pytest.fixture(params=["strongest", pytest.param("host", marks=pytest.mark.slow)])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Bench:
    return Bench(tmp_path, strongest() if request.param == "strongest" else Host())


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


def wrote(shell: str) -> list[str]:
    """Return a command that writes its own report."""
    return ["sh", "-c", shell]


GOOD_XML = "<testsuite><testcase classname='a' name='b'/></testsuite>"
SECRET_XML = GOOD_XML.replace("'b'", "'hunter2-secret'")
JUNIT_CASES = {
    "fine": (f'echo "{GOOD_XML}" > "$SWETRIALS_REPORT"', ""),
    "none": ("true", "the report was not written"),
    "huge": (f'echo "{GOOD_XML}" > "$SWETRIALS_REPORT"; truncate -s 500M "$SWETRIALS_REPORT"', "more than 64 MB"),
    "link": ('ln -s /etc/hostname "$SWETRIALS_REPORT"', "is a link"),
    "pipe": ('mkfifo "$SWETRIALS_REPORT"', "was not written"),
    "folder": ('mkdir "$SWETRIALS_REPORT"', "was not written"),
    "folder away": ('rm -r "${SWETRIALS_REPORT%/*}"; ln -s /etc "${SWETRIALS_REPORT%/*}"', "was not written"),
    "text": ('echo "1 passed in 0.01s" > "$SWETRIALS_REPORT"', "is no XML"),
    "half": (
        "printf \"<testsuite><testcase classname='a' name='b'/>\" > \"$SWETRIALS_REPORT\"",
        "is no XML to its end",
    ),
    "locked": (f'echo "{GOOD_XML}" > "$SWETRIALS_REPORT"; chmod 0 "${{SWETRIALS_REPORT%/*}}"', None),
}


@pytest.mark.parametrize("bench", ["strongest"], indirect=True)
@pytest.mark.parametrize("case", JUNIT_CASES)
def test_a_report_that_nobody_should_believe_resolves_nothing(bench: Bench, case: str) -> None:
    shell, why = JUNIT_CASES[case]
    found = bench.verdict(b"", [wrote(shell)], "junit", fail_to_pass=["a > b"])
    assert (found.status, found.passed) == ("scored", found.resolved)
    if why is None:
        return
    assert why in found.reason
    assert found.resolved is (why == ""), found
    assert [one.kind for one in found.findings][:1] == (["report"] if why else [])


@pytest.mark.parametrize("bench", ["strongest"], indirect=True)
def test_every_command_has_to_report_and_the_worse_result_of_a_test_counts(bench: Bench) -> None:
    broken = GOOD_XML.replace("/><", "><error/></testcase><")
    good, bad = (wrote(f'echo "{xml}" > "$SWETRIALS_REPORT"') for xml in (GOOD_XML, broken))
    assert bench.verdict(b"", [good, good], "junit", fail_to_pass=["a > b"]).resolved
    for commands in ([good, bad], [bad, good]):
        found = bench.verdict(b"", commands, "junit", fail_to_pass=["a > b"])
        assert found.resolved is False
        assert "told twice with different results, of which the worse counts: a > b" in found.reason
    silent = bench.verdict(b"", [good, ["true"]], "junit", fail_to_pass=["a > b"])
    assert silent.resolved is False
    assert silent.reason == "`true`: the report was not written"
    closing = wrote(f'echo "{GOOD_XML}" > "$SWETRIALS_REPORT"; chmod 0 "$TMPDIR"; rm -rf "$TMPDIR"/* || :')
    closed = bench.verdict(b"", [closing, good], "junit", fail_to_pass=["a > b"])
    assert closed.status == "scored"  # whatever a change does to its surroundings, it is no way out of the mean
    empty = bench.verdict(b"", [wrote('echo "<testsuite/>" > "$SWETRIALS_REPORT"')], "junit")
    assert (empty.resolved, empty.reason) == (False, "no test ran")
    secret = wrote(f'echo "{SECRET_XML}" > "$SWETRIALS_REPORT"')
    assert [test.id for test in bench.verdict(b"", [secret], "junit").tests] == ["a > [redacted]"]


SHORTCUTS = {
    "exit at import": "import os\nos._exit(0)\n",
    "sys.exit at import": "import sys\nsys.exit(0)\n",
    "exit before the end": FIXED + "\n\nimport atexit, os, threading\n\n\ndef sub(first, second):\n    os._exit(0)\n",
    "does not parse": "def add(\n",
}


@pytest.mark.parametrize("bench", ["strongest"], indirect=True)
@pytest.mark.parametrize("report", ["junit", "unittest"])
@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_a_run_that_does_not_come_to_its_end_resolves_nothing(bench: Bench, report: str, shortcut: str) -> None:
    command, fixed, _ = KINDS[report]
    found = bench.verdict(bench.patch(calc__py=SHORTCUTS[shortcut]), [command], report, fail_to_pass=[fixed])
    assert (found.status, found.resolved) == ("scored", False)
    assert found.reason


@pytest.mark.slow
@pytest.mark.parametrize("bench", ["strongest"], indirect=True)
def test_a_stopped_command_has_not_told_everything(bench: Bench) -> None:
    slow = FIXED + "\n\ndef sub(first, second):\n    import time\n    time.sleep(60)\n"
    for report in ("junit", "unittest"):
        command, fixed, _ = KINDS[report]
        found = bench.verdict(bench.patch(calc__py=slow), [command], report, fail_to_pass=[fixed], timeout_seconds=3)
        assert found.resolved is False
        assert "the report" in found.reason and "was stopped at its limit" in found.reason


ALL_KINDS = """\
import subprocess
import sys
import unittest

INNER = "import unittest\\nclass Inner(unittest.TestCase):\\n    def test_inner(self): self.fail()\\nunittest.main()"


class Kinds(unittest.TestCase):
    def test_ok(self):
        pass

    def test_error(self):
        raise ValueError

    def test_exits(self):
        sys.exit(0)

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unexpected(self):
        pass

    def test_subtests(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)

    def test_nested(self):
        result = unittest.TestResult()
        unittest.FunctionTestCase(self.fail).run(result)
        self.assertEqual(len(result.failures), 1)

    def test_a_program(self):
        done = subprocess.run([sys.executable, "-c", INNER], capture_output=True, text=True)
        self.assertIn("FAILED (failures=1)", done.stderr)


class NoSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise ValueError

    def test_never(self):
        pass
"""


@pytest.mark.parametrize("bench", ["strongest"], indirect=True)
def test_unittest_tells_every_kind_of_end(bench: Bench) -> None:
    (bench.hidden / "test_kinds.py").write_text(ALL_KINDS)
    command = [*UNITTEST, "tests.test_kinds", "tests.test_nowhere"]
    found = bench.verdict(b"", [command], "unittest", fail_to_pass=["tests.test_kinds.NoSetUp.test_never"])
    kinds = "tests.test_kinds.Kinds.test_"
    assert {test.id.removeprefix(kinds): test.state for test in found.tests} == {
        "tests.test_kinds.NoSetUp.test_never": "missing",
        "setUpClass (tests.test_kinds.NoSetUp)": "error",
        "unittest.loader._FailedTest.test_nowhere": "error",
        "ok": "passed",
        "error": "error",
        "exits": "error",
        "expected": "skipped",
        "unexpected": "failed",
        "subtests": "failed",
        "nested": "passed",
        "a_program": "passed",
    }, found.reason
    assert "the report" not in found.reason


def test_commands_alone_work_as_before_and_say_that_they_are_exit_codes(bench: Bench) -> None:
    for command, resolved in ((["true"], True), (["false"], False)):
        found = bench.verdict(b"", [command], "exit-code")
        assert (found.passed, found.resolved, found.report) == (resolved, resolved, "exit-code")
        assert (found.fail_to_pass, found.pass_to_pass, found.tests) == (None, None, ())
    lost = bench.verdict(b"not a patch", [["true"]], "junit", fail_to_pass=["a"])
    assert (lost.resolved, lost.report, lost.patch_applied) == (False, "junit", False)


def test_a_datasets_own_options_stay_beside_the_harnesss(tmp_path: Path) -> None:
    given = {"PYTHONPATH": "/somewhere/else", "PYTEST_ADDOPTS": "--tb=line", "NODE_OPTIONS": "--no-warnings"}
    kinds: tuple[ReportFormat, ...] = ("junit", "unittest", "node-test")
    with attempt_space(tmp_path, "one") as space:
        view = View(space, space).having(given)
        asked = [Reporting(kind, view, str).begin() for kind in kinds]
    assert asked[0]["PYTEST_ADDOPTS"].startswith("--tb=line --junitxml=")
    assert asked[1]["PYTHONPATH"].endswith(":/somewhere/else")
    assert all(one["NODE_OPTIONS"].startswith("--no-warnings --") for one in (asked[0], asked[2]))
    assert Reporting("exit-code", view, str).begin() == {}


@pytest.mark.parametrize(
    ("program", "adds"),
    [
        ("jest/bin/jest.js", ["--json", "--outputFile=/reports/jest.json"]),
        ("vitest/vitest.mjs", ["--reporter=default", "--reporter=json", "--outputFile.json=/reports/vitest.json"]),
        ("other/jest.js", []),
    ],
)
def test_jest_and_vitest_get_a_reporter_on_their_command_line_and_nobody_else(
    tmp_path: Path, program: str, adds: list[str]
) -> None:
    """Tried with jest 30.5 and vitest 4.1 as well, whose reports the tests of the readers have in short."""
    file = tmp_path / "node_modules" / program
    file.parent.mkdir(parents=True)
    file.write_text("console.log(JSON.stringify(process.argv.slice(2)));\n")
    with attempt_space(tmp_path, "one") as space:
        options = Reporting("junit", View(space, space), str).begin()["NODE_OPTIONS"]
        variables = {"PATH": os.environ["PATH"], "NODE_OPTIONS": options, "SWETRIALS_REPORT": "/reports/report"}
        done = subprocess.run(["node", file, "--ci"], env=variables, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == ["--ci", *adds]


MOCHA = """
const given = process.argv.slice(2);
const Reporter = require(given[given.indexOf('--reporter') + 1]);
const runner = new (require('node:events'))();
new Reporter(runner);
const test = (title) => ({ title, parent: { fullTitle: () => 'suite "a" <b>' }, fullTitle: () => title });
runner.emit('pass', test('counts \\u0001 & more'));
runner.emit('pending', test('later'));
runner.emit('fail', test('breaks'), new Error('no'));
runner.emit('end');
console.log(JSON.stringify(given.filter((word) => !word.includes('/'))));
"""


@pytest.mark.parametrize("given", [["--reporter", "dot", "x"], ["-R", "dot", "x"], ["--reporter=dot", "x"], ["x"]])
def test_mocha_has_our_reporter_in_place_of_its_own(tmp_path: Path, given: list[str]) -> None:
    """Tried with mocha 6.1, 9.2 and 10.2 as well; 6.1 takes no two reporters."""
    program = tmp_path / "node_modules" / "mocha" / "bin" / "mocha.js"
    program.parent.mkdir(parents=True)
    program.write_text(MOCHA)
    with attempt_space(tmp_path, "one") as space:
        reporting = Reporting("junit", View(space, space), str)
        variables = {"PATH": os.environ["PATH"], **reporting.begin()}
        done = subprocess.run(["node", program, *given], env=variables, check=True, capture_output=True, text=True)
        reporting.end("mocha", done.stdout)
    assert json.loads(done.stdout.splitlines()[-1]) == ["--reporter", "x"]
    assert reporting.faults == []
    suite = 'suite "a" <b>'
    assert reporting.states.by_id == {
        f"{suite} > counts  & more": "passed",
        f"{suite} > later": "skipped",
        f"{suite} > breaks": "failed",
    }
