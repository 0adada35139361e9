"""What people read of a run: unknown is a dash, a lower bound says so, and a rehearsal is one at first sight."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.written import evaluation, metrics, rubric
from swetrials.records.cost import Cost
from swetrials.records.metrics import Finding
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.report import summary_table
from swetrials.results.report import wording as figures
from swetrials.results.report.markdown import summary_markdown
from swetrials.results.report.run_summary import summarize_scope
from swetrials.results.summary import ScoredTrial, summarize
from swetrials.store.files import read_record, write_record

USAGE = Usage(fresh_input=1200, cache_read=34567, cache_write=0, output=890)


def one(points: int | None = 20, reason: str = "", **changes: Any) -> RunSummary:  # noqa: ANN401
    record = metrics(**changes)
    return summarize([ScoredTrial(record.task, record, evaluation(record, rubric(points, reason)))])


def spent(completeness: str = "complete", usage: Usage = USAGE) -> dict[str, Any]:
    report = UsageReport.model_validate({"usage": usage, "completeness": completeness})
    return {"usage": UsageBlock(headline=report, source="reported")}


def cells(summary: RunSummary) -> dict[str, str]:
    return dict(zip(summary_table.COLUMNS, summary_table.row(summary.tasks[0]), strict=True))


def test_a_row() -> None:
    cost = Cost(amount_usd=0.01234, basis="metered", status="complete")
    row = cells(one(**spent(), cost=cost, num_turns=7, latency_seconds=61.25))
    assert row == {
        "task": "task-1", "outcome": "completed", "artifacts": "6/6", "turns": "7", "fresh": "1,200",
        "cache read": "34,567", "cache write": "0", "output": "890", "cost": "$0.0123", "latency": "61.2 s",
        "tests": "-", "score": "80.0",
    }  # fmt: skip


def test_unknown_is_a_dash_and_never_a_zero() -> None:
    row = cells(one(None, artifacts_produced=()))
    dashes = {"turns", "fresh", "cache read", "cache write", "output", "latency", "tests"}
    assert {name for name, cell in row.items() if cell == "-"} == dashes
    assert (row["cost"], row["score"], row["artifacts"]) == ("unknown", "unscored", "0/6")


def test_a_lower_bound_says_so_wherever_it_stands() -> None:
    cost = Cost(amount_usd=1.5, basis="metered", status="lower_bound")
    summary = one(**spent("lower_bound"), cost=cost)
    row = cells(summary)
    assert (row["fresh"], row["output"], row["cost"]) == (">= 1,200", ">= 890", ">= $1.5000")
    totals = dict(summary_table.totals(summary))
    assert totals["tokens"].startswith(">= 36,657 = >= 1,200 fresh + >= 34,567 cache read")
    assert totals["cost"] == "at least $1.5000"


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (Cost(), "unknown"),
        (Cost(amount_usd=0, basis="free", status="complete"), "free"),
        (Cost(amount_usd=0, basis="free", status="complete") + Cost(), ">= $0.0000"),
        (Cost(amount_usd=0, basis="metered", status="complete"), "$0.0000"),
        (Cost(amount_usd=1234.5, basis="metered", status="complete"), "$1,234.5000"),
        (Cost(reported_usd=5.0), "unknown"),
    ],
)
def test_dollars(cost: Cost, shown: str) -> None:
    assert figures.dollars(cost) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.0, "0.0 s"), (119.94, "119.9 s"), (119.96, "2 min 00 s"), (120.0, "2 min 00 s"),
     (3599.6, "60 min 00 s")],
)  # fmt: skip
def test_seconds(value: float | None, shown: str) -> None:
    assert figures.seconds(value) == shown


def test_a_judge_that_never_read_the_repository_is_marked() -> None:
    word = rubric(20)
    judged = word.model_validate({**word.model_dump(), "judge": {"name": "codex", "provider": "personal"}})
    record = metrics()
    summary = summarize([ScoredTrial("task-1", record, evaluation(record, judged))])
    assert cells(summary)["score"] == "80.0 (ungrounded)"


def test_a_rehearsal_is_one_at_first_sight() -> None:
    rehearsed = summary_markdown(one(provider="rehearsal", rehearsal=True)).splitlines()
    assert "REHEARSAL" in rehearsed[0]
    assert "nothing about any model" in rehearsed[2]
    assert "REHEARSAL" not in summary_markdown(one())


def test_a_run_that_nobody_judged_is_told_in_a_line_and_how_to_judge_it() -> None:
    totals = dict(summary_table.totals(summarize([ScoredTrial("task-1", metrics(), None)])))
    assert totals["score"] == "not judged yet: swetrials judge --recursive --folder RUN"
    assert totals["tests passed"] == "none were run"
    assert "score, all trials" not in totals


def test_infrastructure_failures_and_both_denominators_are_shown() -> None:
    text = summary_markdown(one(None, kind=OutcomeKind.RATE_LIMITED))
    assert "| infrastructure failures | 1 rate_limited |" in text
    assert "| score, failures as 0 | -, 0 trials of 0 valid |" in text
    assert "| score, all trials | - over 1 trial, unscored as 0 |" in text


def table_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


_odd = st.text(st.sampled_from("a|\\`\n\r*_<>#&\u2028"), min_size=1, max_size=12).filter(str.strip)


@settings(max_examples=40)
@given(reason=_odd, message=_odd, folder=_odd)
def test_nothing_that_a_record_holds_breaks_the_page(reason: str, message: str, folder: str) -> None:
    record = metrics(findings=(Finding(code="x", severity="warning", message=message),))
    trial = ScoredTrial(folder, record, evaluation(record, rubric(None, reason)))
    text = summary_markdown(summarize([trial]))
    rows = table_lines(text.partition("## Notes")[0])
    plain = table_lines(summary_markdown(one(None, "x")))
    assert len(rows) == len(plain)
    for line in rows:
        # What separates cells is a pipe with an even number of backslashes before it.
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in {3, len(summary_table.COLUMNS) + 1}
    notes = [line for line in text.partition("## Notes\n")[2].splitlines() if line.strip()]
    assert len(notes) == 2
    assert all(line.startswith("- `") and "<" not in line.rpartition("`: ")[2] for line in notes)


def test_both_files_say_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_record(tmp_path / name / "metrics.json", metrics(task=name, **spent()))
    summary = summarize_scope(tmp_path)
    assert read_record(tmp_path / "run-summary.json", RunSummary) == summary
    text = (tmp_path / "run-summary.md").read_text()
    assert text == summary_markdown(summary)
    assert "73,314 = 2,400 fresh + 69,134 cache read + 0 cache write + 1,780 output" in text
    assert summarize_scope(tmp_path).num_tasks == 2
