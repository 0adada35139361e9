"""``report`` as a user types it."""

import html
import os
from pathlib import Path

import pytest

from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.cli.app import main


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["report", *arguments])
    return ended.value.code, *capsys.readouterr()


def test_the_page_and_the_charts_are_there_and_the_answer_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for slug, points in (("good", 20), ("bad", 10)):
        for task in ("one", "two", "three"):
            record = metrics(task=task, model_slug=slug)
            write_trial(tmp_path / "tree", record, evaluation(record, rubric(points)))
    out, charts = tmp_path / "new" / "page.html", tmp_path / "charts"
    code, output, errors = told([str(tmp_path / "tree"), "--out", str(out), "--charts", str(charts)], capsys)
    assert (code, errors) == (0, "")
    assert out.read_text().startswith("<!doctype html>")
    assert (charts / "scores.png").is_file()
    assert "  good scores highest: 80.0" in output
    assert f"{out}: " in output


def test_each_answer_of_several_scopes_says_of_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for scope in ("api", "web"):
        for task in ("one", "two"):
            record = metrics(task=task, scope=scope)
            write_trial(tmp_path, record, evaluation(record, rubric(20)))
    _, output, _ = told([str(tmp_path), "--out", str(tmp_path / "page.html")], capsys)
    assert [line for line in output.splitlines() if line.endswith(":")] == ["api:", "web:"]


@pytest.mark.parametrize(
    ("option", "place", "wrong"),
    [
        ("--out", "folder", "is a folder; name a file"),
        ("--out", "file/page.html", "file is no folder"),
        ("--charts", "file", "file is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, place: str, wrong: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    page = tmp_path / "page.html"
    record = metrics()
    write_trial(tmp_path / "tree", record, evaluation(record, rubric(20)))
    code, output, errors = told([str(tmp_path / "tree"), "--out", str(page), option, str(tmp_path / place)], capsys)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert errors.endswith(f"{wrong}\n")
    assert not page.exists()
    assert (tmp_path / "file").read_text() == "mine"


def test_a_device_is_not_replaced_by_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device = tmp_path / "pipe"
    os.mkfifo(device)
    code, _, errors = told([str(tmp_path), "--out", str(device)], capsys)
    assert (code, errors) == (2, f"--out {device}: is a device; name a file\n")
    assert device.is_fifo()


def test_a_folder_without_trials_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output, errors = told([str(tmp_path), "--out", str(tmp_path / "page.html")], capsys)
    assert (code, output) == (2, "")
    assert errors.count("\n") == 1
    assert str(tmp_path) in errors
    assert not (tmp_path / "page.html").exists()


def test_a_trial_that_cannot_be_read_is_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_trial(tmp_path, metrics(task="good"))
    (write_trial(tmp_path, metrics(task="torn")) / "metrics.json").write_text("{")
    code, _, errors = told([str(tmp_path), "--out", str(tmp_path / "page.html")], capsys)
    assert code == 1
    assert errors.startswith("left out: ")
    assert "torn" in errors
    assert html.escape(errors.strip()) in (tmp_path / "page.html").read_text()


def test_trials_none_of_which_can_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (write_trial(tmp_path, metrics(task="torn")) / "metrics.json").write_text("{")
    code, _, errors = told([str(tmp_path), "--out", str(tmp_path / "page.html")], capsys)
    assert code == 2
    assert errors.startswith("left out: ") and "torn" in errors
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_the_example_is_made_once_and_reported_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        code, output, errors = told(["--example"], capsys)
        assert (code, errors) == (0, "")
        assert output.startswith("example-report/report.html: ")
        assert output.splitlines()[-1].startswith("example-report/results: the published figures as a results tree")
    assert len(list(Path("example-report/results").rglob("metrics.json"))) == 378
    assert "aarora79/agentic-coding-harness-benchmarks" in Path("example-report/report.html").read_text()


@pytest.mark.slow
def test_a_page_elsewhere_strews_no_trials_about_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, _ = told(["--example", "--out", "shown/page.html"], capsys)
    assert code == 0
    assert [path.name for path in Path("shown").iterdir()] == ["page.html"]
    assert "../example-report/results/" in Path("shown/page.html").read_text()
    [first, *_] = Path("example-report/results").rglob("metrics.json")
    first.unlink()
    code, _, errors = told(["--example", "--out", "shown/page.html"], capsys)
    assert code == 2
    assert "something else is in its place; move it away" in errors
    assert "--into" not in errors


@pytest.mark.parametrize("arguments", [[], ["tree", "--example"]])
def test_it_wants_a_tree_or_the_example(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = told(arguments, capsys)
    assert code == 2
    assert "name a results tree, or give --example" in errors
