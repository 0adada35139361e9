"""The committed results: whole, made with the datasets that are shipped, and free of the machine they were made on."""

import re
from pathlib import Path

import pytest

from swetrials.records.lock import RunLock
from swetrials.records.summary import RunSummary
from swetrials.results.report.markdown import summary_markdown
from swetrials.results.summary import read_trials, summarize
from swetrials.store.documents import load_dataset
from swetrials.store.files import read_record
from swetrials.store.project import find_project
from swetrials.store.results import LOCK, set_apart, trial_folders

ROOT = find_project().root
EXAMPLE = ROOT / "swe-benchmark-data" / "example"
RUNS = EXAMPLE / "rehearsal" / "claude-code" / "swe3"
DATASETS = ("hello-world", "quickstart")
MEGABYTE = 1_000_000


@pytest.mark.parametrize("name", DATASETS)
def test_every_task_was_run_as_the_dataset_asks_it_today(name: str) -> None:
    loaded = load_dataset(ROOT / "dataset" / f"{name}.yaml")
    (session,) = read_record(RUNS / name / LOCK, RunLock).sessions
    assert {task: pin.task_sha256 for task, pin in session.tasks.items()} == {
        task.id: loaded.task_sha256(task) for task in loaded.dataset.tasks
    }, "run 'make example' again"


@pytest.mark.parametrize("name", DATASETS)
def test_the_summary_is_what_the_trials_come_to_today(name: str) -> None:
    trials = read_trials(RUNS / name)
    assert {trial.metrics.trial.rehearsal for trial in trials} == {True}
    assert all(trial.evaluation for trial in trials)
    written, today = read_record(RUNS / name / "run-summary.json", RunSummary), summarize(trials)
    assert (written.tasks, written.outcomes, written.usage, written.cost, written.score_estimate) == (
        today.tasks,
        today.outcomes,
        today.usage,
        today.cost,
        today.score_estimate,
    ), "run 'make example' again"
    assert written.mean_task_score_excl_failed == pytest.approx(today.mean_task_score_excl_failed)
    assert (RUNS / name / "run-summary.md").read_text(encoding="utf-8") == summary_markdown(written)


def test_no_other_run_is_committed_with_it() -> None:
    assert {folder.path.parent for folder in trial_folders(EXAMPLE)} == {RUNS / name for name in DATASETS}


def test_nobody_who_names_all_results_means_it() -> None:
    assert set_apart(EXAMPLE.parent) == [EXAMPLE]
    assert EXAMPLE not in {parent for folder in trial_folders(EXAMPLE.parent) for parent in folder.path.parents}


def files() -> list[Path]:
    return [path for path in EXAMPLE.rglob("*") if path.is_file()]


def test_it_is_small() -> None:
    assert 0 < sum(path.stat().st_size for path in files()) < 1.5 * MEGABYTE


def test_every_path_in_it_is_one_of_any_machine() -> None:
    absolute = re.compile(rb"(?<![\w./:<])/(?:[\w.-]+/)+[\w.-]*")
    common = (
        b"/workspace/",
        b"/attempt/",
        b"/tmp/swetrials-example",
        b"/bin/",
        b"/usr/bin/",
        b"/dev/",
        b"/nowhere/",
        b"/v1/",
    )
    found = {
        f"{path.relative_to(EXAMPLE)}: {match.decode()}"
        for path in files()
        for match in absolute.findall(path.read_bytes())
        if not match.startswith(common)
    }
    assert found == set()
