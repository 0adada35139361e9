"""One word, one formula: every figure that is shown anywhere equals what the JSON files alone add up to."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from results.naive import JUDGES, MODELS, figures, random_tree, trials
from swetrials.records.comparison import Mean
from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import ModelStanding, ResolveStanding
from swetrials.records.router_models import RouterModel
from swetrials.records.summary import RunSummary
from swetrials.results.comparison import compare
from swetrials.results.leaderboard import leaderboard
from swetrials.results.report.summary_table import totals
from swetrials.results.results_tree import read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.results.tables import query
from swetrials.router.models import RouterModelsError, router_models
from swetrials.store.project import find_project

SEEDS = range(24)


def close(expected: float | None) -> Any:  # noqa: ANN401
    return None if expected is None else pytest.approx(expected, abs=2e-6)


def scope_of(tree: Path, model: str) -> Path:
    return tree / model / "claude-code" / "swe3" / "scope"


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_figure_is_the_naive_sum_of_the_files(tmp_path: Path, seed: int, judge: str) -> None:
    random_tree(tmp_path, seed)
    told = {model: figures(trials(scope_of(tmp_path, model), judge)) for model in MODELS}
    read = {model: read_trials(scope_of(tmp_path, model)) for model in MODELS}
    if not all(any(t.evaluation and judge in t.evaluation.judgments for t in read[model]) for model in MODELS):
        return  # a judge that nobody asked there is refused, which another test holds
    for model in MODELS:
        check_summary(summarize(read_trials(scope_of(tmp_path, model), judge)), told[model])
    check_sql(tmp_path, told, judge)
    rows = read_rows(tmp_path, judge=judge)
    for standing in leaderboard(rows).standings:
        check_standing(standing, told[standing.model])
    runs = [read_trials(scope_of(tmp_path, model), judge) for model in MODELS]
    measures = {m.name: m for m in compare(runs[0], runs[1], MODELS).measures}
    check_comparison({name: m.first for name, m in measures.items()}, told[MODELS[0]])
    check_comparison({name: m.second for name, m in measures.items()}, told[MODELS[1]])
    try:
        built = router_models(rows)
    except RouterModelsError:
        assert not any(of["valid"] for of in told.values())
        return
    for of_model in built.models:
        check_router(of_model, told[of_model.model], built.rank_by)


def check_summary(summary: RunSummary, of: dict[str, Any]) -> None:
    assert summary.num_tasks == of["trials"]
    assert summary.mean_task_score_excl_failed == summary.score_estimate.value == close(of["score"])
    assert summary.valid_trials.mean_task_score == close(of["score_failures_as_zero"])
    assert summary.score_failures_as_zero_estimate.value == close(of["score_failures_as_zero"])
    assert summary.all_trials.mean_task_score == close(of["score_all"])
    assert (summary.valid_trials.num_trials, summary.all_trials.num_scored) == (of["valid"], of["scored"])
    assert sum(summary.infrastructure_failures.values()) == of["infrastructure"]
    assert (summary.tests_passed, summary.tests_run) == (of["tests_passed"], of["tests_run"])
    assert summary.tests_passed_share == close(of["tests_share"])
    check_resolve(summary.resolve, of)
    assert summary.mean_cost_usd_excl_failed == summary.cost_usd_estimate.value == close(of["cost"])
    assert summary.cost.amount_usd == close(of["total_cost"])


def check_standing(standing: ModelStanding, of: dict[str, Any]) -> None:
    counts = (standing.trials, standing.valid, standing.completed, standing.scored)
    assert counts == tuple(of[name] for name in ("trials", "valid", "completed", "scored"))
    assert sum(standing.failures.values()) == of["failed"]
    assert sum(standing.other_failures.values()) == of["infrastructure"]
    assert standing.score.value == close(of["score"])
    assert standing.score_failures_as_zero.value == close(of["score_failures_as_zero"])
    assert standing.score_all_trials.value == close(of["score_all"])
    assert standing.completion.value == close(of["completion"])
    assert standing.tests_passed.value == close(of["tests_share"])
    check_resolve(standing.resolve, of)
    assert standing.cost_usd.value == close(of["cost"])
    assert standing.cost_is_lower_bound == of["cost_is_lower_bound"]
    assert standing.latency_seconds.value == close(of["latency"])
    assert standing.means.num_turns.value == close(of["turns"])
    assert standing.tokens_are_lower_bound == of["tokens_are_lower_bound"]
    for bucket in ("fresh_input", "cache_read", "cache_write", "output"):
        assert getattr(standing.means, f"{bucket}_tokens").value == close(of[bucket])


def check_resolve(resolve: ResolveStanding | None, of: dict[str, Any]) -> None:
    if resolve is None:
        assert not of["resolved"]
        return
    counts = (resolve.trials, resolve.resolved, resolve.unchecked, resolve.void)
    assert counts == tuple(of[name] for name in ("counted", "resolved", "unchecked", "void"))
    assert resolve.rate.value == close(of["resolve_rate"])
    assert resolve.usd_per_resolved.ratio.value == close(of["usd_per_resolved"])
    assert resolve.minutes_per_resolved.ratio.value == close(of["minutes_per_resolved"])
    assert resolve.usd_per_resolved.more_than == (None if of["resolved"] else close(of["counted_cost"]))


def check_comparison(means: dict[str, Mean], of: dict[str, Any]) -> None:
    shown = {
        "score": "score",
        "score, failures as 0": "score_failures_as_zero",
        "completed": "completion",
        "tests passed": "tests_share",
        "cost": "cost",
        "turns": "turns",
        "fresh input": "fresh_input",
        "cache read": "cache_read",
        "cache write": "cache_write",
        "output": "output",
        "wall time": "latency",
    }
    if "resolve rate" in means:  # what is resolved is ranked
        bare = {"score", "score, failures as 0"} - means.keys()
        shown = {name: figure for name, figure in shown.items() if name not in {*bare, "tests passed", "cost"}}
        shown["resolve rate"] = "resolve_rate"
        per_resolved = means["cost per resolved task"]
        expected = of["usd_per_resolved"] if of["resolved"] else of["counted_cost"]
        assert per_resolved.value == close(expected)
        assert per_resolved.lower_bound or per_resolved.value is None or of["resolved"]
    assert {name: means[name].value for name in shown} == {name: close(of[figure]) for name, figure in shown.items()}


def check_router(model: RouterModel, of: dict[str, Any], rank_by: RankBy) -> None:
    assert (model.trials, model.completed) == (of["valid"], of["completed"])
    assert model.completion == close(of["completion"])
    if rank_by == "resolved":
        rate = of["resolve_rate"]
        assert model.resolve_rate == close(None if rate is None else 100 * rate)
        assert model.mean_score is model.mean_score_failures_as_zero is None
        return
    assert model.mean_score == close(of["score"])
    assert model.mean_score_failures_as_zero == close(of["score_failures_as_zero"])
    assert model.mean_cost_usd == close(of["cost"])
    assert model.cost_is_lower_bound == of["cost_is_lower_bound"]


def check_sql(tree: Path, told: dict[str, dict[str, Any]], judge: str) -> None:
    answer = query(tree, "FROM runs", print, judge)
    assert len(answer.rows) == len(told)
    for values in answer.rows:
        run = dict(zip(answer.columns, values, strict=True))
        of = told[str(run["model"])]
        columns = {
            **{
                name: name
                for name in ("trials", "valid", "completed", "failed", "infrastructure", "scored", "unscored")
            },
            **{name: name for name in ("completion", "tests_run", "tests_passed", "tokens_are_lower_bound")},
            **{name: name for name in ("counted", "resolved", "resolve_rate", "unchecked", "void")},
            **{name: name for name in ("usd_per_resolved", "minutes_per_resolved")},
            "mean_score": "score",
            "mean_score_with_failures": "score_failures_as_zero",
            "mean_score_all_trials": "score_all",
            "tests_passed_share": "tests_share",
            "mean_cost_usd": "cost",
            "cost_is_lower_bound": "cost_is_lower_bound",
            "total_cost_usd": "total_cost",
            "mean_latency_seconds": "latency",
            "mean_turns": "turns",
            "mean_fresh_input_tokens": "fresh_input",
            "mean_cache_read_tokens": "cache_read",
            "mean_cache_write_tokens": "cache_write",
            "mean_output_tokens": "output",
        }
        assert {c: run[c] for c in columns} == {c: close(of[figure]) for c, figure in columns.items()}


EXAMPLE = find_project().root / "swe-benchmark-data" / "example"
QUICKSTART = Path("rehearsal", "claude-code", "swe3", "quickstart")


def example(tree: Path, *, again: bool) -> Path:
    """Copy the committed example's quickstart run, with a second run of one of its tasks where that is asked for."""
    shutil.copytree(EXAMPLE / QUICKSTART, tree / QUICKSTART)
    if again:
        second = tree / QUICKSTART / "word-tally--r2"
        shutil.copytree(tree / QUICKSTART / "word-tally", second)
        record = json.loads((second / "metrics.json").read_text())
        record["trial"]["repeat"] = 2
        (second / "metrics.json").write_text(json.dumps(record))
    return tree


@pytest.mark.parametrize(("again", "tests"), [(False, "2 of 3"), (True, "3 of 4")])
def test_the_example_comes_to_the_same_in_every_table(tmp_path: Path, again: bool, tests: str) -> None:
    tree = example(tmp_path, again=again)
    summary = summarize(read_trials(tree / QUICKSTART))
    [standing] = leaderboard(read_rows(tree)).standings
    sql = "SELECT mean_score, mean_score_with_failures, mean_score_all_trials, tests_passed_share FROM runs"
    [in_sql] = query(tree, sql, print).rows
    run = read_trials(tree / QUICKSTART, rank_by="rubric")
    measures = {m.name: m.first.value for m in compare(run, run, ("a", "b")).measures}
    score, zeros, share = pytest.approx(59.6), pytest.approx((37.6 + 0 + 81.6) / 3), pytest.approx(2 / 3)
    shown = [
        (summary.mean_task_score_excl_failed, summary.valid_trials.mean_task_score, summary.tests_passed_share),
        (standing.score.value, standing.score_failures_as_zero.value, standing.tests_passed.value),
        (in_sql[0], in_sql[1], in_sql[3]),
        (measures["score"], measures["score, failures as 0"], measures["tests passed"]),
    ]
    assert shown == [(score, zeros, share)] * 4
    assert [summary.all_trials.mean_task_score, standing.score_all_trials.value, in_sql[2]] == [zeros] * 3
    lines = dict(totals(summary))
    assert lines["resolved"].startswith(f"{tests}, 67% (95 % interval ")
    assert lines["score, all trials"].startswith("39.7 over ")
