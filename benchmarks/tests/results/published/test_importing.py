"""A results tree of published figures: equal to the source, all or nothing, and the same whenever it is made."""

from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from results.published_figures import PUBLISHED_RUNS, published_rows
from swetrials.records.evaluation import UNITS
from swetrials.results.published.importing import ImportingError, write_tree
from swetrials.results.published.runs import Defaults, ImportedTrial, read_published_runs
from swetrials.results.results_tree import read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.store.results import trial_folders

TRIALS = read_published_runs(PUBLISHED_RUNS, Defaults("omp", "swe3", "there", "somebody"))
FEW = TRIALS[:3]


def contents(tree: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("import") / "tree"
    assert write_tree(TRIALS, place)
    return place


@pytest.mark.parametrize("model", ["claude-opus-5", "kimi-k2.7-code", "qwen3.8-27b"])
def test_means_tiers_and_completion_are_the_sources_own(tree: Path, model: str) -> None:
    theirs = [row for row in published_rows() if row["model"] == model]
    ours = [row for row in read_rows(tree) if row.model == model]
    good = [row for row in theirs if row["failed"] == "false"]
    completed = [row for row in ours if row.completed]
    assert (len(ours), len(completed)) == (len(theirs), len(good)) == (21, len(good))
    for column, ours_of in (
        ("task_score", "score"),
        ("cost_usd", "cost_usd"),
        ("latency_seconds", "latency_seconds"),
        ("num_turns", "num_turns"),
    ):
        assert fmean(getattr(row, ours_of) for row in completed) == pytest.approx(fmean(float(r[column]) for r in good))
    for unit in UNITS:
        assert fmean(row.unit_scores[unit] for row in completed) == pytest.approx(fmean(float(r[unit]) for r in good))
    by_tier = defaultdict[str, list[float]](list)
    for row in good:
        by_tier[row["complexity"]].append(float(row["task_score"]))
    assert by_tier.keys() == {"trivial", "low", "medium", "high"}
    for tier, scores in by_tier.items():
        in_tier = [row for row in ours if row.tier == tier]
        assert fmean(row.score for row in in_tier if row.score is not None) == pytest.approx(fmean(scores))
        assert sum(row.completed for row in in_tier) == len(scores)


def test_every_row_is_valid_and_says_where_it_is_from(tree: Path) -> None:
    rows = read_rows(tree)
    assert all(row.valid and row.source == "somebody" for row in rows)
    assert {row.hosting for row in rows} == {"metered", "hardware"}
    assert sum(not row.completed for row in rows) == 8
    assert all(row.score is None and not row.unit_scores for row in rows if not row.completed)


def test_an_imported_run_can_be_summarised_like_any_other(tree: Path) -> None:
    summary = summarize(read_trials(tree / "kimi-k2.7-code" / "omp" / "swe3" / "there"))
    scores = [float(row["task_score"]) for row in published_rows() if row["model"] == "kimi-k2.7-code"]
    assert (summary.num_tasks, summary.num_failed) == (21, 2)
    assert summary.valid_trials.mean_task_score == pytest.approx(fmean(scores))
    assert summary.mean_task_score_excl_failed == pytest.approx(sum(scores) / 19)


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "tree"
    assert write_tree(FEW, place)
    before = contents(tmp_path)
    assert not write_tree(FEW, place)
    assert contents(tmp_path) == before
    assert write_tree(FEW, tmp_path / "other")
    assert {p.relative_to(tmp_path / "other"): data for p, data in contents(tmp_path / "other").items()} == {
        p.relative_to(place): data for p, data in before.items()
    }


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    place = tmp_path / "tree"
    place.mkdir()
    assert write_tree(FEW, place)
    assert len(list(trial_folders(place))) == len(FEW)


def _touch(tree: Path) -> None:
    (tree / "notes.txt").write_text("mine")


def _import(trials: list[ImportedTrial], tree: Path) -> None:
    assert write_tree(trials, tree)


def _change(tree: Path) -> None:
    _import(FEW, tree)
    next(tree.rglob("eval.json")).write_text("{}")


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        (_touch, "is not empty"),
        (lambda tree: _import(TRIALS[:4], tree), r"holds other trials \(1\), such as "),
        (lambda tree: _import(TRIALS[:2], tree), "holds an import that lacks "),
        (_change, "holds another import, or one that was changed: "),
    ],
)
def test_a_folder_that_holds_something_else_is_refused_and_left_alone(tmp_path: Path, fill: object, said: str) -> None:
    place = tmp_path / "tree"
    place.mkdir()
    assert callable(fill)
    fill(place)
    before = contents(tmp_path)
    with pytest.raises(ImportingError, match=f"^{place} {said}.*name a new folder with --into$"):
        write_tree(FEW, place)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("place", ["tree", "tree/below/it"])
def test_a_file_in_the_way_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "tree").write_text("")
    with pytest.raises(ImportingError, match=f"^{tmp_path}/tree is a file"):
        write_tree(FEW, tmp_path / place)


def test_nothing_is_left_of_an_import_that_fails(tmp_path: Path) -> None:
    too_long = "x" * 300
    broken = ImportedTrial(too_long, FEW[1].metrics, FEW[1].evaluation)
    with pytest.raises(OSError, match="too long"):
        write_tree([FEW[0], broken, FEW[2]], tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []
