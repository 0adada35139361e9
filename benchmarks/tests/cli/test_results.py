"""``swetrials import`` and ``swetrials results`` as a person meets them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kinds import first_is_quick
from results.published_figures import PUBLISHED_RUNS
from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.cli import results
from swetrials.results.table_columns import views


def swetrials(*words: str | Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("swetrials")
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    record = metrics()
    write_trial(tmp_path / "tree", record, evaluation(record, rubric(20)))
    return tmp_path / "tree"


def test_published_figures_are_imported_and_shown(tmp_path: Path) -> None:
    place = tmp_path / "published"
    done = swetrials("import", PUBLISHED_RUNS, "--into", place, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["trials"], len(said["models"]), said["failed"], said["written"]) == (378, 18, 8, True)
    again = swetrials("import", PUBLISHED_RUNS, "--into", place)
    assert again.returncode == 0
    assert "378 trials of 18 models were there already" in again.stdout
    shown = swetrials("results", place)
    assert shown.returncode == 0, shown.stderr
    first, _, *lines = shown.stdout.splitlines()
    assert first == "378 trials in 18 runs · agent omp · skill swe3 · scope mcp-gateway-registry-v2"
    [kimi] = [line.split() for line in lines if line.startswith("kimi-k2.7-code ")]
    assert kimi[1:9] == ["endpoint", "p5en.48xlarge", "21", "19", "of", "21", "69.1", "62.5"]


@pytest.mark.slow
def test_a_faulty_csv_and_a_used_folder_are_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("model,task\nm,t\n")
    done = swetrials("import", tmp_path / "runs.csv", "--into", tmp_path / "new")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{tmp_path}/runs.csv:1: columns: missing: provider, hosting_instance, ")
    assert not (tmp_path / "new").exists()
    done = swetrials("import", PUBLISHED_RUNS, "--into", tmp_path)
    assert (done.returncode, done.stderr) == (2, f"{tmp_path} is not empty; name a new folder with --into\n")
    done = swetrials("import", PUBLISHED_RUNS, "--into", tmp_path / "new", "--agent", "../up")
    assert done.returncode == 2
    assert done.stderr.startswith("--agent: '../up' is not a safe folder name")


def test_an_empty_query_is_none(tree: Path) -> None:
    done = swetrials("results", tree, "--sql", "")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "--sql: there is nothing to run\n")


@first_is_quick(
    "command", [("results",), ("router", "build"), ("cost",), ("judge", "--recursive", "--folder")], ids=lambda c: c[0]
)
def test_what_is_set_apart_is_told_of_where_nothing_else_is_there(tree: Path, command: tuple[str, ...]) -> None:
    (tree / "some-model" / ".apart").touch()
    before = sorted(tree.rglob("*"))
    done = swetrials(*command, tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{tree}: no trial ")
    assert done.stderr.endswith(f"; {tree}/some-model is set apart (.apart): name it, if it is meant\n")
    assert sorted(tree.rglob("*")) == before


def test_where_nothing_can_be_read_each_reason_is_told(tree: Path) -> None:
    [file] = tree.rglob("metrics.json")
    file.write_text("{")
    done = swetrials("results", tree)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(f"left out: {file}: ")
    assert second.startswith(f"{tree}: no trial with a metrics.json to read")


def test_the_help_lists_every_view_with_its_columns() -> None:
    words = swetrials("results", "--help").stdout.split("Views:")[1].replace(",", " ").split()
    assert words == [word for name, columns in views().items() for word in (name, *columns)]


def test_a_fault_in_the_sql_ends_with_2(tree: Path) -> None:
    done = swetrials("results", tree, "--sql", "SELECT colour FROM runs")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("--sql: Binder Error: ")


def test_the_answer_is_a_table_json_or_csv(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT task, score, completed, cost_usd, 'nan'::DOUBLE AS n, DATE '2026-01-01' AS d, [1] AS l FROM trials"
    assert results.show(tree, sql, "json") == 0
    plain = {
        "task": "task-1",
        "score": 80.0,
        "completed": True,
        "cost_usd": None,
        "n": None,
        "d": "2026-01-01",
        "l": [1],
    }
    assert json.loads(capsys.readouterr().out) == [plain]
    assert results.show(tree, sql, "csv") == 0
    [row] = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (row["score"], row["completed"], row["cost_usd"], row["l"]) == ("80.0", "true", "", "[1]")
    assert results.show(tree, sql, "table") == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header.split() == ["task", "score", "completed", "cost_usd", "n", "d", "l"]
    assert line.split() == ["task-1", "80", "True", "-", "nan", "2026-01-01", "[1]"]


def test_without_sql_json_has_the_runs(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert results.show(tree, None, "json") == 0
    [run] = json.loads(capsys.readouterr().out)
    assert (tuple(run), run["mean_score"]) == (views()["runs"], 80)


def test_what_is_left_out_is_named_and_the_code_says_so(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_trial(tree, metrics(task="torn"))
    (folder / "metrics.json").write_text("{")
    assert results.show(tree, None, "table") == 1
    said = capsys.readouterr()
    assert said.out.startswith("1 trial in 1 run ")
    assert said.err.startswith(f"left out: {folder}/metrics.json: ")


def test_an_unknown_figure_is_a_dash_and_a_partial_mean_says_of_how_many(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_trial(tree, metrics(task="unscored"))
    results.show(tree, None, "table")
    line = capsys.readouterr().out.splitlines()[2]
    assert line.split() == ["some-model", "2", "2", "of", "2", "80.0", "(1", "of", "2)", "80.0", "-", "none", "-", "-"]
