"""The wheel alone, in an environment of its own and from any folder, and what other people's packages add to it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from swetrials.store.project import find_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

BENCHMARKS = find_project().root
UV = find_project().uv
PLUGINS = BENCHMARKS / "tests" / "plugins"
KEPT = {name: os.environ[name] for name in ("LANG", "SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel and the four packages of somebody else."""
    root = tmp_path_factory.mktemp("wheel")
    environment = root / "environment"
    made(UV, "build", "--quiet", "--wheel", "--out-dir", root / "dist", BENCHMARKS)
    made(UV, "venv", "--quiet", environment)
    [wheel] = (root / "dist").glob("*.whl")
    words: list[str | Path] = ["pip", "install", "--quiet", "--python", environment / "bin" / "python"]
    made(UV, *words, wheel, *(PLUGINS / kind for kind in ("agent", "provider", "judge", "environment")))
    return environment / "bin" / "python"


@pytest.fixture(scope="module")
def trial(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results: somebody else's agent with the model that comes along."""
    folder = tmp_path_factory.mktemp("anywhere")
    ran = swetrials(python, folder, "run", "--agent", "scribe", "--tasks", "word-tally")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "controls     ok   1 task checked" in ran.stdout, "its solution and its check come along"
    return folder


def made(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=BENCHMARKS, timeout=600)
    assert done.returncode == 0, done.stderr


def swetrials(python: Path, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder, with a home of its own and nothing of the clone's."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "200", **KEPT}
    return subprocess.run(
        [python.with_name("swetrials"), *words],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_the_example_report_is_drawn_from_the_package_alone(python: Path, tmp_path: Path) -> None:
    done = swetrials(python, tmp_path, "report", "--example")
    assert done.returncode == 0, done.stderr
    [page] = tmp_path.rglob("*.html")
    assert "claude-opus" in page.read_text()


def test_without_an_agent_the_doctor_says_how_to_install_one(python: Path, tmp_path: Path) -> None:
    done = swetrials(python, tmp_path, "doctor")
    assert done.returncode != 0
    assert "swetrials agents install claude" in done.stdout + done.stderr


def test_a_dataset_is_checked_and_results_are_shown(python: Path, trial: Path) -> None:
    dataset = BENCHMARKS / "dataset" / "quickstart.yaml"
    assert swetrials(python, trial, "dataset", "validate", dataset).returncode == 0
    shown = swetrials(python, trial, "results")
    assert shown.returncode == 0, shown.stderr
    assert "scribe" in shown.stdout


def test_an_agent_of_somebody_else_runs_a_trial(trial: Path) -> None:
    [file] = trial.rglob("metrics.json")
    record = json.loads(file.read_bytes())
    assert (record["agent"], record["outcome"]["kind"], record["num_turns"]) == ("scribe", "completed", 1)
    assert record["usage"]["headline"]["completeness"] == "complete"


def test_a_provider_of_somebody_else_serves_a_model(python: Path, tmp_path: Path) -> None:
    words = ["run", "--agent", "own_agent:Scribe", "--provider", "parrot", "--tasks", "word-tally"]
    done = swetrials(python, tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = tmp_path.rglob("metrics.json")
    record = json.loads(file.read_bytes())
    assert (record["provider"], record["trial"]["rehearsal"]) == ("parrot", True)
    usage = record["usage"]["headline"]["usage"]
    assert (usage["fresh_input"], usage["output"]) == (7, 3)


def test_a_judge_of_somebody_else_scores_it(python: Path, trial: Path) -> None:
    words = ["judge", "--recursive", "--folder", "swe-benchmark-data", "--judge", "tests,brevity"]
    done = swetrials(python, trial, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = trial.rglob("eval.json")
    judges = json.loads(file.read_bytes())["judges"]
    assert {name: judge["tests"]["passed"] for name, judge in judges.items()} == {"tests": False, "brevity": True}


def test_an_environment_of_somebody_else_is_run_in_and_recorded(python: Path, tmp_path: Path) -> None:
    words = ["run", "--agent", "own_agent:Scribe", "--environment", "polite", "--tasks", "word-tally"]
    done = swetrials(python, tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = tmp_path.rglob("metrics.json")
    record = json.loads(file.read_bytes())
    assert (record["environment"]["kind"], record["provenance"]["sandbox"]) == ("polite", "polite")
    assert (record["sealing"]["state"], record["sealing"]["why"]) == (
        "open", "on the polite nothing keeps a program from the network",
    )  # fmt: skip


def test_members_are_listed_beside_our_own(python: Path, tmp_path: Path) -> None:
    listed = swetrials(python, tmp_path, "agents", "list")
    assert "scribe     1.0        installed" in listed.stdout
    wrong = swetrials(python, tmp_path, "run", "--dry-run", "--provider", "parrott")
    assert "rehearsal" in wrong.stderr and "parrot" in wrong.stderr
