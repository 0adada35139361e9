"""Whose fault an unresolved trial is: the patch's, or that of where it is verified."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from judging.test_tests import FIX, place, source, trial, verdict_on
from swetrials.environments.host import Host
from swetrials.environments.work_context import WorkContext
from swetrials.judging.reference import Reference
from swetrials.judging.runner_reports.states import States
from swetrials.judging.tests import TestsJudge
from swetrials.judging.verdict import findings_of, verdict, void_reason
from swetrials.judging.verification import Verified
from swetrials.records.dataset import Verify
from swetrials.records.verification import CanaryTest

__all__ = ["place", "source"]  # fixtures

EITHER = "the solution is not resolved here either: "
SAME = "it is the same without the change: "
BREAKS = {
    "no such program": (["no-such-program"], "`no-such-program` has no program to run"),
    "no such module": (["python3", "-m", "no_such_runner"], "`python3 -m no_such_runner` has no program to run"),
    "killed": (["sh", "-c", "kill -KILL $$"], "`sh -c kill -KILL $$` was killed by signal 9"),
    "stopped": (["sleep", "60"], "`sleep 60` was stopped at its limit"),
}


def new_file(name: str, text: str) -> bytes:
    head = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1 @@\n+{text}\n".encode()


@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=pytest.mark.slow if name == "stopped" else ()) for name in BREAKS]
)
def test_what_breaks_down_without_the_patch_as_well_is_void(place: WorkContext, source: Path, case: str) -> None:
    command, told = BREAKS[case]
    verify = {"commands": [command], "timeout_seconds": 1 if case == "stopped" else 60}
    for solution, why in ((None, SAME), (FIX, EITHER)):
        found = verdict_on(place, trial(source, verify, patch=FIX, solution=solution))
        assert (found.status, found.resolved, found.passed, found.fraction) == ("unscored", None, None, None)
        assert found.void_reason == found.reason
        assert found.reason.startswith(why)
        assert solution or found.reason == f"{SAME}{told}"
        assert [result.argv for result in found.results] == [tuple(command)]


@pytest.mark.parametrize("solution", [None, FIX])
def test_what_breaks_down_with_the_patch_alone_is_not_resolved(
    place: WorkContext, source: Path, solution: bytes | None
) -> None:
    command = ["sh", "-c", "if test -e crash; then kill -SEGV $$; fi"]
    found = verdict_on(place, trial(source, {"commands": [command]}, patch=new_file("crash", ""), solution=solution))
    assert (found.status, found.resolved, found.void_reason) == ("scored", False, "")
    assert [(one.kind, one.told.endswith("was killed by signal 11")) for one in found.findings] == [("report", True)]


def test_a_patch_that_fails_where_the_solution_does_not_counts(place: WorkContext, source: Path) -> None:
    verify = {"commands": [["grep", "-q", "first + second", "calc.py"]]}
    found = verdict_on(place, trial(source, verify, patch=new_file("notes.txt", "x"), solution=FIX))
    assert (found.status, found.resolved, found.findings) == ("scored", False, ())
    lost = verdict_on(place, trial(source, verify, patch=new_file("notes.txt", "x"), solution=b"no patch"))
    assert lost.void_reason.startswith(f"{EITHER}cannot apply the patch")


def test_the_reference_is_run_once_however_many_ask(place: WorkContext, source: Path, tmp_path: Path) -> None:
    on_host = replace(place, environment=Host())
    count = tmp_path / "count"
    script = f"grep -q 'first + second' calc.py && echo solved >> {count}; test -e never"
    judge = TestsJudge()
    tried = trial(source, {"commands": [["sh", "-c", script]]}, patch=new_file("notes.txt", "x"), solution=FIX)

    async def go() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(judge.score, tried, on_host, tmp_path)

    anyio.run(go)
    assert count.read_text() == "solved\n"


WORK = "diff --git a/Makefile b/Makefile\nnew file mode 100644\n--- /dev/null\n+++ b/Makefile\n@@ -0,0 +1 @@\n+{}\n"


def test_files_of_runners_may_be_the_work_that_is_asked_for(place: WorkContext, source: Path) -> None:
    verify = {"commands": [["grep", "-q", "all:", "Makefile"]]}
    mine, theirs = WORK.format("all: mine").encode(), WORK.format("all: theirs").encode()
    found = verdict_on(place, trial(source, verify, patch=mine, solution=theirs))
    assert (found.resolved, found.evidence) == (True, "weak")
    assert [(one.kind, one.file) for one in found.findings] == [("runner-file", "Makefile")]
    nothing = verdict_on(place, trial(source, verify, patch=new_file("notes.txt", "x"), solution=theirs))
    assert nothing.resolved is False
    wider = verdict_on(place, trial(source, verify, patch=mine + FIX, solution=theirs + FIX))
    assert wider.resolved and wider.findings[0].told.endswith("it is as the solution has it")
    same = verdict_on(place, trial(source, verify, patch=theirs, solution=theirs))
    assert (same.resolved, same.findings) == (True, ())


@pytest.mark.parametrize(("asked", "resolved"), [("first + second", True), ("all: mine", False)])
def test_without_a_solution_both_ways_have_to_come_to_the_same(
    place: WorkContext, source: Path, asked: str, resolved: bool
) -> None:
    verify = {"commands": [["grep", "-rq", asked, "."]]}
    found = verdict_on(place, trial(source, verify, patch=WORK.format("all: mine").encode() + FIX))
    assert (found.resolved, found.evidence) == (resolved, "exit-code" if resolved else "weak")
    [finding] = found.findings
    assert (finding.kind, finding.file) == ("runner-file", "Makefile")
    assert finding.told.endswith("is resolved as well" if resolved else "without it the task is not resolved")
    assert resolved or found.reason.startswith("resolved with what the patch makes of Makefile, and not without: ")


def verified(states: Mapping[str, Any], *canaries: CanaryTest) -> Verified:
    return Verified((), States(by_id=dict(states)), (), canaries)


LISTED = Verify.model_validate({"commands": ["x"], "report": "tap", "fail_to_pass": ["new"]})
LOST = CanaryTest(command="x", expected="failed", state="passed")


def test_a_canary_test_that_does_not_hold_resolves_nothing() -> None:
    good = {"new": "passed"}
    assert verdict(LISTED, verified(good, CanaryTest(command="x", expected="failed", state="failed"))).resolved
    assert verdict(LISTED, verified(good, CanaryTest(command="x", told="not guarded"))).resolved
    lost = verified(good, LOST)
    said = verdict(LISTED, lost)
    assert (said.resolved, said.reason) == (False, "`x`: a canary test that has to be failed was passed")
    assert [one.kind for one in findings_of(lost, said)] == ["canary"]
    assert void_reason(LISTED, lost, Reference("base", verified({}))) == ""
    assert void_reason(LISTED, lost, Reference("base", lost)) == SAME + said.reason
    assert void_reason(LISTED, lost, Reference("solution", lost)) == EITHER + said.reason
    assert void_reason(LISTED, lost, Reference("solution", verified(good))) == ""


@pytest.mark.parametrize(
    ("states", "of", "resolved"),
    [
        ({"new": "passed", "old": "passed"}, "solution", True),
        ({"new": "passed"}, "solution", False),  # old is missing
        ({"new": "passed", "old": "skipped"}, "solution", False),
        ({"new": "passed", "old": "skipped"}, "base", False),
        ({"new": "passed", "old": "passed", "broken": "failed"}, "solution", True),  # for the solution as well
        ({"new": "passed", "old": "passed", "broken": "failed"}, "base", False),
        ({"new": "passed", "old": "passed", "own": "failed"}, "solution", False),
        ({"old": "passed"}, "base", False),
    ],
)
def test_with_all_those_have_to_pass_that_pass_without_the_patch(
    states: Mapping[str, Any],
    of: Literal["solution", "base"],
    resolved: bool,
) -> None:
    reference = Reference(of, verified({"new": "passed", "old": "passed", "broken": "failed", "later": "skipped"}))
    assert verdict(LISTED, verified(states), reference).resolved is resolved
