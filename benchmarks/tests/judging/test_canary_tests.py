"""Canary tests beside a task's own: real runners, honest trees and trees that decide their own verdict."""

import re
import shutil
from pathlib import Path, PurePosixPath

import pytest

from environments.strongest import strongest
from judging.test_resolved import FIXED, KINDS, PYTEST, UNITTEST, Bench
from kinds import first_is_quick
from swetrials.environments.host import Host
from swetrials.judging.guards.canary_files import CanaryFile
from swetrials.judging.guards.canary_tests import Beside, joined
from swetrials.judging.guards.runner_commands import runner_command
from swetrials.records.verification import TestsEvaluation

DISCOVER = ["python3", "-m", "unittest", "discover", "-q", "-s", "tests", "-t", "."]
NODE = ["node", "--test", "tests/"]
HELD = [("passed", "passed", ""), ("failed", "failed", "")]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, strongest())


def told(evaluation: TestsEvaluation) -> list[tuple[str | None, str | None, str]]:
    return [(canary.expected, canary.state, canary.told) for canary in evaluation.canaries]


def names(evaluation: TestsEvaluation) -> set[str]:
    """Return the test files that a record names."""
    return {re.split(r"::| > ", test.id)[0] for test in evaluation.tests}


@first_is_quick(
    ("report", "command"),
    [
        ("unittest", [*UNITTEST, "tests.test_calc"]),
        ("junit", [*PYTEST, "tests"]),
        ("node-test", NODE),
        ("junit", PYTEST),
        ("junit", [*PYTEST, "tests/test_calc.py::Calc", "--tb", "short"]),
        ("junit", [*PYTEST, "-x", "tests"]),
        ("junit", [*PYTEST, "-vk", "add or sub", "tests"]),
        ("unittest", DISCOVER),
        ("unittest", UNITTEST),
        ("unittest", [*UNITTEST, "-f", "tests.test_calc.Calc"]),
        ("unittest", [*UNITTEST, "tests/test_calc.py"]),
        ("node-test", ["node", "--test", "tests/calc.test.mjs"]),
        ("node-test", ["node", "--test", "--test-name-pattern=s", "tests/calc.test.mjs"]),
        ("exit-code", [*UNITTEST, "tests.test_calc"]),
        ("exit-code", ["env", "PYTHONPATH=.", "python3", "-S", "-m", "unittest", "tests.test_calc"]),
        ("exit-code", [*PYTEST, "tests"]),
        ("exit-code", DISCOVER),
        ("exit-code", NODE),
    ],
)
def test_they_hold_on_an_honest_tree_and_leave_no_trace(bench: Bench, report: str, command: list[str]) -> None:
    good = bench.verdict(bench.patch(calc__py=FIXED), [command], report)
    assert told(good) == HELD
    assert good.resolved, good
    assert {canary.command for canary in good.canaries} == {" ".join(command)}
    assert [list(result.argv) for result in good.results] == [command]
    allowed = {"tests/test_calc.py", "tests/calc.test.mjs", *(KINDS["unittest"][1:]), "tests.test_calc.Calc.test_later"}
    assert names(good) <= allowed


@pytest.mark.parametrize(
    ("named", "ours"),
    [
        ("tests", []),
        ("./tests/", []),
        (".", []),
        ("tests/test_calc.py", ["tests/test_w.py"]),
        ("te", ["tests/test_w.py"]),
    ],
)
def test_pytest_is_not_told_a_file_of_a_folder_that_it_is_told(named: str, ours: list[str]) -> None:
    # pytest 8 runs nothing else of a package then.
    command = (*PYTEST, named)
    beside = Beside(
        command,
        runner_command(command, lambda path: True),
        files=(CanaryFile(PurePosixPath("tests/test_w.py"), "", "w"),),
    )
    assert list(joined(beside)) == [*command, *ours]


@pytest.mark.slow
@pytest.mark.parametrize(
    "addopts", ["-x -q", "--maxfail=1", '-m "not canary"', "-k Calc", "-p no:randomly --strict-markers"]
)
def test_options_of_the_project_that_stop_or_select_do_not_keep_them_from_being_told(
    bench: Bench, addopts: str
) -> None:
    bench.write("pytest.ini", f"[pytest]\naddopts = {addopts}\n")
    bench.commit()
    assert told(bench.verdict(bench.patch(calc__py=FIXED), [PYTEST], "junit")) == HELD
    broken = bench.verdict(b"", [PYTEST], "junit")
    assert (broken.resolved, told(broken)) == (False, HELD)


OWN_NAMES = """\
[tool.pytest.ini_options]
testpaths = ["checks"]
python_files = ["check_*.py"]
python_functions = "check_*"
"""


@pytest.mark.slow
@pytest.mark.once
def test_a_project_s_own_names_of_files_and_functions_are_kept_to(bench: Bench) -> None:
    bench.write("pyproject.toml", OWN_NAMES)
    bench.write("checks/check_calc.py", "from calc import sub\n\ndef check_sub():\n    assert sub(3, 1) == 2\n")
    bench.commit()
    for report in ("junit", "exit-code"):
        assert told(bench.verdict(b"", [PYTEST], report)) == HELD, report


ALL_PASSED = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
    outcome.get_result().longrepr = None
"""
NONE_BUT_KNOWN = """\
def pytest_collection_modifyitems(config, items):
    items[:] = [item for item in items if item.name == "test_sub"]
"""
NOTHING_FAILS = """\
import unittest

unittest.TestCase.assertEqual = lambda *_: None
"""
RUN_PASSES = """\
import unittest


def run(self, result=None):
    result.startTest(self)
    result.addSuccess(self)
    result.stopTest(self)


unittest.TestCase.run = run
"""
RUNNER_PASSES = """\
import _pytest.python

_pytest.python.Function.runtest = lambda self: None
"""
LEAVES_AT_THE_END = FIXED.replace("+", "-") + "\nimport atexit\nimport os\n\natexit.register(os._exit, 0)\n"
NODE_ASSERTS = "const assert = require('node:assert');\nassert.match = assert.strictEqual = () => {};\n"
HOOKED = ["node", "--require", "./setup.cjs", "--test", "tests/"]

# What a patch changes, how the tests are run, and which of the two canaries comes out wrong, as what.
SHORTCUTS: dict[str, tuple[dict[str, str], str, list[str], str, str]] = {
    "unittest patched by a test file": ({"tests/test_aaa__py": RUN_PASSES}, "unittest", DISCOVER, "failed", "passed"),
    "conftest says passed": ({"conftest__py": ALL_PASSED}, "junit", [*PYTEST, "tests"], "failed", "passed"),
    "conftest says passed beside the tests": ({"tests/conftest__py": ALL_PASSED}, "junit", PYTEST, "failed", "passed"),
    "conftest drops tests": ({"conftest__py": NONE_BUT_KNOWN}, "junit", [*PYTEST, "tests"], "passed", "missing"),
    "conftest says passed, alone": (
        {"conftest__py": ALL_PASSED},
        "junit",
        [*PYTEST, "-x", "tests"],
        "failed",
        "passed",
    ),
    "pytest patched by a test file": ({"tests/test_aaa__py": RUNNER_PASSES}, "junit", PYTEST, "failed", "passed"),
    "comparisons patched by a test file": (
        {"tests/test_aaa__py": NOTHING_FAILS},
        "unittest",
        DISCOVER,
        "failed",
        "passed",
    ),
    "node's asserts patched by a hook": ({"setup__cjs": NODE_ASSERTS}, "node-test", HOOKED, "failed", "passed"),
    "unittest shadowed": (
        {"unittest__py": "import sys\nsys.exit(0)\n"},
        "exit-code",
        [*UNITTEST, "tests.test_calc"],
        "failed",
        "passed",
    ),
    "leaves at import": (
        {"calc__py": "import sys\nsys.exit(0)\n"},
        "exit-code",
        [*UNITTEST, "tests.test_calc"],
        "failed",
        "passed",
    ),
    "leaves at the end": ({"calc__py": LEAVES_AT_THE_END}, "exit-code", [*PYTEST, "tests"], "failed", "passed"),
    "conftest says passed, by exit code": ({"conftest__py": ALL_PASSED}, "exit-code", PYTEST, "failed", "passed"),
    "node's asserts, by exit code": ({"setup__cjs": NODE_ASSERTS}, "exit-code", HOOKED, "failed", "passed"),
}


@first_is_quick("shortcut", list(SHORTCUTS))
def test_a_tree_that_has_its_runner_say_what_it_likes_is_caught(bench: Bench, shortcut: str) -> None:
    files, report, command, expected, state = SHORTCUTS[shortcut]
    bench.write("setup.cjs", "")
    bench.commit()
    honest = bench.verdict(b"", [command], report)
    assert report == "exit-code" or told(honest) == HELD
    found = bench.verdict(bench.patch(**files), [command], report)
    canary = next(one for one in found.canaries if one.expected == expected)
    assert (canary.state, canary.held) == (state, False), found.canaries
    assert canary.told


@pytest.mark.slow
@pytest.mark.parametrize("report", ["unittest", "junit"])
def test_a_run_that_is_left_is_tried_alone_and_no_honest_tree_is_blamed_for_it(bench: Bench, report: str) -> None:
    command = [*PYTEST, "tests"] if report == "junit" else DISCOVER
    left = bench.verdict(bench.patch(calc__py="import os\nos._exit(0)\n"), [command], report)
    assert left.resolved is False
    assert [one.state for one in left.canaries] == ["missing", "missing"]
    assert all("was not written" in one.told for one in left.canaries)
    crash = "\n\ndef sub(first, second):\n    import os\n    os.abort()\n"
    died = bench.verdict(bench.patch(calc__py=FIXED + crash), [command], report)
    assert (died.resolved, told(died)) == (False, HELD)
    broken = bench.verdict(bench.patch(calc__py="def add(\n"), [command], report)
    assert (broken.resolved, told(broken)) == (False, HELD)


@pytest.mark.parametrize(
    "command", [["true"], ["sh", "-c", "python3 -m unittest tests.test_calc"], ["make", "test"], ["python3", "calc.py"]]
)
def test_a_command_whose_runner_is_not_known_is_named_as_not_guarded(bench: Bench, command: list[str]) -> None:
    (canary,) = bench.verdict(bench.patch(Makefile="test:\n"), [command], "exit-code").canaries
    assert (canary.command, canary.expected, canary.state) == (" ".join(command), None, None)
    assert canary.held
    assert canary.told == "not tried: its runner is not known, so it is not guarded"


def test_nothing_is_written_through_a_link_of_the_patch(bench: Bench) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    bench.write("more/test_more.py", "import unittest\n")
    bench.commit()
    link = f"import os\nos.rename('more', 'less')\nos.symlink({str(outside)!r}, 'more')\n"
    command = [*UNITTEST, "more.test_more"]
    found = bench.verdict(bench.patch(build__py=link), [command], "unittest", setup=[["python3", "build.py"]])
    assert [one.state for one in found.canaries] == ["missing", "missing"]
    assert not list(outside.iterdir())


def test_commands_of_one_runner_and_folder_share_a_run_of_canary_tests(bench: Bench) -> None:
    commands = [[*UNITTEST, f"tests.test_calc.Calc.test_{name}"] for name in ("sub", "later", "add")]
    found = bench.verdict(bench.patch(calc__py=FIXED), commands, "exit-code")
    assert [one.command for one in found.canaries] == [" ".join(command) for command in commands for _ in range(2)]
    assert told(found) == HELD * 3


CALC_JS = "exports.add = (first, second) => first - second;\n"
ADDS = "describe('calc', () => { it('adds', () => { expect(calc.add(2, 2)).toBe(4); }); });\n"
JS_TESTS = {
    "jest": f"const calc = require('../calc.js');\n{ADDS}",
    "vitest": f"import {{ describe, expect, it }} from 'vitest';\nimport calc from '../calc.js';\n{ADDS}",
}
ALL_IS_EXPECTED = {
    "jest": "global.expect = () => ({ toBe() {}, toEqual() {} });\n",
    "vitest": "const pass = () => ({ pass: true });\nexpect.extend({ toBe: pass, toEqual: pass });\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("stops", [[], ["--bail=1"]])
@pytest.mark.parametrize("runner", ["jest", "vitest"])
def test_jest_and_vitest_are_guarded(tmp_path: Path, runner: str, stops: list[str]) -> None:
    """Needs both on PATH, from the ``node_modules/.bin`` of one folder; tried with jest 30.5 and vitest 4.1."""
    program = shutil.which(runner)
    if program is None:
        pytest.skip(f"{runner} is not installed")
    bench = Bench(tmp_path, Host())
    bench.write("calc.js", CALC_JS)
    bench.write("setup.js", "")
    bench.write("vitest.config.mjs", "export default { test: { globals: true, setupFiles: './setup.js' } };\n")
    bench.write("package.json", '{"jest": {"setupFilesAfterEnv": ["./setup.js"]}}\n')
    (bench.source / "node_modules").symlink_to(Path(program).parent.parent)
    bench.commit()
    (bench.hidden / "calc.test.mjs").unlink()
    (bench.hidden / "calc.test.js").write_text(JS_TESTS[runner])
    command = ["npx", runner, *(["run"] if runner == "vitest" else ["--ci"]), *stops, "tests/"]
    good = bench.verdict(bench.patch(calc__js=CALC_JS.replace("-", "+")), [command], "junit")
    assert (good.resolved, told(good), names(good)) == (True, HELD, {"tests/calc.test.js"}), good
    assert told(bench.verdict(b"", [command], "junit")) == HELD
    cheat = bench.verdict(bench.patch(setup__js=ALL_IS_EXPECTED[runner]), [command], "junit")
    assert [one.state for one in cheat.canaries] == ["passed", "passed"]
    assert told(bench.verdict(bench.patch(calc__js=CALC_JS.replace("-", "+")), [command], "exit-code")) == HELD
