"""A results tree as the statistics see it."""

import json
import re
from pathlib import Path

import pytest

from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.records.evaluation import UNITS
from swetrials.records.outcome import OutcomeKind
from swetrials.records.verification import TestsEvaluation
from swetrials.results.results_tree import ResultsTreeError, read_rows

FAILED = OutcomeKind.INCOMPLETE_ARTIFACTS
PASSED = TestsEvaluation(status="scored", passed=True, fraction=1)


def test_a_row_has_the_trials_figures_and_its_folder(tmp_path: Path) -> None:
    record = metrics(repeat=2, latency_seconds=12.5, num_turns=7)
    folder = write_trial(tmp_path, record, evaluation(record, rubric(20), PASSED))
    [row] = read_rows(tmp_path)
    assert tmp_path / row.folder == folder
    assert (row.model, row.agent, row.skill, row.scope) == ("some-model", "claude-code", "swe3", "scope")
    assert (row.task, row.repeat, row.tier, row.outcome) == ("task-1", 2, "low", "completed")
    assert (row.score, row.unit_scores) == (80, dict.fromkeys(UNITS, 80))
    assert (row.latency_seconds, row.num_turns, row.cost_usd, row.tests_passed) == (12.5, 7, None, True)


def test_a_trial_that_failed_has_no_score_whatever_the_judge_says(tmp_path: Path) -> None:
    record = metrics(FAILED)
    write_trial(tmp_path, record, evaluation(record, rubric(20)))
    [row] = read_rows(tmp_path)
    assert (row.completed, row.valid, row.score, row.unit_scores) == (False, True, None, {})


def test_scores_of_an_earlier_trial_in_the_folder_are_none(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(), evaluation(metrics(repeat=2), rubric(20)))
    assert read_rows(tmp_path)[0].score is None


def test_what_was_thrown_away_is_left_out(tmp_path: Path) -> None:
    write_trial(tmp_path / ".trash" / "20260101", metrics(task="old"))
    write_trial(tmp_path, metrics(task="new"))
    assert [row.task for row in read_rows(tmp_path)] == ["new"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.json", '{"task": "torn'),
        ("metrics.json", "{}"),
        ("metrics.json", ""),
        ("eval.json", "[]"),
        ("eval.json", "\xff"),
    ],
)
def test_a_file_that_cannot_be_read_takes_its_own_trial_out_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    write_trial(tmp_path, metrics(task="good"))
    (write_trial(tmp_path, metrics(task="torn")) / name).write_text(content, encoding="latin-1")
    assert [row.task for row in read_rows(tmp_path)] == ["good"]
    assert capsys.readouterr().err.startswith(f"left out: {tmp_path}/some-model/claude-code/swe3/scope/torn/{name}: ")


def test_what_a_later_version_may_add_anywhere_is_passed_over(tmp_path: Path) -> None:
    record = metrics()
    folder = write_trial(tmp_path, record, evaluation(record, rubric(20), PASSED))
    [before] = read_rows(tmp_path)
    for name in ("metrics.json", "eval.json"):
        text = re.sub(r"\{(?=\s*\")", '{"invented_later": [1],', (folder / name).read_text())
        assert text.count("invented_later") > 5
        # Where names are data, as those of the units are, a new one is not passed over.
        (folder / name).write_text(text.replace('"scores": {"invented_later": [1],', '"scores": {'))
    assert read_rows(tmp_path) == [before]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("metrics.json", "num_turns", 10**20),
        ("metrics.json", "latency_seconds", 1e308),
        ("metrics.json", "cost.amount_usd", -5),
        ("metrics.json", "cost.amount_usd", 1e308),
        ("metrics.json", "usage.headline.usage.output", 10**20),
        ("metrics.json", "model_slug", "of two\nlines"),
        ("eval.json", "rubric.task_score", 700),
    ],
)
def test_a_figure_that_would_burst_every_mean_takes_its_trial_out(
    tmp_path: Path, name: str, field: str, value: object
) -> None:
    good, record = metrics(task="good"), metrics()
    write_trial(tmp_path, good)
    file = write_trial(tmp_path, record, evaluation(record, rubric(20))) / name
    document = json.loads(file.read_text())
    *way, last = field.split(".")
    place = document
    for part in way:
        place = place[part]
    place[last] = value
    file.write_text(json.dumps(document))
    told: list[str] = []
    assert [row.task for row in read_rows(tmp_path, told.append)] == ["good"]
    assert [line.startswith(f"left out: {file}: {field}: ") for line in told] == [True]


def test_a_folder_without_trials_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsTreeError, match=f"^{tmp_path}: no trial"):
        read_rows(tmp_path)


def test_what_is_set_apart_is_read_when_it_is_named_and_told_of_where_there_is_nothing_else(tmp_path: Path) -> None:
    write_trial(tmp_path / "example", metrics(task="shown"))
    (tmp_path / "example" / ".apart").touch()
    assert [row.task for row in read_rows(tmp_path / "example")] == ["shown"]
    with pytest.raises(ResultsTreeError, match=f"{tmp_path}/example is set apart"):
        read_rows(tmp_path)
    write_trial(tmp_path, metrics(task="mine"))
    assert [row.task for row in read_rows(tmp_path)] == ["mine"]
