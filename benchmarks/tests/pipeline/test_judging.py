"""Scoring trials that have run: what is kept, what is tried again, and what keeps nobody else from a score."""

from pathlib import Path

import anyio
import pytest

from analysis.published import PUBLISHED_RUNS
from pipeline.written import rubric
from swetrials.analysis.published_runs import Defaults, read_published_runs
from swetrials.judges import Bench
from swetrials.judges.tests import TestsJudge
from swetrials.pipeline.importing import write_tree
from swetrials.pipeline.judging import Datasets, Judged, JudgingError, judge_trials, record_word, submission_for
from swetrials.records.evaluation import Evaluation, TestsEvaluation
from swetrials.records.outcome import OutcomeKind
from swetrials.store.files import read_record, write_record
from swetrials.store.redaction import Redactor
from swetrials.store.results import TrialFolder
from trials.stand_in import WHOLE, Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def judge(yard: Yard, *folders: TrialFolder, overwrite: bool = False, datasets: Datasets | None = None) -> list[Judged]:
    bench = Bench(yard.repositories, yard.work, Redactor(), None)
    datasets = datasets or Datasets(yard.dataset(), yard.root)
    seen: list[Judged] = []

    async def go() -> list[Judged]:
        return await judge_trials(
            folders, [TestsJudge()], bench, datasets, overwrite=overwrite, repo=None, observe=seen.append
        )

    words = anyio.run(go)
    assert seen == words
    return words


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
    assert "task 'task-1' has changed since the trial" in word.verdict.reason
    assert folder.evaluation_file.read_bytes() == before


def test_an_infrastructure_failure_is_unscored_and_no_failure_of_the_judge(yard: Yard) -> None:
    folder = trial(yard, 'cat "$RECORDED/err429.jsonl"')
    assert folder.metrics().outcome.kind is OutcomeKind.RATE_LIMITED
    (word,) = judge(yard, folder)
    assert (word.failed, by_tests(folder).status) == (False, "unscored")


def test_one_judges_word_leaves_the_others_alone(yard: Yard) -> None:
    folder = trial(yard)
    judge(yard, folder)
    record_word(folder, rubric(20))
    evaluation = read_record(folder.evaluation_file, Evaluation)
    assert evaluation.rubric is not None
    assert (evaluation.rubric.task_score, by_tests(folder).passed) == (80.0, True)
    record_word(folder, rubric(10))
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
