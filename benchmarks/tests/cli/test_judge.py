"""What ``swetrials judge`` says at its end, and by which exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.harness import Workplace
from results.published_figures import PUBLISHED_RUNS
from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from trials.stand_in import WHOLE, Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    yard = Yard(tmp_path)
    yard.run(WHOLE)
    return yard


def printed(folder: Path, judges: str, root: Path, *more: str) -> tuple[int, list[str]]:
    program = Path(sys.executable).with_name("swetrials")
    words = ["judge", "--recursive", "--judge", judges, "--folder", str(folder), *more]
    done = subprocess.run(
        [str(program), *words, "--clone-root", str(root / "judging")],
        env=Workplace(root).environ(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def judged(yard: Yard, judges: str) -> tuple[int, str]:
    code, lines = printed(yard.results, judges, yard.root, "--dataset", str(yard.file))
    return code, lines[-1]


def test_the_last_line_counts_what_was_judged(yard: Yard) -> None:
    assert judged(yard, "tests") == (0, "1 trial")


def test_a_trial_on_which_two_judges_failed_is_one(yard: Yard) -> None:
    yard.write_dataset("Change the greeting, and mind the grammar.")
    assert judged(yard, "tests,codex") == (1, "1 trial, 1 failed")


@pytest.mark.slow
def test_why_no_trial_of_a_tree_can_be_judged_is_one_line(tmp_path: Path) -> None:
    rows = read_published_runs(PUBLISHED_RUNS, Defaults("omp", "swe3", "there"))
    assert write_tree(rows, tmp_path / "published")
    code, [why, total] = printed(tmp_path / "published", "tests,codex", tmp_path)
    assert (code, total) == (1, f"{len(rows)} trials, {len(rows)} failed")
    assert why.startswith(f"  {len(rows)} trials, such as ")
    assert why.endswith(": cannot be judged: figures imported from published-runs.csv, no artifacts to judge")


def test_why_a_single_trial_cannot_be_judged_names_it(yard: Yard) -> None:
    yard.write_dataset("Change the greeting, and mind the grammar.")
    _, lines = printed(yard.results, "tests,codex", yard.root, "--dataset", str(yard.file))
    assert [line[:30] for line in lines] == ["  task-1: cannot be judged: " + str(yard.file)[:2], "1 trial, 1 failed"]


def test_tests_run_in_the_environment_that_is_asked_for(yard: Yard) -> None:
    code, lines = printed(yard.results, "tests", yard.root, "--dataset", str(yard.file), "--environment", "host")
    assert code == 0, lines
    assert "commands run on the host, which keeps them from nothing" in lines[0]


def test_several_trials_are_judged_at_a_time(yard: Yard) -> None:
    more = ("--dataset", str(yard.file), "--concurrency")
    code, lines = printed(yard.results, "tests", yard.root, *more, "3")
    assert (code, lines[-2:]) == (0, ["  task-1: tests: passed", "1 trial"])
    program = Path(sys.executable).with_name("swetrials")
    words = [str(program), "judge", "--recursive", "--folder", str(yard.results), *more, "0"]
    done = subprocess.run(words, env=Workplace(yard.root).environ(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--concurrency: expected a whole number from 1 to 256, got '0'\n"
