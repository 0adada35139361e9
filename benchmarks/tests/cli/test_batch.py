"""``batch`` as a stranger meets it: what it offers, and what it says when nothing can be started."""

import subprocess
from pathlib import Path

import pytest

from e2e.harness import Workplace
from swetrials.store.project import find_project

SCRIPT = find_project().root / "scripts" / "run-multi-model-benchmark.sh"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_help_lists_the_models_with_the_fit_key() -> None:
    done = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True, check=True)
    assert "--judge-mode" in done.stdout and "status | tail | stop" in done.stdout
    assert "qwen3-coder-30b   200,000  4xL40S" in done.stdout
    assert "4xL40S  4 x L40S" in done.stdout


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ((), "name at least one model"),
        (("qwen3-coder-30",), "'qwen3-coder-30' is not in config/models.yaml; did you mean 'qwen3-coder-30b'?"),
    ],
)
def test_without_a_model_that_is_known_the_catalogue_is_shown(
    place: Workplace, models: tuple[str, ...], said: str
) -> None:
    done = place.run("batch", *models)
    assert done.returncode == 2
    assert said in done.stderr
    assert "qwen3-coder-30b   200,000  4xL40S" in done.stderr
    assert not place.results.exists()


def test_a_model_of_another_provider_needs_no_entry_but_checks_come_first(place: Workplace) -> None:
    done = place.run("batch", "m", "--provider", "rehearsal", "--dataset", "no-such-file.yaml")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "no-such-file.yaml" in done.stderr
