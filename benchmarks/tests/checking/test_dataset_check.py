"""Checking a dataset, with real repositories and real commands: what holds, what is refused, and for which reason."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from checking.subjects import ADDS, CALC, HIDDEN_TEST, OWN_TEST, SOLVED, Subject, git
from e2e.harness import Workplace
from swetrials.environments.host import Host
from swetrials.errors import KnownError
from swetrials.judging.task_checks import check_of, task_submission, without_flaky
from swetrials.judging.tests import TestsJudge
from swetrials.records.checked import REFUSAL_REASONS, REFUSALS
from swetrials.store.checked_file import checked_file, read_checked
from swetrials.store.documents import DocumentError, load_dataset
from swetrials.store.project import find_project

WORKS_ONCE = """\
import os
import unittest

import calc


class Hidden(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(2, 2), 4)

    def test_works_once(self):
        os.mkdir({mark!r})
"""
"""A flaky test that is sure to end differently: it works once, on whatever files."""


def test_a_good_task_holds_and_what_is_kept_of_it_is_not_tried_again(tmp_path: Path) -> None:
    subject = Subject(tmp_path)
    check = subject.checked(times=2)

    assert (check.verdict, check.reason, check.warnings) == ("held", None, ()), check
    assert check.fail_to_pass == (ADDS,)
    assert check.pass_to_pass == ("test_hidden.Hidden.test_name", "test_own.Own.test_name")
    assert [(hunk.file, hunk.power) for hunk in check.hunks] == [("calc.py", True)]
    assert check.commit == git(tmp_path / "source", "rev-parse", "HEAD").strip()
    told = [(line.control, line.result) for line in subject.controls]
    assert told == [
        ("setup", "works"),
        ("solution", "resolved, 2 of 2 times"),
        ("base", "fails, 2 of 2 times"),
        ("without calc.py -2,7 +2,7", "fails, as it has to"),
    ]

    written, ran = checked_file(subject.loaded()).read_bytes(), len(subject.controls)
    [again] = subject.check(times=2)
    assert (again.kept, again.check, len(subject.controls)) == (True, check, ran)
    assert checked_file(subject.loaded()).read_bytes() == written

    subject.write(timeout_seconds=59)
    assert check_of(subject.loaded(), subject.loaded().dataset.tasks[0], None) is None
    assert not subject.check()[0].kept
    assert not subject.check(force=True)[0].kept


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    # name: reason, what differs from a good task, and what the evidence names
    "a solution that fails": ("solution-fails", {"solved": {"calc.py": CALC + "\nextra = 1\n"}}, ADDS),
    "tests that pass on the base": ("passes-on-base", {"files": {"calc.py": SOLVED, "test_own.py": OWN_TEST},
        "solved": {"calc.py": SOLVED + "\nextra = 1\n"}}, ADDS),
    "a setup of the environment that fails": ("setup-fails", {"environment": {
        "setup": [["sh", "-c", "echo cannot build the wheel; exit 3"]]}}, "cannot build the wheel"),
    "a setup of the verification that fails": ("setup-fails", {"verify": {
        "setup": [["sh", "-c", "echo no compiler here; echo giving up; exit 3"]]}}, "no compiler here"),
    "a change without power": ("no-power", {"hidden": HIDDEN_TEST.replace("calc.add(2, 2), 4",
        "__import__('os').path.exists('flag'), True"), "solved": {"calc.py": SOLVED, "more.py": "x = 1\n", "flag": ""}},
        "calc.py"),
    "a solution of other files": ("solution-does-not-apply", {"verify": {"solution": "other.patch"}}, "apply"),
    "a binary solution": ("solution-does-not-apply", {"verify": {"solution": "binary.patch"}}, "apply"),
    "an empty solution": ("solution-does-not-apply", {"verify": {"solution": "empty.patch"}}, "empty"),
    "an id that no run prints": ("no-test-ids", {"verify": {"fail_to_pass": ["test_hidden.Hidden.test_ads"]}},
        "test_hidden.Hidden.test_ads"),
    "tests that never end": ("times-out", {"verify": {
        "timeout_seconds": 1, "commands": [["sleep", "30"]]}}, "sleep 30"),
    "a green test that is red": ("fails-on-base", {"verify": {"fail_to_pass": [], "pass_to_pass": [ADDS]}}, ADDS),
    "commands that pass on the base": ("passes-on-base", {"verify": {
        "commands": [["true"]], "report": "exit-code", "fail_to_pass": []}}, "without the change"),
}  # fmt: skip


def refused(case: str, folder: Path) -> Subject:
    reason, differs, evidence = REFUSED[case]
    subject = Subject(folder, **{key: value for key, value in differs.items() if key != "verify"})
    (folder / "other.patch").write_text((folder / "solution.patch").read_text().replace("second", "third"))
    (folder / "binary.patch").write_bytes(bytes(range(256)))
    (folder / "empty.patch").write_text("\n")
    subject.verify = differs.get("verify", {})
    subject.write()
    check = subject.checked()
    assert (check.verdict, check.reason) == ("refused", reason), check
    assert evidence in check.told, check.told
    return subject


FIVE = tuple(REFUSED)[:5]
"""Those that a dataset's author meets first."""


@pytest.mark.parametrize(
    "case", [*FIVE, *(pytest.param(case, marks=pytest.mark.slow) for case in REFUSED if case not in FIVE)]
)
def test_a_task_that_does_not_measure_is_refused_for_the_right_reason(case: str, tmp_path: Path) -> None:
    subject = refused(case, tmp_path)
    assert read_checked(subject.loaded()).tasks["task-1"].verdict == "refused"


def test_every_reason_has_its_sentence() -> None:
    assert set(REFUSALS) == set(REFUSAL_REASONS)


def test_a_task_whose_only_test_is_flaky_is_refused(tmp_path: Path) -> None:
    hidden = WORKS_ONCE.format(mark=str(tmp_path / "mark"))
    flaky = "test_hidden.Hidden.test_works_once"
    subject = Subject(tmp_path, hidden=hidden, verify={"fail_to_pass": [flaky]}, runs_in=Host())
    check = subject.checked(times=3)
    assert (check.reason, check.flaky) == ("flaky", (flaky,)), check
    assert flaky in check.told


@pytest.mark.slow
def test_a_flaky_test_beside_others_is_left_out_of_the_check_and_of_every_verdict(tmp_path: Path) -> None:
    subject = Subject(tmp_path, hidden=WORKS_ONCE.format(mark=str(tmp_path / "mark")), runs_in=Host())
    check = subject.checked(times=3)
    flaky = "test_hidden.Hidden.test_works_once"
    assert (check.verdict, check.flaky) == ("held", (flaky,)), check
    assert check.warnings == (f"flaky, and left out: {flaky}",)
    assert flaky not in check.pass_to_pass

    loaded = subject.loaded()
    plain = task_submission(loaded, loaded.dataset.tasks[0], check.commit)
    steady = without_flaky(plain, loaded)
    assert steady.flaky == {flaky}
    assert TestsJudge().scored_sha256(steady) != TestsJudge().scored_sha256(plain)


@pytest.mark.slow
def test_commands_that_end_differently_are_flaky(tmp_path: Path) -> None:
    script = f"grep -q + calc.py && mkdir {tmp_path}/mark"
    verify = {"commands": [["sh", "-c", script]], "report": "exit-code", "fail_to_pass": []}
    check = Subject(tmp_path, verify=verify, runs_in=Host()).checked(times=3)
    assert check.reason == "flaky", check


def test_without_a_solution_a_task_is_unproven(tmp_path: Path) -> None:
    subject = Subject(tmp_path, verify={"solution": None})
    check = subject.checked()
    assert (check.verdict, check.reason) == ("unproven", None)
    assert check.told.startswith("no solution")


@pytest.mark.slow
def test_without_a_solution_tests_that_pass_on_the_base_are_refused(tmp_path: Path) -> None:
    subject = Subject(
        tmp_path, files={"calc.py": SOLVED, "test_own.py": OWN_TEST}, solved={}, verify={"solution": None}
    )
    assert subject.checked().reason == "passes-on-base"


@pytest.mark.slow
def test_exit_codes_can_be_checked_and_are_called_so(tmp_path: Path) -> None:
    check = Subject(tmp_path, verify={"report": "exit-code", "fail_to_pass": []}).checked()
    assert (check.verdict, check.evidence) == ("held", "exit-code"), check


@pytest.mark.slow
def test_a_part_of_the_solution_that_no_test_notices_is_named(tmp_path: Path) -> None:
    longer = CALC.replace('"""Sums."""', '"""Sums."""\n\n' + "\n".join(f"row_{n} = {n}" for n in range(12)))
    solved = longer.replace("first - second", "first + second").replace("row_2 = 2", "row_2 = 3")
    subject = Subject(tmp_path, files={"calc.py": longer, "test_own.py": OWN_TEST}, solved={"calc.py": solved})
    check = subject.checked()
    assert check.verdict == "held"
    assert sorted(hunk.power is True for hunk in check.hunks) == [False, True]
    assert any(warning.startswith("no test notices the absence of calc.py -") for warning in check.warnings)


@pytest.mark.slow
def test_the_solutions_own_tests_do_not_notice_for_the_tasks(tmp_path: Path) -> None:
    own = OWN_TEST.replace('calc.name(), "calc"', 'calc.name(), "sums"')
    solved = {"calc.py": SOLVED.replace('return "calc"', 'return "sums"'), "test_own.py": own}
    longer = {"calc.py": CALC.replace("def name", "gap = 1\n\n\n\n\n\n\n\n\ndef name"), "test_own.py": OWN_TEST}
    solved["calc.py"] = solved["calc.py"].replace("def name", "gap = 1\n\n\n\n\n\n\n\n\ndef name")
    hidden = HIDDEN_TEST.replace('calc.name(), "calc"', "bool(calc.name()), True")
    check = Subject(tmp_path, files=longer, solved=solved, hidden=hidden).checked()
    # With the old test of its own the solution is not resolved: the name was to stay.
    assert any(warning.startswith("not resolved without the solution's own tests") for warning in check.warnings)
    assert [hunk.power for hunk in check.hunks] == [True, True]


@pytest.mark.slow
def test_a_hang_without_a_part_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swetrials.checking.task_check._LEAST_SECONDS", 2.0)
    hidden = HIDDEN_TEST.replace(
        "self.assertEqual(calc.add(2, 2), 4)", "[None for _ in iter(lambda: calc.add(2, 2), 4)]"
    )
    check = Subject(tmp_path, hidden=hidden, verify={"timeout_seconds": 3}).checked()
    assert (check.verdict, [hunk.power for hunk in check.hunks]) == ("held", [True]), check


@pytest.mark.slow
def test_a_task_without_tests_is_skipped_and_one_out_of_reach_is_not_judged(tmp_path: Path) -> None:
    subject = Subject(tmp_path, tasks=3)
    written = orjson.loads(subject.file.read_bytes())
    del written["tasks"][1]["verify"]
    written["tasks"][2]["ref"] = "ab" * 20
    subject.file.write_bytes(orjson.dumps(written))
    found = subject.check()
    assert [verdict.check.verdict if verdict.check else None for verdict in found] == ["held", None, None]
    assert (found[1].why_not, "ab" * 6 in found[2].why_not) == ("", True), found
    assert set(read_checked(subject.loaded()).tasks) == {"task-1"}


@pytest.mark.parametrize(("solution", "said"), [("source", "is no file"), ("nowhere.patch", "does not exist")])
def test_a_solution_that_is_no_file_is_a_fault_of_the_dataset(solution: str, said: str, tmp_path: Path) -> None:
    subject = Subject(tmp_path, verify={"solution": solution})
    with pytest.raises(DocumentError, match=said):
        subject.check()


@pytest.mark.parametrize("content", ["{", "[]", '{"dataset": "small", "tasks": {"task-1": {}}}'])
def test_a_torn_file_of_checks_is_named(content: str, tmp_path: Path) -> None:
    subject = Subject(tmp_path)
    checked_file(subject.loaded()).write_text(content)
    with pytest.raises(KnownError, match=r"small\.checked\.json.*move it away"):
        subject.check()


# The command


def command(subject: Subject, *words: str) -> list[str]:
    program = str(Path(sys.executable).with_name("swetrials"))
    return [program, "dataset", "check", str(subject.file), "--clone-dir", str(subject.root / "clones"), *words]


@pytest.mark.slow
def test_the_command_prints_each_control_and_ends_with_4_where_a_task_is_refused(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "person")
    subject = Subject(tmp_path / "small", tasks=2)
    done = place.command(*command(subject, "--times", "1", "--tasks", "task-2")[1:])
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == f"checked: 1 task holds, 0 refused, 0 unproven -> {tmp_path}/small/small.checked.json"
    assert lines[-1] == "  task-2: held"
    assert all(line.startswith("  task-2: ") for line in lines)
    assert set(orjson.loads((tmp_path / "small" / "small.checked.json").read_bytes())["tasks"]) == {"task-2"}

    subject.write(fail_to_pass=["test_hidden.Hidden.test_ads"])
    done = place.command(*command(subject, "--times", "1", "--tasks", "task-1")[1:])
    assert (done.returncode, done.stderr) == (4, ""), done.stdout + done.stderr
    assert "  task-1: REFUSED, no-test-ids: no run printed a test of this id" in done.stdout


@pytest.mark.slow
def test_a_check_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    subject = Subject(tmp_path, tasks=3)
    going = subprocess.Popen(command(subject, "--times", "1", "--jobs", "1"), stdout=subprocess.PIPE, text=True)
    assert going.stdout is not None
    for line in going.stdout:
        if line == "  task-1: held\n":
            going.send_signal(signal.SIGKILL)
    going.wait()
    assert set(read_checked(subject.loaded()).tasks) == {"task-1"}

    done = subprocess.run(command(subject, "--times", "1"), capture_output=True, text=True, check=True)
    assert "  task-1: held (kept from " in done.stdout
    assert done.stdout.splitlines()[-1].startswith("checked: 3 tasks hold, 0 refused")


# What is committed


@pytest.mark.parametrize("name", ["quickstart", "hello-world"])
def test_the_datasets_that_come_along_were_checked_as_they_are(name: str) -> None:
    loaded = load_dataset(find_project().dataset / f"{name}.yaml")
    checks = {task.id: check_of(loaded, task, None) for task in loaded.dataset.tasks}
    verdicts = {task: check.verdict if check else "never checked as it is now" for task, check in checks.items()}
    assert verdicts == dict.fromkeys(verdicts, "held"), f"swetrials dataset check dataset/{name}.yaml"
    assert [warning for check in checks.values() if check for warning in check.warnings] == []


@pytest.mark.slow
@pytest.mark.once
def test_the_quickstart_holds(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    for name in ("quickstart", "quickstart.yaml"):
        subprocess.run(["cp", "-r", find_project().dataset / name, tmp_path], check=True)
    words = ("dataset", "check", str(tmp_path / "quickstart.yaml"), "--clone-dir", str(place.work))
    done = place.command(*words, "--times", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checked: 3 tasks hold, 0 refused, 0 unproven" in done.stdout
