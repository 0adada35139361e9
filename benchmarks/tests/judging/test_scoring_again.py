"""Tests that change after a trial: what they score anew, what stands, and what may not be added up until they have."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from swetrials.judging.late import Datasets, Judged, judge_trials, outstanding
from swetrials.judging.tests import TestsJudge
from swetrials.records.evaluation import Evaluation
from swetrials.records.verification import TestsEvaluation
from swetrials.results.claim import claim
from swetrials.results.leaderboard import leaderboard
from swetrials.results.mixtures import MixtureError
from swetrials.results.report.results_table import columns, rows
from swetrials.results.report.summary_table import totals
from swetrials.results.results_tree import read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.results.tables import query
from swetrials.router.models import router_models
from swetrials.store.files import read_record, write_record
from swetrials.store.results import TrialFolder
from swetrials.trials.resume_state import standings
from trials.stand_in import Yard

HIDDEN = "check.sh"
PASSES = (
    '<testsuite><testcase classname="greeting" name="made"/><testcase classname="greeting" name="kept"/></testsuite>'
)
"""What the hidden script reports where the change is there."""

VERIFY: dict[str, Any] = {
    "setup": [["true"]],
    "commands": [["sh", HIDDEN]],
    "report": "junit",
    "fail_to_pass": ["greeting > made"],
    "hidden_files": {HIDDEN: HIDDEN},
}

Change = Callable[[Yard], None]


def write(yard: Yard, changes: Mapping[str, Any], **of_task: Any) -> None:  # noqa: ANN401
    """Write the dataset with other tests; a value of ``None`` takes the key away."""
    dataset = orjson.loads(yard.file.read_bytes())
    verify = {name: value for name, value in {**VERIFY, **changes}.items() if value is not None}
    for task in dataset["tasks"]:
        task |= {"verify": verify, **of_task}
    yard.file.write_bytes(orjson.dumps(dataset))


def hide(yard: Yard, report: str = PASSES) -> Path:
    """Write the hidden script."""
    script = yard.file.parent / HIDDEN
    script.write_text(f"grep -q changed greeting.txt && echo '{report}' > \"${{SWETRIALS_REPORT:-/dev/null}}\"\n")
    return script


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    yard = Yard(tmp_path)
    hide(yard)
    write(yard, {})
    yard.run()
    return yard


@pytest.fixture
def folder(yard: Yard) -> TrialFolder:
    return yard.plan().trials[0].folder


def judge(yard: Yard, *folders: TrialFolder, overwrite: bool = False) -> list[Judged]:
    datasets, seen = Datasets(yard.dataset(), yard.root), list[Judged]()

    async def go() -> None:
        await judge_trials(
            folders, [TestsJudge()], yard.place, datasets, overwrite=overwrite, repo=None, observe=seen.append
        )

    anyio.run(go)
    return seen


def evaluation(folder: TrialFolder) -> Evaluation:
    found = read_record(folder.evaluation_file, Evaluation)
    assert folder.metrics().evaluation == found
    return found


def word_of(folder: TrialFolder) -> TestsEvaluation:
    word = evaluation(folder).tests
    assert word is not None
    return word


def with_keys(**changes: Any) -> Change:  # noqa: ANN401
    return lambda yard: write(yard, changes)


def other_bytes(yard: Yard) -> None:
    hide(yard, PASSES.replace('name="made"/>', 'name="made"><failure/></testcase>'))


def other_rights(yard: Yard) -> None:
    (yard.file.parent / HIDDEN).chmod(0o755)


def another_file(yard: Yard) -> None:
    (yard.file.parent / "more").mkdir()
    (yard.file.parent / "more" / "data.txt").write_text("1\n")
    write(yard, {"hidden_files": {HIDDEN: HIDDEN, "data": "more"}})


def another_environment(yard: Yard) -> None:
    write(yard, {}, environment={"env": {"WORDS": "2"}})


ANEW = {
    "mended setup": (with_keys(setup=[["test", "-d", ".git"]]), True),
    "no setup any more": (with_keys(setup=None), True),
    "a test more to turn green": (with_keys(fail_to_pass=["greeting > made", "greeting > kept"]), True),
    "a test that is not there": (with_keys(fail_to_pass=["greeting > mended"]), False),
    "named tests to stay green": (with_keys(pass_to_pass=["greeting > kept"]), True),
    "exit codes alone": (with_keys(report=None, fail_to_pass=None), True),
    "another format": (with_keys(report="tap", fail_to_pass=["made"]), False),
    "another limit": (with_keys(timeout_seconds=7), True),
    "another command": (with_keys(commands=[["sh", "-e", HIDDEN]]), True),
    "other hidden bytes": (other_bytes, False),
    "other hidden rights": (other_rights, True),
    "another hidden file": (another_file, True),
    "another environment": (another_environment, True),
}


@pytest.mark.parametrize(("change", "resolved"), ANEW.values(), ids=ANEW)
def test_other_tests_score_what_stands_without_another_trial(
    yard: Yard, folder: TrialFolder, change: Change, resolved: bool
) -> None:
    judge(yard, folder)
    assert word_of(folder).resolved
    before, scored = folder.metrics(), evaluation(folder).judges["tests"].scored_sha256
    change(yard)
    assert outstanding([folder], TestsJudge(), Datasets(yard.dataset(), yard.root), overwrite=False, repo=None)
    [word] = judge(yard, folder)
    assert (word.skipped, word.failed, word_of(folder).resolved) == (False, False, resolved)
    assert evaluation(folder).judges["tests"].scored_sha256 != scored
    assert folder.metrics().model_copy(update={"evaluation": None}) == before.model_copy(update={"evaluation": None})
    plan = yard.plan()
    [standing] = standings(
        plan, "1.0", {(plan.dataset.repo_address(trial.task), "v1"): yard.commit for trial in plan.trials}
    )
    assert standing.finished, standing.differs
    [word] = judge(yard, folder)
    assert word.skipped


def another_place(yard: Yard) -> None:
    (yard.file.parent / HIDDEN).rename(yard.file.parent / "moved.sh")
    write(yard, {"hidden_files": {HIDDEN: "moved.sh"}})


KEPT: dict[str, Change] = {
    "nothing": lambda yard: None,
    "a ground truth": lambda yard: write(yard, {}, ground_truth={"approach": "The answer is 43."}),
    "tags": lambda yard: write(yard, {}, tags=["api"]),
    "another place of the same bytes": another_place,
    "a later moment": lambda yard: os.utime(yard.file.parent / HIDDEN),
    "what is the default anyway": with_keys(pass_to_pass="all", timeout_seconds=300),
}


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_a_score_by_the_same_tests_is_kept(yard: Yard, folder: TrialFolder, change: Change) -> None:
    judge(yard, folder)
    before = folder.evaluation_file.read_bytes()
    change(yard)
    assert not outstanding([folder], TestsJudge(), Datasets(yard.dataset(), yard.root), overwrite=False, repo=None)
    [word] = judge(yard, folder)
    assert word.skipped and isinstance(word.verdict, TestsEvaluation) and word.verdict.resolved
    assert folder.evaluation_file.read_bytes() == before


def test_a_setup_that_was_mended_scores_what_could_not_be_scored(yard: Yard, folder: TrialFolder) -> None:
    write(yard, {"setup": [["no-such-progrm"]]})
    [word] = judge(yard, folder)
    assert (word.failed, word_of(folder).status) == (True, "unscored")
    write(yard, {})
    [word] = judge(yard, folder)
    assert (word.failed, word_of(folder).resolved) == (False, True)


def test_a_score_by_other_tests_does_not_outlive_a_setup_that_fails(yard: Yard, folder: TrialFolder) -> None:
    judge(yard, folder)
    write(yard, {"setup": [["no-such-progrm"]]})
    [word] = judge(yard, folder)
    assert (word.failed, word_of(folder).status, word_of(folder).resolved) == (True, "unscored", None)


def test_a_setup_that_fails_for_a_while_takes_no_score_of_the_same_tests_away(yard: Yard, folder: TrialFolder) -> None:
    flag = yard.root / "the-disk-is-there"
    flag.touch()
    write(yard, {"setup": [["test", "-f", str(flag)]]})
    judge(yard, folder)
    before = folder.evaluation_file.read_bytes()
    flag.unlink()
    [word] = judge(yard, folder, overwrite=True)
    assert word.failed and word.verdict is not None
    assert word.verdict.reason.endswith("; its earlier score by the same means stays")
    assert folder.evaluation_file.read_bytes() == before


def another(folder: TrialFolder, path: Path, **changes: object) -> TrialFolder:
    """Return a copy of a trial as another one."""
    shutil.copytree(folder.path, path)
    copy = TrialFolder(path)
    metrics = folder.metrics().model_copy(update=changes)
    identity = metrics.trial.model_copy(update={"id": path.name, "repeat": 2 if path.name.endswith("--r2") else 1})
    write_record(copy.metrics_file, metrics.model_copy(update={"trial": identity}))
    return copy


def test_over_two_versions_of_the_tests_lines_say_it_and_ranks_are_refused_until_they_are_tested_in_one_way(
    yard: Yard, folder: TrialFolder
) -> None:
    again = another(folder, folder.path.with_name("task-1--r2"))
    there = yard.results / "other-model" / folder.path.parent.relative_to(yard.results / "some-model")
    elsewhere = another(folder, there / "task-1", model="other-model", model_slug="other-model")
    judge(yard, folder, elsewhere)
    other_bytes(yard)
    judge(yard, again)

    def said() -> tuple[object, object, object]:
        summary = summarize(read_trials(folder.path.parent))
        answer = query(yard.results, "FROM runs WHERE model = 'some-model'", print)
        runs = [dict(zip(answer.columns, answer.rows[0], strict=True))]
        line = dict(zip(columns(runs), rows(runs)[0], strict=True))
        return summary.mixed, dict(totals(summary)).get("over several"), line.get("over several")

    told = "2 versions of the tests of task-1"
    assert said() == ((told,), told, told)

    def ranks() -> None:
        found = read_rows(yard.results)
        some, other = ([row for row in found if row.model == model] for model in ("some-model", "other-model"))
        leaderboard(found)
        router_models(found)
        claim(some, other)

    for ranking in (leaderboard, router_models, lambda found: claim(found[:1], found[1:])):
        with pytest.raises(MixtureError) as refused:
            ranking(read_rows(yard.results))
        message = str(refused.value)
        assert "task task-1 was tested by several versions of its tests" in message
        assert "swetrials judge --recursive --judge tests --folder TREE" in message
        assert str(again.path) in message or again.path.name in message

    judge(yard, folder, again, elsewhere)
    assert said() == ((), None, None)
    ranks()
