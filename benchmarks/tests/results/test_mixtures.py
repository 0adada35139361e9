"""Who may add up: several judges, rubrics, commits and versions of the tests are said, and refused where they rank."""

from pathlib import Path
from typing import Any

import pytest

from results.simulated import row
from results.trees import write_trial
from runs.written import metrics, rubric
from swetrials.records.evaluation import Evaluation, JudgeBlock
from swetrials.results.claim import claim
from swetrials.results.leaderboard import leaderboard
from swetrials.results.mixtures import MixtureError, mixed
from swetrials.results.report.results_table import columns, rows
from swetrials.results.report.summary_table import totals
from swetrials.results.results_tree import ResultsTreeError, read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.results.tables import query
from swetrials.results.trial_row import TrialRow
from swetrials.router.models import router_models

A, B = "codex/a-judge", "codex/b-judge"
RUN = Path("some-model", "claude-code", "swe3", "scope")

MIXTURES = [
    pytest.param({"judge": A}, {"judge": B}, "2 judges", "--judge NAME", id="judges"),
    pytest.param({"judge": A}, {"judge": A, "judge_effort": "high"}, "2 judges", "swetrials judge", id="efforts"),
    pytest.param({"scored_sha256": "1"}, {"scored_sha256": "2"}, "2 rubrics of t", "swetrials judge", id="rubrics"),
    pytest.param({"scored_sha256": "1"}, {}, "2 rubrics of t", "swetrials judge", id="an old judgment beside a new"),
    pytest.param({"commit": "a" * 40}, {"commit": "b" * 40}, "2 commits of t", "ref in the dataset", id="commits"),
    pytest.param(
        {"tests_passed": True, "tests_sha256": "1"},
        {"tests_passed": True, "tests_sha256": "2"},
        "2 versions of the tests of t",
        "--judge tests",
        id="tests",
    ),
]


@pytest.mark.parametrize(("one", "other", "said", "remedy"), MIXTURES)
def test_what_ranks_refuses_and_names_trials_and_remedy(
    one: dict[str, Any], other: dict[str, Any], said: str, remedy: str
) -> None:
    first, second = row(model="x", **one), row(model="y", **other)
    assert mixed([first, second]) == [said]
    for ranking in (leaderboard, router_models):
        with pytest.raises(MixtureError, match=remedy) as refused:
            ranking([first, second])
        assert first.folder in str(refused.value) and second.folder in str(refused.value)
        assert "\n" not in str(refused.value)
    with pytest.raises(MixtureError, match=remedy):
        claim([first], [second])


def test_old_judgments_of_one_judge_add_up() -> None:
    told = [row(model=model, task=task, judge=A) for model in "xy" for task in "ab"]
    assert mixed(told) == []
    assert len(leaderboard(told).standings) == 2


def test_other_tasks_are_scored_by_other_hashes() -> None:
    assert mixed([row(task="a", judge=A, scored_sha256="1"), row(task="b", judge=A, scored_sha256="2")]) == []


def test_trials_that_were_given_the_same_are_one_task_whatever_tests_it() -> None:
    told: list[TrialRow] = [
        row(model="x", task_sha256="before", given_sha256="same"),
        row(model="y", task_sha256="after", given_sha256="same"),
    ]
    assert len(leaderboard(told).standings) == 2


def judged(tree: Path, task: str, **points: int) -> None:
    """Write a trial that judges gave points to, in the order given."""
    record = metrics(task=task)
    scores = Evaluation(task=task, trial_id=record.trial.id)
    for judge, given in points.items():
        block = JudgeBlock(name="codex", provider="p", model=f"{judge}-judge")
        scores = scores.with_word(f"codex/{judge}-judge", rubric(given).model_copy(update={"judge": block}), "hash")
    write_trial(tree, record, scores)


def test_several_judges_are_said_in_the_line_and_one_can_be_chosen(tmp_path: Path) -> None:
    judged(tmp_path, "one", a=20, b=10)
    judged(tmp_path, "two", b=5)
    summary = summarize(read_trials(tmp_path / RUN))
    assert summary.mixed == ("2 judges",)
    assert dict(totals(summary))["over several"] == "2 judges"
    answer = query(tmp_path, "FROM runs", print)
    runs = [dict(zip(answer.columns, answer.rows[0], strict=True))]
    assert dict(zip(columns(runs), rows(runs)[0], strict=True))["over several"] == "2 judges"
    with pytest.raises(MixtureError, match=r"codex/a-judge \(as in .*one\), codex/b-judge \(as in .*two\)"):
        leaderboard(read_rows(tmp_path))
    for name in (B, "codex/b"):
        [standing] = leaderboard(read_rows(tmp_path, judge=name)).standings
        assert standing.score.value == (40 + 20) / 2
        assert summarize(read_trials(tmp_path / RUN, name)).mean_task_score_excl_failed == (40 + 20) / 2
        assert query(tmp_path, "SELECT mean_score FROM runs", print, name).rows == [((40 + 20) / 2,)]
    assert [row.score for row in read_rows(tmp_path, judge=A)] == [80, None]


@pytest.mark.parametrize(("name", "said"), [("codex/", "several judges begin so"), ("nobody", "no judge of that name")])
def test_a_judge_that_cannot_be_meant_is_refused_with_those_there_are(tmp_path: Path, name: str, said: str) -> None:
    judged(tmp_path, "one", a=20, b=10)
    for reading in (lambda: read_rows(tmp_path, judge=name), lambda: read_trials(tmp_path / RUN, name)):
        with pytest.raises(ResultsTreeError, match=f"--judge {name}: {said}.*codex/a-judge, codex/b-judge"):
            reading()
