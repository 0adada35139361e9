"""``swetrials router build`` over real results trees."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from fixtures.route_file import SKILL
from results.published_figures import PUBLISHED_RUNS, published_rows, write_rows
from swetrials.records.router_models import RouterModel, RouterModels
from swetrials.store.files import read_record

SOURCE = "aarora79/agentic-coding-harness-benchmarks (MIT-0), August and September 2026"


def swetrials(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("swetrials")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Import the published figures as docs/swe-router.md says."""
    tree = tmp_path_factory.mktemp("published") / "tree"
    done = swetrials("import", PUBLISHED_RUNS, "--into", tree, "--source", SOURCE)
    assert done.returncode == 0, done.stderr
    return tree


def test_the_committed_models_are_what_the_command_makes_of_the_published_figures(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "models.json"
    done = swetrials("router", "build", tree, "--out", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert "18 models, 378 trials, 21 tasks of mcp-gateway-registry-v2 with omp and swe3" in done.stderr
    assert out.read_bytes() == (SKILL / "models.json").read_bytes()
    assert swetrials("router", "build", tree).stdout.encode() == out.read_bytes()


def test_the_documented_command_is_the_one_that_is_tested() -> None:
    page = (SKILL.parents[2] / "docs" / "swe-router.md").read_text(encoding="utf-8")
    assert f'--source "{SOURCE}"' in page


def test_the_committed_models_fit_the_record() -> None:
    assert len(read_record(SKILL / "models.json", RouterModels).models) == 18


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Write the first three published trials to a file of their own."""
    return write_rows(tmp_path / "runs.csv", published_rows()[:3])


@pytest.mark.parametrize("model", ["claude-opus-4-6", "kimi-k2.7-code", "qwen3.8-27b"])
def test_the_committed_means_are_those_of_the_csv(model: str) -> None:
    rows = [row for row in published_rows() if row["model"].removesuffix("-v1") == model]
    [known] = [one for one in read_record(SKILL / "models.json", RouterModels).models if one.model == model]
    assert set(known.tiers) == {"trivial", "low", "medium", "high"}
    for tier, means in [(None, known), *known.tiers.items()]:
        trials = [row for row in rows if tier in {None, row["complexity"]}]
        done = [row for row in trials if row["failed"] == "false"]
        assert (means.trials, means.completed) == (len(trials), len(done))
        assert means.completion == pytest.approx(len(done) / len(trials), abs=1e-6)
        assert means.mean_score == pytest.approx(fmean(float(row["task_score"]) for row in done), abs=1e-6)
        assert means.mean_score_failures_as_zero == pytest.approx(
            fmean(float(row["task_score"]) for row in trials), abs=1e-6
        )
        assert means.mean_cost_usd == pytest.approx(fmean(float(row["cost_usd"]) for row in done), abs=1e-6)


def test_the_committed_frontiers_hold_nobody_that_another_model_beats() -> None:
    models = read_record(SKILL / "models.json", RouterModels).models

    def beaten(one: RouterModel, among: Sequence[RouterModel]) -> bool:
        score, cost = one.mean_score or 0, one.mean_cost_usd or 0
        points = [(other.mean_score or 0, other.mean_cost_usd or 0) for other in among]
        return any(s >= score and c <= cost and (s, c) != (score, cost) for s, c in points)

    for one in models:
        same_hosting = [other for other in models if other.hosting == one.hosting]
        assert one.frontier.combined is not beaten(one, models)
        assert one.frontier.of_hosting is not beaten(one, same_hosting)


def test_a_rehearsal_is_labelled(few: Path, tmp_path: Path) -> None:
    assert swetrials("import", few, "--into", tmp_path / "tree").returncode == 0
    for metrics in (tmp_path / "tree").rglob("metrics.json"):
        metrics.write_text(metrics.read_text().replace('"rehearsal": false', '"rehearsal": true'))
    done = swetrials("router", "build", tmp_path / "tree", "--out", tmp_path / "models.json")
    assert done.returncode == 0
    assert "these are figures of a rehearsal" in done.stderr
    assert read_record(tmp_path / "models.json", RouterModels).rehearsal


@pytest.mark.slow
def test_a_mix_is_one_line_and_writes_nothing(few: Path, tmp_path: Path) -> None:
    for skill in ("swe2", "swe3"):
        done = swetrials("import", few, "--into", tmp_path / "tree" / skill, "--skill", skill)
        assert done.returncode == 0, done.stderr
    done = swetrials("router", "build", tmp_path / "tree", "--out", tmp_path / "models.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the tree mixes skills: swe2, swe3; choose one with --skill\n"
    assert not (tmp_path / "models.json").exists()


def test_a_folder_without_trials_is_one_line(tmp_path: Path) -> None:
    done = swetrials("router", "build", tmp_path)
    assert done.returncode == 2
    assert "no trial with a metrics.json to read" in done.stderr


def test_an_output_that_cannot_be_a_file_is_one_line(few: Path, tmp_path: Path) -> None:
    done = swetrials("router", "build", few, "--out", tmp_path)
    assert (done.returncode, done.stderr) == (2, f"--out {tmp_path}: is a folder; name a file\n")


@pytest.mark.slow
def test_what_cannot_be_read_is_named_and_the_exit_code_says_so(few: Path, tmp_path: Path) -> None:
    assert swetrials("import", few, "--into", tmp_path / "tree").returncode == 0
    spoilt, *others = sorted((tmp_path / "tree").rglob("metrics.json"))
    spoilt.write_text("{")
    done = swetrials("router", "build", tmp_path / "tree", "--out", tmp_path / "models.json")
    assert done.returncode == 1
    assert done.stderr.startswith(f"left out: {spoilt}: ")
    assert read_record(tmp_path / "models.json", RouterModels).provenance.trials == len(others)
