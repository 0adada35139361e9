"""What trials are ranked by: what they say, what is asked for, and what may not be added up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.simulated import failed, row
from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.records.dataset import RankBy
from swetrials.records.verification import TestsEvaluation
from swetrials.results.candidates import by_candidate
from swetrials.results.claim import claim
from swetrials.results.figures import Figures
from swetrials.results.leaderboard import leaderboard
from swetrials.results.mixtures import MixtureError
from swetrials.results.ranking import rank_by_of, settled
from swetrials.results.report.summary_table import totals
from swetrials.results.results_tree import read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.results.tables import query
from swetrials.results.trial_row import TrialRow


@pytest.mark.parametrize(
    ("rows", "by"),
    [
        ([row(50.0), row(None, task="u", resolved=True)], "rubric"),
        ([row(None), row(None, task="u", resolved=True)], "resolved"),
        ([row(None), failed(task="u")], "rubric"),
        ([row(50.0), row(None, task="u", rank_by="resolved")], "resolved"),
        ([row(None, resolved=True), row(None, task="u", rank_by="rubric")], "rubric"),
    ],
)
def test_the_word_of_the_trials_ranks_and_without_one_what_there_is(rows: list[TrialRow], by: RankBy) -> None:
    assert rank_by_of(rows) == by
    assert {one.rank_by or "rubric" for one in settled(rows)} == {by}


@pytest.mark.parametrize(
    ("trial", "counts"),
    [
        (row(resolved=True), True),
        (row(resolved=False), False),
        (row(), None),
        (row(has_patch=False), False),
        (failed(), False),
        (failed(resolved=True), True),
        (failed(void_reason="its gold run fails too"), None),
        (row(void_reason="its gold run fails too"), None),
        (failed(valid=False), None),
        (failed(valid=False, resolved=True), None),
    ],
)
def test_resolved_is_the_patchs_however_the_trial_ended(trial: TrialRow, counts: bool | None) -> None:
    assert trial.counts_resolved is counts


def test_failures_alone_are_no_rate_where_nobody_has_checked_what_completed() -> None:
    assert Figures([row(), failed(task="u")]).resolve.rate is None
    assert Figures([failed(), failed(task="u")]).resolve.rate == 0.0
    of = Figures([row(resolved=True), failed(task="u"), row(task="v")]).resolve
    assert (of.rate, of.resolved, len(of.counted), of.unchecked) == (0.5, 1, 2, 1)


def two_models(tasks: int = 8) -> list[TrialRow]:
    """Return a strong model that resolves all at 2 dollars, and a weak one that resolves none at 1."""
    told: dict[str, Any] = {"rank_by": "resolved", "latency_seconds": 60.0}
    return [
        row(score, model=model, task=f"t{task}", resolved=model == "strong", cost_usd=cost, **told)
        for task in range(tasks)
        for model, score, cost in (("strong", 10.0, 2.0), ("weak", 90.0, 1.0))
    ]


def test_a_leaderboard_is_of_the_rate_and_its_words_are_as_for_scores() -> None:
    board = leaderboard(two_models())
    assert board.rank_by == "resolved"
    strong, weak = board.standings
    assert [one.model for one in board.standings] == ["strong", "weak"]  # whatever the rubric says
    assert (strong.ranked.value, weak.ranked.value) == (100.0, 0.0)
    assert (strong.score.value, weak.score.value) == (10.0, 90.0)
    assert [one.frontier_combined.on_frontier for one in board.standings] == [True, True]
    [pair] = board.pairs
    assert (pair.difference.value, pair.verdict) == (100.0, "better")
    assert pair.difference_failures_as_zero.value is None
    assert leaderboard([row_as(one, "rubric") for one in two_models()]).standings[0].model == "weak"


def row_as(one: TrialRow, by: RankBy) -> TrialRow:
    return replace(one, rank_by=by)


def test_what_a_resolved_task_takes_is_all_that_was_spent_and_none_resolved_has_no_ratio() -> None:
    strong, weak = leaderboard([*two_models(), failed(model="strong", task="t9", cost_usd=4.0, rank_by="resolved",
                                                      latency_seconds=240.0)]).standings  # fmt: skip
    assert strong.resolve is not None and weak.resolve is not None
    assert strong.resolve.usd_per_resolved.ratio.value == pytest.approx((8 * 2.0 + 4.0) / 8)
    assert strong.resolve.minutes_per_resolved.ratio.value == pytest.approx((8 * 1.0 + 4.0) / 8)
    assert strong.ranked_cost_usd.value == pytest.approx((8 * 2.0 + 4.0) / 9)
    ratio = strong.resolve.usd_per_resolved.ratio
    assert ratio.low is not None and ratio.high is not None and ratio.value is not None
    assert ratio.low < ratio.value < ratio.high
    assert (weak.resolve.usd_per_resolved.ratio.value, weak.resolve.usd_per_resolved.more_than) == (None, 8.0)


def test_two_ways_of_ranking_are_told_in_a_line_and_refused_where_they_would_rank() -> None:
    rows = [row(50.0, rank_by="rubric"), row(50.0, task="u", rank_by="resolved", resolved=True)]
    with pytest.raises(MixtureError, match=r"ranked by several things: resolved .*rubric .*--rank-by resolved"):
        leaderboard(rows)
    with pytest.raises(MixtureError, match="--rank-by rubric"):
        claim(rows[:1], [row_as(row(40.0, model="n"), "resolved")])
    assert Figures(rows).mean_ranked is None
    assert [one.candidate.model for one in by_candidate(rows)] == ["m"]


def tree_of(tree: Path, *ranked: RankBy | None) -> Path:
    """Write a run of one task for each, scored 80 and resolved."""
    for number, by in enumerate(ranked):
        record = metrics(task=f"t{number}", rank_by=by) if by else metrics(task=f"t{number}")
        tests = TestsEvaluation(status="scored", passed=True, resolved=True, report="junit", doubtful=number == 0)
        write_trial(tree, record, evaluation(record, rubric(20), tests))
    return tree / "some-model" / "claude-code" / "swe3" / "scope"


@pytest.mark.parametrize("asked", [None, "resolved", "rubric"])
@pytest.mark.parametrize("told", [None, "resolved", "rubric"])
def test_what_is_asked_for_goes_before_what_the_records_say(
    tmp_path: Path, told: RankBy | None, asked: RankBy | None
) -> None:
    run = tree_of(tmp_path, told, told)
    by = asked or told or "rubric"
    assert leaderboard(read_rows(tmp_path, rank_by=asked)).rank_by == by
    summary = summarize(read_trials(run, rank_by=asked))
    assert summary.rank_by == by
    answer = query(tmp_path, "SELECT rank_by, mean_ranked, resolve_rate, mean_score FROM runs", print, rank_by=asked)
    assert answer.rows == [(by, 100.0 if by == "resolved" else 80.0, 1.0, 80.0)]
    lines = list(dict(totals(summary)))
    assert (lines.index("resolved") < lines.index("score, completed trials")) == (by == "resolved")


def test_records_that_differ_are_told_in_the_summary_and_in_the_lines_of_results(tmp_path: Path) -> None:
    run = tree_of(tmp_path, "rubric", "resolved")
    assert summarize(read_trials(run)).mixed == ("2 ways of ranking",)
    assert query(tmp_path, "SELECT mixed, rank_by FROM runs", print).rows == [("2 ways of ranking", None)]
    assert summarize(read_trials(run, rank_by="resolved")).mixed == ()


def test_a_summary_says_what_the_rate_stands_on(tmp_path: Path) -> None:
    lines = dict(totals(summarize(read_trials(tree_of(tmp_path, "resolved", "resolved")))))
    assert lines["resolved"].startswith("2 of 2, 100% (95 % interval ")
    assert lines["verdicts"] == "1 doubtful"
    assert "tests passed" not in lines
