"""The page of a routing evaluation where figures are missing, alike or scripted."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from results.published_figures import published_rows, write_rows
from swetrials.records.router_evaluation import RouterEvaluation
from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from swetrials.router.evaluation.evaluate import EvaluationRequest, evaluate
from swetrials.router.evaluation.headline import sentences
from swetrials.router.evaluation.page import command, markdown, write_page
from swetrials.store.project import find_project

Row = dict[str, str]
Change = Callable[[Row], Row | None]

TASKS = ("configurable-ui-title", "lifecycle-workflow-webhooks", "index-demo-videos-in-one-page")
STRONG, CHEAP = "claude-opus-5", "qwen3.8-27b"


def evaluation(
    tmp_path: Path, change: Change, *floors: float, holdout: bool = False, baseline: str | None = STRONG
) -> RouterEvaluation:
    """Evaluate two models on three tasks; ``change`` returns another row, or ``None`` to leave it out."""
    of_both = [row for row in published_rows() if row["model"] in (STRONG, CHEAP) and row["task"] in TASKS]
    rows = [changed for row in of_both if (changed := change(row))]
    tmp_path.mkdir(exist_ok=True)
    runs = read_published_runs(write_rows(tmp_path / "runs.csv", rows), Defaults("omp", "swe3", "few", "somebody"))
    write_tree(runs, tmp_path / "tree")
    request = EvaluationRequest(
        tmp_path / "tree", floors=floors, holdout=holdout, baseline=baseline, no_allow_list=True
    )
    return evaluate(request, find_project().skills / "swe-router", pytest.fail)


def page_of(found: RouterEvaluation) -> str:
    text = markdown(found, None, "made-by-this")
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    assert not re.search(r"\b(?:None|nan|inf)\b", text)
    return text


def as_it_is(row: Row) -> Row:
    return row


def test_floors_beyond_reach_are_named_and_the_baseline_is_kept(tmp_path: Path) -> None:
    found = evaluation(tmp_path, as_it_is, 99)
    [run] = found.runs
    assert run.totals.tasks_kept_on_baseline == {"nothing_clears_floor": 3}
    assert {row.recommended_model for row in run.rows} == {None}
    assert {row.used_model for row in run.rows} == {STRONG}
    assert (run.totals.tasks_switched, run.totals.cost_saving_usd, run.regret.tasks_beyond_all) == (0, 0, 3)
    assert run.chance is None
    text = page_of(found)
    assert f"| high | 99 | {STRONG} | 77.8 | lifecycle-workflow-webhooks |" in text
    assert "The router names no model for 3 tasks, where the baseline is kept." in text
    assert "(kept: none clears the floor)" in text


def test_a_failure_of_the_pick_is_below_its_floor_in_the_costs_and_in_no_mean(tmp_path: Path) -> None:
    # All tasks at one tier: at a tier where it failed everything the cheap model would be none to pick.
    [run] = evaluation(tmp_path, lambda row: row | {"complexity": "low"}, 70).runs
    [failed] = [row for row in run.rows if row.actual_failed]
    assert (failed.task, failed.used_model, failed.actual_score) == ("lifecycle-workflow-webhooks", CHEAP, None)
    assert (failed.met_floor, failed.score_delta, failed.actual_cost_usd) == (False, None, 3.494742)
    assert (run.totals.tasks_failed_routed, run.totals.tasks_below_floor_routed) == (1, 1)
    assert (run.totals.tasks_scored_both_arms, run.totals.tasks_costed_both_arms) == (2, 3)
    assert run.totals.routed_mean_score_failures_as_zero == pytest.approx((run.totals.routed_mean_score or 0) * 2 / 3)


def test_what_the_pick_never_did_is_in_no_total(tmp_path: Path) -> None:
    def change(row: Row) -> Row | None:
        left_out = row["model"] == CHEAP and row["task"] == "index-demo-videos-in-one-page"
        return None if left_out else row | {"complexity": "low"}

    found = evaluation(tmp_path, change, 70)
    [run] = found.runs
    [unknown] = [row for row in run.rows if row.actual_failed is None]
    assert (unknown.used_model, unknown.actual_cost_usd, unknown.met_floor) == (CHEAP, None, None)
    assert run.totals.tasks_costed_both_arms == 2
    others = [row.baseline_cost_usd or 0 for row in run.rows if row is not unknown]
    assert run.totals.baseline_total_cost_usd == pytest.approx(sum(others))
    assert "On 1 of 3 tasks the model that the router picked was never run" in page_of(found)


def test_costs_that_nobody_knows_are_not_free(tmp_path: Path) -> None:
    def change(row: Row) -> Row:
        priced = row["model"] == CHEAP or row["task"] != "configurable-ui-title"
        return row if priced else row | {"cost_usd": "", "cost_basis": ""}

    found = evaluation(tmp_path, change, 70)
    [run] = found.runs
    [unpriced] = [row for row in run.rows if row.baseline_cost_usd is None]
    assert (unpriced.task, unpriced.used_model, unpriced.cost_saving_pct) == ("configurable-ui-title", CHEAP, None)
    assert (run.totals.tasks_scored_both_arms, run.totals.tasks_costed_both_arms) == (3, 2)
    assert "| $0.84 | 83.2 | - | yes |" in page_of(found)
    without = evaluation(tmp_path / "other", change, 70, baseline=None)
    assert without.config.baseline == CHEAP, "a model without a known mean cost is none that the router may take"


def test_held_out_and_swept_pages_have_their_own_columns(tmp_path: Path) -> None:
    text = page_of(evaluation(tmp_path, as_it_is, 60, 80, holdout=True))
    assert "## Floor 60" in text and "## Floor 80" in text
    assert "The last two columns are in sample, the others held out." in text
    assert "| model on everything | total cost | saved | mean score | change | failed |" in text
    assert "which flatters the router" not in text


def test_in_sample_says_that_it_flatters(tmp_path: Path) -> None:
    found = evaluation(tmp_path, as_it_is, 60)
    assert "which flatters the router" in page_of(found)
    assert "Held out and in sample" not in page_of(found)


def test_the_page_comes_with_its_chart_and_ends_with_its_command(tmp_path: Path) -> None:
    found = evaluation(tmp_path, as_it_is, 60)
    page = tmp_path / "pages" / "of routing.md"
    write_page(page, found, None)
    assert sorted(path.name for path in page.parent.iterdir()) == ["of routing.md", "of routing.png", "of routing.svg"]
    made_by = command(found.config, None, page)
    assert page.read_text().endswith(f"```\n{made_by}\n```\n")
    assert made_by.endswith(f"--floor 60 --no-allow-list --baseline {STRONG} --out-md " + f"'{page}'")
    assert "(of%20routing.svg)" in page.read_text()


def test_the_first_sentence_has_the_figures_of_the_record(tmp_path: Path) -> None:
    found = evaluation(tmp_path, as_it_is, 70)
    totals = found.runs[0].totals
    first = next(sentences(found, found.runs[0]))
    assert f"costs ${totals.routed_total_cost_usd:,.2f} instead of ${totals.baseline_total_cost_usd:,.2f}" in first
    assert f": {totals.cost_saving_pct:.1f} % saved (95 % interval " in first
