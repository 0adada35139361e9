"""What a run makes of its dataset's check: it says so beforehand, leaves out what was refused, and notes the rest."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hosting.server import Server, models
from runs.prepared_runs import QUICK, Watcher, bench_of, run, yard_beside
from swetrials.judging.task_checks import task_submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.check import Check
from swetrials.records.checked import CheckedTask
from swetrials.runs.benchmark import PreflightError
from swetrials.runs.dry_run import describe
from swetrials.store.checked_file import checked_file, write_checked
from trials.stand_in import Yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    server = Server()
    server.answer = models("some-model")
    yield yard_beside(server, tmp_path)
    server.close()


def check(yard: Yard, verdicts: dict[str, str], **changes: object) -> None:
    """Write checks of the yard's tasks, as they are now save for ``changes``."""
    loaded, checks = yard.dataset(), {}
    for task in loaded.dataset.tasks:
        if task.id in verdicts:
            fields = {
                "scored_sha256": TestsJudge().scored_sha256(task_submission(loaded, task, yard.commit)),
                "commit": yard.commit, "verdict": verdicts[task.id], "evidence": "exit-code", "times": 3,
                "harness_version": "0.1.0", "checked_on": "2026-11-30",
                **({"reason": "no-power", "told": "greeting.txt"} if verdicts[task.id] == "refused" else {}), **changes,
            }  # fmt: skip
            checks[task.id] = CheckedTask.model_validate(fields)
    write_checked(loaded, checks)


def told(watcher: Watcher) -> list[Check]:
    return [found for found in watcher.checks if found.name == "controls"]


def tasks_of(yard: Yard) -> list[str]:
    return [task.id for task in yard.dataset().dataset.tasks]


def test_a_task_that_was_never_checked_is_run_with_a_warning(yard: Yard) -> None:
    watcher = Watcher()
    result = run(bench_of(yard), QUICK, watcher)
    [line] = told(watcher)
    assert (line.status, line.fix) == ("warning", f"swetrials dataset check {yard.file}")
    assert line.detail.startswith(f"{len(tasks_of(yard))} task") and "never checked" in line.detail
    assert {metrics.trial.checked for metrics in result.made} == {"unchecked"}


def test_what_holds_is_said_with_its_day_and_noted_of_each_trial(yard: Yard) -> None:
    check(yard, dict.fromkeys(tasks_of(yard), "held"))
    watcher = Watcher()
    result = run(bench_of(yard), QUICK, watcher)
    [line] = told(watcher)
    assert (line.status, line.detail.partition(" checked on ")[2]) == ("ok", "2026-11-30")
    assert {metrics.trial.checked for metrics in result.made} == {"held"}


@pytest.mark.parametrize("changes", [{"scored_sha256": "0" * 64}, {"commit": "0" * 40}])
def test_a_task_that_has_changed_since_counts_as_never_checked(yard: Yard, changes: dict[str, str]) -> None:
    check(yard, dict.fromkeys(tasks_of(yard), "held"), **changes)
    watcher = Watcher()
    result = run(bench_of(yard), QUICK, watcher)
    assert ["never checked" in line.detail for line in told(watcher)] == [True]
    assert {metrics.trial.checked for metrics in result.made} == {"unchecked"}


def test_a_task_that_failed_its_check_is_left_out_and_named(yard: Yard) -> None:
    yard.tasks = ("first", "second", "third")
    yard.write_dataset()
    first, *others = tasks_of(yard)
    check(yard, {first: "refused", **dict.fromkeys(others, "unproven")})
    watcher = Watcher()
    result = run(bench_of(yard), QUICK, watcher)
    unproven, refused = told(watcher)
    assert unproven.detail.endswith(f"checked without a solution: {', '.join(others)}")
    assert refused.detail == f"{first} is left out, for it failed its check: no-power: greeting.txt"
    assert {metrics.task for metrics in result.made} == set(others)
    assert {metrics.trial.checked for metrics in result.made} == {"unproven"}

    shown = describe(bench_of(yard))
    assert f"controls: {refused.detail}" in shown and "controls: unproven" in shown
    assert shown.startswith(f"{len(others)} trial") and f"== {first}:" not in shown


def test_where_every_task_failed_nothing_is_run(yard: Yard) -> None:
    check(yard, dict.fromkeys(tasks_of(yard), "refused"))
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard), QUICK, watcher)
    assert watcher.failed().keys() == {"controls"}


def test_a_torn_file_of_checks_is_said_before_anything_is_spent(yard: Yard) -> None:
    checked_file(yard.dataset()).write_text("{")
    watcher = Watcher()
    with pytest.raises(PreflightError):
        run(bench_of(yard), QUICK, watcher)
    assert "move it away" in watcher.failed()["controls"].detail
