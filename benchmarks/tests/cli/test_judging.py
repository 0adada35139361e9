"""What ``swetrials judge`` says at its end, and by which exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from e2e.harness import Workplace
from trials.stand_in import WHOLE, Yard


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    yard = Yard(tmp_path)
    yard.run(WHOLE)
    return yard


def judged(yard: Yard, judges: str) -> tuple[int, str]:
    program = Path(sys.executable).with_name("swetrials")
    words = ["judge", "--recursive", "--judge", judges, "--folder", str(yard.results), "--dataset", str(yard.file)]
    done = subprocess.run(
        [str(program), *words, "--clone-root", str(yard.root / "judging")],
        env=Workplace(yard.root).environ(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[-1]


def test_the_last_line_counts_what_was_judged(yard: Yard) -> None:
    assert judged(yard, "tests") == (0, "1 trial")


def test_a_trial_on_which_two_judges_failed_is_one(yard: Yard) -> None:
    yard.write_dataset("Change the greeting, and mind the grammar.")
    assert judged(yard, "tests,codex") == (1, "1 trial, 1 failed")
