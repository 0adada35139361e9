"""What a person sees: tables that fit, progress that stays on the screen."""

import io
import pathlib

import pytest
from rich.console import Console

from swetrials.cli.progress import ConsoleViewer
from swetrials.cli.rendering import show_summary
from swetrials.records.check import Check
from swetrials.records.cost import Cost
from swetrials.records.dataset import Task
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.summary import RunSummary, ScoreMean, SummaryTask
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.results import TrialFolder
from swetrials.trials.plan import Trial
from swetrials.trials.trial import Progress

USAGE = UsageReport(
    usage=Usage(fresh_input=18, cache_read=1_091_350, cache_write=121_443, output=12_373), completeness="complete"
)
FREE = Cost(amount_usd=0, basis="free", status="complete")


def summary(name: str) -> RunSummary:
    task = SummaryTask(
        task=name, repeat=1, folder=name, complexity="low", outcome=OutcomeKind.INCOMPLETE_ARTIFACTS, blame="model",
        valid=True, artifacts_produced=4, artifacts_expected=6, num_turns=16, usage=USAGE, cost=FREE,
        latency_seconds=61.2, tests_passed=False, tests_fraction=0.5, task_score=42.8, score_status="scored",
        repo_grounded=True,
    )  # fmt: skip
    mean = ScoreMean(mean_task_score=42.8, num_scored=1, num_trials=1)
    return RunSummary(
        generated_at="2026-01-01T00:00:00+00:00", dataset="d", scope="s", model="m", model_slug="m", agent="a",
        skill="k", provider="p", rehearsal=False, num_tasks=1, num_scored=1, num_failed=0, failed_tasks=(),
        mean_task_score_excl_failed=42.8, mean_cost_usd_excl_failed=0, valid_trials=mean, all_trials=mean,
        outcomes={"incomplete_artifacts": 1}, infrastructure_failures={}, tests_passed=0, tests_run=1, usage=USAGE,
        cost=FREE, latency_seconds=61.2, tasks=(task,),
    )  # fmt: skip


def shown(width: int, name: str) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=False)
    show_summary(console, summary(name))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_a_wide_terminal_gets_every_bucket() -> None:
    lines = shown(160, "temperature-table")
    assert any("cache read" in line and "latency" in line for line in lines)
    assert any("1,091,350" in line and "121,443" in line for line in lines)


@pytest.mark.parametrize("name", ["temperature-table", "x" * 100])
def test_80_columns_keep_each_figure_in_one_piece(name: str) -> None:
    lines = shown(80, name)
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if "42.8" in line and "failed" in line]
    assert "1,225,184" in row
    assert "free" in row


def trial(number: int) -> Trial:
    name = f"task-{number:03d}"
    task = Task(id=name, repo="r.git", ref="main", complexity="low", problem_statement="Do it.")
    return Trial(task, 1, "s", TrialFolder(pathlib.Path("results", name)))


def test_the_live_table_shows_what_runs_however_many_trials_there_are() -> None:
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True, color_system=None)
    with ConsoleViewer(console) as viewer:
        viewer.expect(200)
        for number in range(150):
            viewer.progress(Progress(trial(number), "done", 3, 1000, 0.0, Outcome.of(OutcomeKind.COMPLETED, "")))
        viewer.progress(Progress(trial(150), "working", 1, 500, 0.0))
        assert isinstance(console.file, io.StringIO)
        console.file.truncate(0)
    last = console.file.getvalue()
    assert "task-150" in last
    assert "task-149" in last
    assert "task-010" not in last
    assert "150 of 200 trials done" in last


def test_a_check_says_what_mends_it_below() -> None:
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    viewer = ConsoleViewer(console)
    viewer.check(Check("agent", "failed", "claude is not installed", "swetrials agents install claude"))
    assert isinstance(console.file, io.StringIO)
    first, second = console.file.getvalue().splitlines()
    assert first.split() == ["agent", "FAIL", "claude", "is", "not", "installed"]
    assert second.strip() == "-> swetrials agents install claude"
