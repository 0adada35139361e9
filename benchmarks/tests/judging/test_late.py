"""Scoring trials that have run: what is kept, what is tried again, and what keeps nobody else from a score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import anyio
import orjson
import pytest

from results.published_figures import PUBLISHED_RUNS
from runs.written import rubric
from swetrials.cli.judge import judged_line
from swetrials.environments.host import Host
from swetrials.environments.work_context import WorkContext
from swetrials.judging import CodexJudge, Judge, JudgeSettings, PersonalRoute, Submission, prompt
from swetrials.judging.asking import scored_by_rule, unscored
from swetrials.judging.late import (
    Datasets,
    Judged,
    JudgingError,
    judge_trials,
    outstanding,
    record_word,
    submission_for,
)
from swetrials.judging.rubric import ANCHORS
from swetrials.judging.tests import TestsJudge
from swetrials.records.check import Check
from swetrials.records.evaluation import Evaluation, RubricEvaluation, judge_label
from swetrials.records.outcome import OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from swetrials.results.report.summary_table import row as summary_row
from swetrials.results.summary import read_trials, summarize
from swetrials.results.tables import query
from swetrials.store.files import read_record, sha256_of, write_record
from swetrials.store.redaction import Redactor
from swetrials.store.results import TrialFolder
from trials.stand_in import SAID, WHOLE, Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def judge(
    yard: Yard,
    *folders: TrialFolder,
    overwrite: bool = False,
    datasets: Datasets | None = None,
    by: Sequence[Judge] = (TestsJudge(),),
    concurrency: int = 1,
) -> list[Judged]:
    place = WorkContext(yard.repositories, yard.work, Host(), Redactor())
    datasets = datasets or Datasets(yard.dataset(), yard.root)
    seen: list[Judged] = []

    async def go() -> None:
        await judge_trials(
            folders, by, place, datasets,
            overwrite=overwrite, repo=None, observe=seen.append, concurrency=concurrency,
        )  # fmt: skip

    anyio.run(go)
    return seen


@dataclass(frozen=True)
class ReadsAloud:
    """A rubric judge that gives everything the same points, by a rubric and a model of its own."""

    model: str
    points: int
    wording: str = "as ever"

    name: ClassVar[str] = "codex"
    kind: ClassVar[Literal["rubric", "tests"]] = "rubric"

    @property
    def label(self) -> str:
        return judge_label(self.name, self.model)

    def scored_sha256(self, submission: Submission) -> str:
        return sha256_of(f"{self.model} {self.wording} {submission.task.ground_truth.approach}")

    def asks(self, submission: Submission) -> bool:
        return scored_by_rule(submission) is None

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> RubricEvaluation:
        log.write_text(f"{self.model}\n")
        return scored_by_rule(submission) or rubric(self.points)

    async def prove(self, place: WorkContext) -> Check:
        return Check("judge", "ok", "answers")


def trial(yard: Yard, script: str = WHOLE) -> TrialFolder:
    yard.run(script)
    return yard.plan().trials[0].folder


def by_tests(folder: TrialFolder) -> TestsEvaluation:
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert folder.metrics().evaluation == evaluation
    assert evaluation.tests is not None
    return evaluation.tests


def test_a_score_is_written_twice_and_kept(yard: Yard) -> None:
    folder = trial(yard)
    (first,) = judge(yard, folder)
    assert (first.skipped, first.failed) == (False, False)
    assert by_tests(folder).passed
    before = folder.evaluation_file.stat().st_mtime_ns
    (second,) = judge(yard, folder)
    assert (second.skipped, second.failed, second.verdict) == (True, False, first.verdict)
    assert folder.evaluation_file.stat().st_mtime_ns == before
    (third,) = judge(yard, folder, overwrite=True)
    assert not third.skipped
    assert folder.evaluation_file.stat().st_mtime_ns > before


def test_scores_of_another_trial_in_the_folder_are_stale(yard: Yard) -> None:
    folder = trial(yard)
    judge(yard, folder)
    earlier = read_record(folder.evaluation_file, Evaluation)
    write_record(folder.evaluation_file, earlier.model_copy(update={"trial_id": "another", "rubric": rubric(25)}))
    (word,) = judge(yard, folder)
    assert not word.skipped
    assert read_record(folder.evaluation_file, Evaluation).rubric is None
    assert by_tests(folder).passed


def test_what_is_unscored_is_tried_again(yard: Yard) -> None:
    flag = yard.root / "the-network-is-back"
    yard.setup = [["test", "-f", str(flag)]]
    yard.write_dataset()
    folder = trial(yard)
    (first,) = judge(yard, folder)
    assert (first.failed, by_tests(folder).status, by_tests(folder).passed) == (True, "unscored", None)
    flag.touch()
    (second,) = judge(yard, folder)
    assert (second.failed, second.skipped, by_tests(folder).passed) == (False, False, True)


def test_a_torn_record_keeps_nobody_else_from_a_score(yard: Yard, tmp_path: Path) -> None:
    folder = trial(yard)
    torn, foreign = TrialFolder(tmp_path / "results" / "torn"), TrialFolder(tmp_path / "results" / "foreign")
    for broken, text in ((torn, '{"task": "ta'), (foreign, '{"epoch": 3}')):
        broken.path.mkdir(parents=True)
        broken.metrics_file.write_text(text)
    words = judge(yard, torn, foreign, folder)
    assert [word.failed for word in words] == [True, True, False]
    for word in words[:2]:
        assert word.verdict is not None
        assert str(word.folder.metrics_file) in word.verdict.reason
        assert not word.folder.evaluation_file.exists()
    assert by_tests(folder).passed


def test_imported_figures_have_nothing_to_judge(yard: Yard, tmp_path: Path) -> None:
    [row, *_] = read_published_runs(PUBLISHED_RUNS, Defaults("omp", "swe3", "there"))
    assert write_tree([row], tmp_path / "published")
    folder = TrialFolder(tmp_path / "published" / row.folder)
    (word,) = judge(yard, folder)
    assert word.failed
    assert word.verdict is not None
    assert word.verdict.reason.endswith("figures imported from published-runs.csv, no artifacts to judge")
    assert read_record(folder.evaluation_file, Evaluation) == row.evaluation


def test_a_task_that_was_worded_anew_is_not_judged_by_the_old_work(yard: Yard) -> None:
    folder = trial(yard)
    judge(yard, folder)
    before = folder.evaluation_file.read_bytes()
    yard.write_dataset(statement="Do something else.")
    (word,) = judge(yard, folder, overwrite=True)
    assert word.failed
    assert word.verdict is not None
    assert "what task 'task-1' gives an agent has changed since the trial" in word.verdict.reason
    assert folder.evaluation_file.read_bytes() == before


def test_an_infrastructure_failure_is_unscored_and_no_failure_of_the_judge(yard: Yard) -> None:
    folder = trial(yard, 'cat "$RECORDED/err429.jsonl"')
    assert folder.metrics().outcome.kind is OutcomeKind.RATE_LIMITED
    (word,) = judge(yard, folder)
    assert (word.failed, by_tests(folder).status) == (False, "unscored")


def test_one_judges_word_leaves_the_others_alone(yard: Yard) -> None:
    folder = trial(yard)
    judge(yard, folder)
    record_word(folder, "codex/judge-a", rubric(20), "a")
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert evaluation.rubric is not None
    assert (evaluation.rubric.task_score, by_tests(folder).passed) == (80.0, True)
    record_word(folder, "codex/judge-a", rubric(10), "a")
    assert by_tests(folder).passed


def test_a_judge_sees_the_work_and_not_who_did_it(yard: Yard) -> None:
    folder = trial(yard)
    metrics = folder.metrics()
    seen = submission_for(folder, metrics, yard.dataset(), None)
    assert seen.artifacts["lld.md"] == "# lld\n"
    assert seen.patch is not None and b"+changed" in seen.patch
    assert (seen.commit, seen.repo) == (yard.commit, str(yard.root / "upstream"))
    assert submission_for(folder, metrics, yard.dataset(), "elsewhere").repo == "elsewhere"
    (folder.path / "lld.md").unlink()
    (folder.path / "patch.diff").unlink()
    left = submission_for(folder, metrics, yard.dataset(), None)
    assert (left.artifacts["lld.md"], left.patch) == (None, None)
    assert "some-model" not in repr(left)


def test_a_dataset_is_found_by_its_name_past_broken_ones(yard: Yard) -> None:
    folder = trial(yard)
    metrics = folder.metrics()
    (yard.file.parent / "aaa.yaml").write_text("name: [")
    renamed = yard.file.rename(yard.file.with_name("some-file.yaml"))
    assert Datasets(None, yard.file.parent).of(metrics).path == renamed
    with pytest.raises(JudgingError, match=r"dataset 'yard' is not in .*; name its file with --dataset"):
        Datasets(None, yard.root / "skills").of(metrics)


def test_a_dataset_without_the_task_is_the_wrong_one(yard: Yard) -> None:
    metrics = trial(yard).metrics()
    yard.tasks = ("task-9",)
    yard.write_dataset()
    with pytest.raises(JudgingError, match=r"dataset\.yaml has no task 'task-1'; name the right file"):
        Datasets(yard.dataset(), yard.root).of(metrics)


def scores(folder: TrialFolder) -> dict[str, float | bool | None]:
    """Return every judge's score by its name in eval.json."""
    said = read_record(folder.evaluation_file, Evaluation).judgments
    return {
        name: judgment.rubric.task_score if judgment.rubric else judgment.tests.passed if judgment.tests else None
        for name, judgment in said.items()
    }


def test_a_mended_setup_scores_the_work_that_was_paid_for(yard: Yard) -> None:
    yard.setup = [["no-such-progrm"]]
    yard.write_dataset()
    folder = trial(yard)
    before = folder.metrics()
    (word,) = judge(yard, folder)
    assert (word.failed, by_tests(folder).status) == (True, "unscored")
    yard.setup = [["true"]]
    yard.write_dataset()
    (word,) = judge(yard, folder)
    assert (word.failed, word.skipped, by_tests(folder).passed) == (False, False, True)
    assert folder.metrics().model_copy(update={"evaluation": None}) == before


def test_a_score_is_kept_while_the_same_would_score_it_and_given_anew_when_not(yard: Yard) -> None:
    folder = trial(yard)
    hidden = yard.file.parent / "hidden.txt"
    hidden.write_text("one\n")
    with_hidden(yard, ["grep", "-q", "one", "hidden.txt"])
    (first,) = judge(yard, folder)
    assert (first.skipped, scores(folder)) == (False, {"tests": True})
    (kept,) = judge(yard, folder)
    assert kept.skipped
    hidden.write_text("two\n")
    (anew,) = judge(yard, folder)
    assert (anew.skipped, scores(folder)) == (False, {"tests": False})
    with_hidden(yard, ["grep", "-q", "two", "hidden.txt"])
    (again,) = judge(yard, folder)
    assert (again.skipped, scores(folder)) == (False, {"tests": True})


def with_hidden(yard: Yard, command: list[str]) -> None:
    data = orjson.loads(yard.file.read_bytes())
    data["tasks"][0]["verify"] = {"commands": [command], "hidden_files": {"hidden.txt": "hidden.txt"}}
    yard.file.write_bytes(orjson.dumps(data))


def test_a_score_of_which_nobody_knows_what_scored_it_is_given_anew(yard: Yard) -> None:
    folder = trial(yard)
    metrics = folder.metrics()
    old = TestsEvaluation(status="scored", passed=False, fraction=0.0)
    write_record(folder.evaluation_file, Evaluation(task=metrics.task, trial_id=metrics.trial.id, tests=old))
    (word,) = judge(yard, folder)
    assert (word.skipped, scores(folder)) == (False, {"tests": True})


def test_two_rubric_judges_score_one_trial_side_by_side(yard: Yard) -> None:
    folder = trial(yard)
    first, second = ReadsAloud("judge-a", 20), ReadsAloud("judge-b", 5)
    judge(yard, folder, by=[first])
    (word,) = judge(yard, folder, by=[second])
    assert isinstance(word.verdict, RubricEvaluation)
    assert (word.skipped, word.verdict.task_score) == (False, 20.0)
    assert scores(folder) == {"codex/judge-a": 80.0, "codex/judge-b": 20.0}
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert (evaluation.headline, evaluation.rubric) == ("codex/judge-a", evaluation.judges["codex/judge-a"].rubric)
    assert [word.skipped for word in judge(yard, folder, by=[first, second])] == [True, True]
    assert (folder.path / "judge-codex.jsonl").read_text() == "judge-a\n"
    assert (folder.path / "judge-codex-judge-b.jsonl").read_text() == "judge-b\n"
    judge(yard, folder, by=[ReadsAloud("judge-a", 10, "reworded")])
    assert scores(folder) == {"codex/judge-a": 40.0, "codex/judge-b": 20.0}


def test_a_judge_is_needed_only_where_it_has_something_to_be_asked(yard: Yard) -> None:
    def needed(folder: TrialFolder, judge: Judge, *, overwrite: bool = False) -> bool:
        datasets = Datasets(yard.dataset(), yard.root)
        return outstanding([folder], judge, datasets, overwrite=overwrite, repo=None)

    folder = trial(yard)
    reader, tests = ReadsAloud("judge-a", 20), TestsJudge()
    assert needed(folder, reader) and needed(folder, tests)
    judge(yard, folder, by=[reader, tests])
    assert not needed(folder, reader) and not needed(folder, tests)
    assert needed(folder, reader, overwrite=True)
    assert needed(folder, ReadsAloud("judge-b", 5))
    yard.write_dataset(statement="Do something else.")
    assert not needed(folder, reader, overwrite=True)


def test_what_the_rules_score_needs_nobody_to_be_asked(yard: Yard) -> None:
    folder = trial(yard, 'cat "$RECORDED/err429.jsonl"')
    datasets = Datasets(yard.dataset(), yard.root)
    assert not outstanding([folder], ReadsAloud("judge-a", 20), datasets, overwrite=True, repo=None)


def test_work_without_documents_is_for_the_tests_alone(yard: Yard) -> None:
    (yard.root / "skills" / "swe3" / "SKILL.md").write_text("---\nmetadata:\n  artifacts: patch.diff\n---\nDo it.\n")
    folder = trial(yard, "echo changed >> greeting.txt\n" + SAID)
    reader = ReadsAloud("judge-a", 20)
    assert not outstanding([folder], reader, Datasets(yard.dataset(), yard.root), overwrite=True, repo=None)
    by_reader, tested = judge(yard, folder, by=[reader, TestsJudge()])
    assert (by_reader.failed, tested.failed, by_tests(folder).passed) == (False, False, True)
    told = "unscored: not judged: the skill does not ask for the documents that the rubric scores"
    assert judged_line(by_reader) == f"  {folder.path.name}: codex: {told}"
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert evaluation.rubric is not None and evaluation.rubric.status == "unscored"


def test_what_scores_by_rubric_is_the_rubric_the_task_and_the_model_and_nothing_of_the_work(yard: Yard) -> None:
    folder = trial(yard)

    def of(**chosen: object) -> str:
        route = PersonalRoute({})
        judge = CodexJudge(JudgeSettings(**{"tools": yard.root, "route": route, "model": "judge-a", **chosen}))  # type: ignore[arg-type]
        return judge.scored_sha256(submission_for(folder, folder.metrics(), yard.dataset(), None))

    same = of()
    (folder.path / "lld.md").write_text("another design\n")
    assert of() == of(timeout_seconds=5.0) == same
    assert len({same, of(model="judge-b"), of(model=None), of(reasoning_effort="high")}) == 4
    data = orjson.loads(yard.file.read_bytes())
    data["tasks"][0]["ground_truth"]["approach"] = "The answer is 43."
    yard.file.write_bytes(orjson.dumps(data))
    assert of() != same


@dataclass(frozen=True)
class Scripted(CodexJudge):
    """The codex judge up to the asking, with all that it scores by; what it says is given, ``None`` is a failure."""

    points: int | None = 20

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> RubricEvaluation:
        return unscored("the judge failed: rate_limited") if self.points is None else rubric(self.points)


def scripted(model: str, points: int | None = 20, effort: str | None = None) -> Scripted:
    return Scripted(JudgeSettings(Path(), PersonalRoute({}), model, effort), points)


def means(folder: TrialFolder) -> dict[str, str | None]:
    """Return what each judge's score in eval.json was made with."""
    return {
        name: said.scored_sha256 for name, said in read_record(folder.evaluation_file, Evaluation).judgments.items()
    }


def mended_rubric(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt, "ANCHORS", ANCHORS.replace("a token effort", "next to nothing"))


def mended_guidance(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    data = orjson.loads(yard.file.read_bytes())
    data["tasks"][0]["ground_truth"]["approach"] = "The answer is 43."
    yard.file.write_bytes(orjson.dumps(data))


def other_hidden_bytes(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    (yard.file.parent / "hidden.txt").write_text("one and more\n")


def nothing(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    return


A, B = "codex/judge-a", "codex/judge-b"


@pytest.mark.parametrize(
    ("change", "effort_of_b", "anew"),
    [
        (nothing, None, set()),
        (nothing, "high", {B}),
        (mended_rubric, None, {A, B}),
        (mended_rubric, "high", {A, B}),
        (mended_guidance, None, {A, B}),
        (other_hidden_bytes, None, {"tests"}),
        (other_hidden_bytes, "high", {"tests", B}),
    ],
)
def test_without_overwriting_each_judge_is_asked_again_where_it_would_score_by_other_means(
    yard: Yard,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Yard, pytest.MonkeyPatch], None],
    effort_of_b: str | None,
    anew: set[str],
) -> None:
    folder = trial(yard)
    (yard.file.parent / "hidden.txt").write_text("one\n")
    with_hidden(yard, ["grep", "-q", "one", "hidden.txt"])
    judge(yard, folder, by=[scripted("judge-a"), TestsJudge(), scripted("judge-b", 5)])
    assert scores(folder) == {A: 80.0, "tests": True, B: 20.0}
    before = means(folder)
    change(yard, monkeypatch)

    again: list[Judge] = [scripted("judge-a", 10), TestsJudge(), scripted("judge-b", 15, effort_of_b)]
    datasets = Datasets(yard.dataset(), yard.root)
    asked = {one.label for one in again if outstanding([folder], one, datasets, overwrite=False, repo=None)}
    words = judge(yard, folder, by=again)

    assert asked == anew == {one.label for one, word in zip(again, words, strict=True) if not word.skipped}
    assert scores(folder) == {A: 40.0 if A in anew else 80.0, "tests": True, B: 60.0 if B in anew else 20.0}
    assert {name for name, sha256 in means(folder).items() if sha256 != before[name]} == anew
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert evaluation.headline == A
    assert evaluation.rubric is not None and evaluation.rubric.task_score == scores(folder)[A]
    assert [word.skipped for word in judge(yard, folder, by=again)] == [True, True, True]


def test_one_judge_is_asked_and_the_other_ones_score_by_the_old_rubric_stays_under_its_name(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trial(yard)
    judge(yard, folder, by=[scripted("judge-a"), scripted("judge-b", 5)])
    before = means(folder)
    mended_rubric(yard, monkeypatch)
    (word,) = judge(yard, folder, by=[scripted("judge-b", 15)])
    assert (word.skipped, scores(folder)) == (False, {A: 80.0, B: 60.0})
    assert (means(folder)[A], means(folder)[B] == before[B]) == (before[A], False)


def test_a_judge_that_fails_takes_no_score_away_that_the_same_means_have_given(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = trial(yard)
    judge(yard, folder, by=[scripted("judge-a")])
    before = folder.evaluation_file.read_bytes()
    (word,) = judge(yard, folder, by=[scripted("judge-a", None)], overwrite=True)
    assert word.failed and word.verdict is not None
    assert word.verdict.reason == "the judge failed: rate_limited; its earlier score by the same means stays"
    assert folder.evaluation_file.read_bytes() == before
    mended_rubric(yard, monkeypatch)
    (word,) = judge(yard, folder, by=[scripted("judge-a", None)])
    assert (word.failed, scores(folder)) == (True, {A: None})


def test_single_tests_are_shown_wherever_a_trial_is(yard: Yard) -> None:
    """From the dataset's keys to ``eval.json``, the line of ``judge``, the summary's table and SQL."""
    dataset = orjson.loads(yard.file.read_bytes())
    cases = ('<testcase classname="greeting" name="%s"/>', '<testcase classname="greeting" name="kept">%s</testcase>')
    xml = f"<testsuite>{''.join(cases)}"
    script = f"""grep -q changed greeting.txt && printf '{xml}</testsuite>' made "$BROKEN" > "$SWETRIALS_REPORT" """
    verify = {"report": "junit", "fail_to_pass": ["greeting > made"], "commands": [["sh", "-c", script]]}
    dataset["tasks"][0]["verify"] = verify
    yard.file.write_bytes(orjson.dumps(dataset))
    folder = trial(yard)
    (good,) = judge(yard, folder)
    assert judged_line(good) == f"  {folder.path.name}: tests: resolved"
    assert by_tests(folder).resolved
    dataset["tasks"][0]["verify"]["commands"] = [["sh", "-c", script.replace('"$BROKEN"', '"<failure/>"')]]
    dataset["tasks"][0]["verify"]["fail_to_pass"].append("greeting > untold")
    yard.file.write_bytes(orjson.dumps(dataset))
    (bad,) = judge(yard, folder)
    said = "not resolved (1 of 2 fail-to-pass, 1 regression); found: missing-test"
    assert judged_line(bad) == f"  {folder.path.name}: tests: {said}"
    (scored,) = read_trials(folder.path.parent)
    (line,) = summarize([scored]).tasks
    assert (line.resolved, line.tests_passed, line.tests_report) == (False, False, "junit")
    assert line.findings[-1] == "tests: missing-test: missing: greeting > untold"
    assert summary_row(line, ("tests",)) == ("not resolved",)
    columns = "resolved, tests_report, fail_to_pass_passed, fail_to_pass_total, pass_to_pass_passed, pass_to_pass_total"
    found = query(yard.results, f"SELECT {columns} FROM trials", print)
    assert [tuple(one) for one in found.rows] == [(False, "junit", 1, 2, 0, 1)]
