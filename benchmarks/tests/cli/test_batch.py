"""``batch`` as a stranger meets it: what it offers, and what it says when nothing can be started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.harness import Workplace
from swetrials.hosting import process
from swetrials.hosting.process import Service
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


@pytest.fixture
def working(tmp_path: Path) -> Iterator[tuple[Workplace, Service]]:
    """A clone in which a batch is at work: a program under its name, that has said one line."""
    clone = tmp_path / "clone" / "benchmarks"
    (clone / "src" / "swetrials").mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    folder = clone / ".tools" / "run"
    words = ["sh", "-c", "echo the first model; exec sleep 120"]
    service = process.start(folder, "batch", words, environment=os.environ, cwd=tmp_path, port=None)
    yield Workplace(tmp_path, {"SWETRIALS_HOME": str(clone)}), service
    process.stop(folder, "batch", drain_seconds=5)


def test_who_stops_following_is_told_that_the_batch_goes_on(working: tuple[Workplace, Service]) -> None:
    place, service = working
    while not service.log.read_text():  # said before anybody follows: it is shown at once, not at the end
        time.sleep(0.05)
    words = [str(Path(sys.executable).with_name("swetrials")), "batch", "tail"]
    following = subprocess.Popen(
        words, env=place.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert following.stdout is not None
    assert following.stdout.readline() == "the first model\n"
    following.send_signal(signal.SIGINT)
    said, told = following.communicate(timeout=20)
    assert (following.returncode, said) == (0, ""), told
    assert told.strip() == "no longer following; the batch goes on: swetrials batch status"
    assert process.running(service)
