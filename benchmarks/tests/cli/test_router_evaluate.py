"""``swetrials router evaluate`` and its script, over the published figures."""

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinds import first_is_quick
from results.published_figures import PUBLISHED_RUNS
from swetrials.cli.app import main
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.records.router_evaluation import RouterEvaluation
from swetrials.store.files import read_record
from swetrials.store.project import find_project

DOCS = find_project().root.parent / "docs"
SCRIPT = find_project().root / "scripts" / "eval_swe_router.py"
MADE_BY = (DOCS / "metrics" / "README.md").read_text(encoding="utf-8")
PAGES = ("swe-router-evaluation", "swe-router-evaluation-judged")


def run(where: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, words)], cwd=where, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a place laid out as the project is, with the published figures imported as the docs say."""
    root = tmp_path_factory.mktemp("project")
    (root / "docs" / "metrics").mkdir(parents=True)
    for name in ("published-runs.csv", "judged-inputs.csv", "swe-router-judged-inputs-omp.json"):
        shutil.copy(PUBLISHED_RUNS.with_name(name), root / "docs" / "metrics")
    (root / "benchmarks").mkdir()
    [command] = [line for line in MADE_BY.splitlines() if line.startswith("swetrials import ") and "--source" in line]
    program = Path(sys.executable).with_name("swetrials")
    done = subprocess.run(
        [program, *split(command)[1:]], cwd=root / "benchmarks", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return root / "benchmarks"


def split(command: str) -> list[str]:
    return [word for word in shlex.split(command) if word != "&&"]


def commands() -> Iterator[list[str]]:
    """Yield the last command of each committed page."""
    for page in PAGES:
        lines = (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines()
        [line] = [line for line in lines if line.startswith("scripts/eval_swe_router.py ")]
        assert lines[-2:] == [line, "```"], "the page ends with the command"
        yield split(line)


def close(found: object, wanted: object) -> bool:
    """Whether two JSON values are equal, but for the last digits of numbers."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[key], wanted[key]) for key in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(found, float) and isinstance(wanted, float):
        return found == pytest.approx(wanted, abs=2e-6)
    return found == wanted


def words_in(svg: str) -> list[str]:
    """Return what a chart says, whatever it looks like."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


@pytest.mark.slow
def test_the_committed_pages_are_what_their_own_commands_make(workplace: Path) -> None:
    for page, words in zip(PAGES, commands(), strict=True):
        done = run(workplace, SCRIPT, *words[1:])
        assert done.returncode == 0, done.stderr

        made = workplace.parent / "docs"
        assert (made / f"{page}.md").read_text() == (DOCS / f"{page}.md").read_text(), f"write {page}.md anew"
        json_file = Path("metrics") / f"{page}.json"
        found, wanted = (json.loads((docs / json_file).read_bytes()) for docs in (made, DOCS))
        assert close(found, wanted), f"write {page}.json anew"
        charts = [words_in((docs / f"{page}.svg").read_text()) for docs in (made, DOCS)]
        assert len(charts[0]) > 30
        assert charts[0] == charts[1], f"draw {page}.svg anew"
        assert (made / f"{page}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_commands_of_the_page_on_the_router_work_where_nothing_was_run_before(workplace: Path) -> None:
    page = (DOCS / "swe-router.md").read_text(encoding="utf-8").splitlines()
    asked = [split(line.removeprefix("uv run ")) for line in page if "scripts/eval_swe_router.py --data" in line]
    assert ["--floor-sweep" in command for command in asked] == [False, True]
    imports = [line for line in page if line.startswith("uv run swetrials import ") and "--source" not in line]
    assert len(imports) == 1, "the import stands before them"
    assert {command[command.index("--data") + 1] for command in asked} == {split(imports[0])[-1]}
    for _, *words in asked:
        done = run(workplace, SCRIPT, *words)
        assert done.returncode == 0, done.stderr
        assert "saved" in done.stdout or "saves" in done.stdout


def test_the_judged_inputs_are_the_same_as_csv_and_as_record() -> None:
    with (DOCS / "metrics" / "judged-inputs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    record = read_record(DOCS / "metrics" / "swe-router-judged-inputs-omp.json", JudgedInputs)
    assert [
        (one.task, one.floor, one.tier, one.base_floor, one.adjustment, one.floors_seen, one.tiers_seen)
        for one in record.tasks
    ] == [
        (
            row["task"],
            float(row["floor"]),
            row["tier"],
            int(row["base_floor"]),
            int(row["adjustment"]),
            tuple(int(floor) for floor in row["floors_seen"].split(";")),
            {tier: int(times) for tier, times in (seen.split(":") for seen in row["tiers_seen"].split(";"))},
        )
        for row in rows
    ]
    assert len(rows) == 21


def test_the_committed_records_are_of_the_schema() -> None:
    for page in PAGES:
        evaluation = read_record(DOCS / "metrics" / f"{page}.json", RouterEvaluation)
        assert all(run.holdout and run.totals.tasks == 21 for run in evaluation.runs)


def test_the_answer_is_printed_where_no_file_is_asked_for(workplace: Path) -> None:
    before = sorted(workplace.rglob("*"))
    done = run(workplace, SCRIPT, "--data", "published-results", "--floor", "70", "--no-allow-list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "With a floor of 70 for every task (in sample), following the router over 21 tasks costs $" in done.stdout
    assert "claude-opus-5 on everything: the baseline" in done.stdout
    assert sorted(workplace.rglob("*")) == before


@first_is_quick(("flags", "floors"), [(["--floor-sweep", "55,70"], [55, 70]), (["--floor", "60"], [60]), ([], [None])])
def test_floors_may_be_asked_for_beside_judged_inputs(
    workplace: Path, tmp_path: Path, flags: list[str], floors: list[int | None]
) -> None:
    words = ["--data", "published-results", "--holdout", "--judged-inputs", "../docs/metrics/judged-inputs.csv"]
    file = tmp_path / "evaluation.json"
    done = run(workplace, SCRIPT, *words, *flags, "--no-allow-list", "--out-json", file)
    assert done.returncode == 0, done.stderr
    evaluation = read_record(file, RouterEvaluation)
    assert [made.floor for made in evaluation.runs] == floors
    tiers = {row.task: row.complexity for row in evaluation.runs[0].rows}
    judged = csv.DictReader((workplace.parent / "docs" / "metrics" / "judged-inputs.csv").open(encoding="utf-8"))
    assert tiers == {line["task"]: line["tier"] for line in judged}


@pytest.mark.slow
def test_a_trial_that_cannot_be_read_is_named_and_the_rest_evaluated(workplace: Path, tmp_path: Path) -> None:
    tree = shutil.copytree(workplace / "published-results", tmp_path / "torn-results")
    next(tree.rglob("metrics.json")).write_text("{")
    done = run(workplace, SCRIPT, "--data", tree, "--floor", "70", "--no-allow-list")
    assert done.returncode == 1
    assert done.stderr.startswith("left out: ") and done.stderr.count("\n") == 1
    assert "following the router over 21 tasks" in done.stdout


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--floor 101", "--floor: 101.0 is not between 0 and 100"),
        ("--floor-sweep 55,x", "--floor-sweep: 'x' is not a number"),
        ("--floor-sweep 55,nan", "--floor-sweep: nan is not between 0 and 100"),
        ("--floor 70 --floor-sweep 55,65", "--floor and --floor-sweep exclude each other"),
        ("--no-allow-list --allowed-file some.txt", "--no-allow-list and --allowed-file exclude each other"),
        ("--judged-inputs nowhere.csv", "nowhere.csv: No such file or directory"),
        ("--judged-inputs wrong.csv", "wrong.csv:3: floor: '90' is not a number from 55 to 80"),
        ("--judged-inputs tier.csv", "tier.csv:2: tier: 'hihg' is not one of trivial, low, medium, high"),
        ("--judged-inputs other.csv", "no task of published-results is left to evaluate"),
        ("--judged-inputs torn.json", "torn.json: not JSON"),
        ("--allowed-file empty.txt", "empty.txt names no model"),
        ("--baseline gpt-1", "'gpt-1': no measured model is called that; there are claude-haiku-4-5, "),
        ("--available ,", "--available: names no model"),
        ("--out-json .", "--out-json .: is a folder; name a file"),
        ("--out-json empty.txt/x.json", "--out-json empty.txt/x.json: empty.txt is no folder"),
        ("--harness codex", "--harness codex: no such trials; there are omp"),
        ("--data nowhere", "nowhere: no such folder"),
        ("--dataset nowhere.yaml", "nowhere.yaml: "),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(
    workplace: Path,
    tmp_path: Path,
    flags: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    header = "task,floor,tier\n"
    (tmp_path / "wrong.csv").write_text(f"{header}configurable-ui-title,70,low\nlifecycle-workflow-webhooks,90,low\n")
    (tmp_path / "tier.csv").write_text(f"{header}configurable-ui-title,70,hihg\n")
    (tmp_path / "other.csv").write_text(f"{header}another-task,70,low\n")
    (tmp_path / "torn.json").write_text('{"schema_version": "1.')
    (tmp_path / "empty.txt").write_text("# nobody\n")
    (tmp_path / "published-results").symlink_to(workplace / "published-results")

    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit) as ended:
        main(["router", "evaluate", "--data", "published-results", *flags.split(), "--out-md", "page.md"])

    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert not (tmp_path / "page.md").exists()
