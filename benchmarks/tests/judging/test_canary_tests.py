"""Canary tests beside a task's own: real runners, honest trees and trees that decide their own verdict."""

import re
from pathlib import Path

import pytest

from environments.strongest import strongest
from judging.test_resolved import FIXED, KINDS, PYTEST, UNITTEST, Bench
from kinds import first_is_quick
from swetrials.records.evaluation import TestsEvaluation

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


@first_is_quick("addopts", ["-x -q", "--maxfail=1", '-m "not canary"', "-k Calc", "-p no:randomly --strict-markers"])
def test_options_of_the_project_that_stop_or_select_do_not_keep_them_from_being_told(
    bench: Bench, addopts: str
) -> None:
    bench.write("pytest.ini", f"[pytest]\naddopts = {addopts}\n")
    bench.commit()
    assert told(bench.verdict(bench.patch(calc__py=FIXED), [PYTEST], "junit")) == HELD
    broken = bench.verdict(b"", [PYTEST], "junit")
    assert (broken.resolved, told(broken)) == (False, HELD)


def test_a_project_s_own_names_of_files_and_functions_are_kept_to(bench: Bench) -> None:
    bench.write(
        "pyproject.toml",
        '[tool.pytest.ini_options]\ntestpaths = ["checks"]\npython_files = ["check_*.py"]\npython_functions = "check_*"\n',
    )
    bench.write("checks/check_calc.py", "from calc import sub\n\ndef check_sub():\n    assert sub(3, 1) == 2\n")
    bench.commit()
    for report in ("junit", "exit-code"):
        assert told(bench.verdict(b"", [PYTEST], report)) == HELD, report
