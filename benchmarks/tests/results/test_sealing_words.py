"""What trials ran in and whether they were sealed, as every command tells it: held against the records."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from results.simulated import failed, row
from results.test_summary import trial
from results.trees import write_trial
from runs.written import metrics
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.sealing import Canary, NetworkAllowed, Sealing
from swetrials.results.answer import grounds, not_earned
from swetrials.results.comparison import compare
from swetrials.results.leaderboard import leaderboard
from swetrials.results.report import comparison_table, results_table, summary_table
from swetrials.results.report.answer import answer
from swetrials.results.results_tree import read_rows
from swetrials.results.sealing_words import ran_in, sealing_words, unlike
from swetrials.results.summary import ScoredTrial, summarize
from swetrials.results.tables import query
from swetrials.results.trial_row import TrialRow

NO_SEAL = "no namespaces here"


def proven(network: NetworkAllowed = "model") -> Sealing:
    return Sealing.of(network, [Canary(name="route answers", held=True)])


OPEN = Sealing(state="open", network="model", why=NO_SEAL)
SEALED_FIELDS: dict[str, Any] = {"sealing": "proven", "network": "model", "environment": "bubblewrap"}
OPEN_FIELDS: dict[str, Any] = {
    "sealing": "open", "network": "model", "environment": "host", "sealing_why": NO_SEAL,
}  # fmt: skip


def ran(sealing: Sealing | None, kind: str = "bubblewrap") -> dict[str, Any]:
    return {"sealing": sealing, "environment": EnvironmentRecord(kind=kind)}


@pytest.mark.parametrize(
    ("rows", "words", "with_whys"),
    [
        ([row()], "not told", "not told"),
        ([row(**SEALED_FIELDS)], "bubblewrap, sealed", "bubblewrap, sealed"),
        ([row(**OPEN_FIELDS)], "host, not sealed", f"host, not sealed ({NO_SEAL})"),
        (
            [row(**{**SEALED_FIELDS, "network": "registries"})],
            "bubblewrap, sealed but for package registries",
            "bubblewrap, sealed but for package registries",
        ),
        ([row(**SEALED_FIELDS), failed(valid=False)], "bubblewrap, sealed", "bubblewrap, sealed"),
        (
            [row(**SEALED_FIELDS), row(task="b", **SEALED_FIELDS), row(task="c", **OPEN_FIELDS)],
            "2 trials bubblewrap, sealed; 1 trial host, not sealed",
            f"2 trials bubblewrap, sealed; 1 trial host, not sealed ({NO_SEAL})",
        ),
    ],
)
def test_in_words(rows: list[TrialRow], words: str, with_whys: str) -> None:
    assert (ran_in(rows), sealing_words(rows)) == (words, with_whys)


def test_those_who_ran_alike_need_no_word() -> None:
    assert unlike({"a": [row(**SEALED_FIELDS)], "b": [row(task="other", **SEALED_FIELDS)]}) == ""
    assert unlike({"a": [row()], "b": [row()]}) == ""
    apart = unlike({"a": [row(**SEALED_FIELDS)], "b": [row(**OPEN_FIELDS)], "c": [row(**SEALED_FIELDS)]})
    assert apart == "a, c: bubblewrap, sealed; b: host, not sealed"


@pytest.mark.parametrize(
    "change", [{"sealing": "declared"}, {"network": "registries"}, {"environment": "host"}, {"sealing": None}]
)
def test_a_board_of_candidates_that_did_not_run_alike_says_so(change: dict[str, str]) -> None:
    rows = [row(model="a", **SEALED_FIELDS), row(model="b", **{**SEALED_FIELDS, **change})]
    [said] = [line for line in leaderboard(rows).caveats if "run alike" in line]
    assert "a: bubblewrap, sealed; b: " in said
    assert "not_run_alike" in {missing.code for missing in not_earned(grounds(rows)[0])}


def test_a_board_of_open_trials_says_so_and_one_of_sealed_or_older_ones_is_silent() -> None:
    def told(rows: list[TrialRow]) -> list[str]:
        return [line for line in leaderboard(rows).caveats if "eal" in line or "alike" in line]

    [said] = told([row(model="a", **OPEN_FIELDS), row(model="b", **OPEN_FIELDS)])
    assert said.startswith("Not all of it was sealed: ") and NO_SEAL in said
    assert told([row(model="a", **SEALED_FIELDS), row(model="b", **SEALED_FIELDS)]) == []
    assert told([row(model="a"), row(model="b")]) == []


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([row(**SEALED_FIELDS), row(task="b", **SEALED_FIELDS)], None),
        ([row(**SEALED_FIELDS), failed(valid=False, task="b")], None),
        ([row(), row(task="b")], "not sealed: no record proves that an agent reached its model alone"),
        (
            [row(**SEALED_FIELDS), row(task="b", **OPEN_FIELDS)],
            f"not sealed: 1 of 2 trials ({NO_SEAL})",
        ),
        ([row(**SEALED_FIELDS), row(task="b")], "not sealed: 1 of 2 trials"),
    ],
)
def test_an_answer_is_sealed_where_every_record_proves_it(rows: list[TrialRow], text: str | None) -> None:
    [part] = answer(rows, Path("tree")).parts
    assert {missing.code: missing.text for missing in part.not_earned}.get("not_sealed") == text
    assert ("sealed trial" in part.sentences[0]) is (text is None)


def test_a_comparison_of_runs_that_did_not_run_alike_says_so() -> None:
    def run(agent: str, **changes: Any) -> list[ScoredTrial]:  # noqa: ANN401
        of = trial(20, task="x", **changes)
        return [replace(of, metrics=of.metrics.model_copy(update={"agent": agent}))]

    apart = compare(run("a", **ran(proven())), run("b", **ran(OPEN, "host")), ("A", "B"))
    assert {"environment", "sealing"} <= set(apart.differs) and "network" not in apart.differs
    assert (
        f"not run alike, so that they compare roughly: A bubblewrap, sealed; B host, not sealed ({NO_SEAL})"
        in comparison_table.heads(apart)
    )
    alike = compare(run("a", **ran(proven())), run("b", **ran(proven())), ("A", "B"))
    assert not {"environment", "sealing", "network"} & set(alike.differs)
    assert "ran in: bubblewrap, sealed" in comparison_table.heads(alike)


def test_a_summary_tells_it_of_the_run_and_of_each_trial() -> None:
    told = summarize([trial(20, task="x", **ran(proven())), trial(20, task="y", **ran(OPEN))])
    assert told.sealing == {"proven": 1, "open": 1}
    assert [task.sealing for task in told.tasks] == ["proven", "open"]
    assert dict(summary_table.totals(told))["ran in"] == (
        f"1 trial bubblewrap, sealed; 1 trial bubblewrap, not sealed ({NO_SEAL})"
    )
    older = summarize([trial(20, task="x")])
    assert (older.sealing, older.tasks[0].sealing) == ({"unknown": 1}, None)
    assert dict(summary_table.totals(older))["ran in"] == "not told"


def test_the_views_have_it(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(task="a", **ran(proven("registries"))))
    write_trial(tmp_path, metrics(task="b", **ran(OPEN, "host")))
    write_trial(tmp_path, metrics(task="c"))
    sql = "SELECT environment, sealing, network, sealing_why FROM trials ORDER BY task"
    assert query(tmp_path, sql, print).rows == [
        ("bubblewrap", "proven", "registries", ""),
        ("host", "open", "model", NO_SEAL),
        (None, None, None, ""),
    ]
    assert [one.sealing for one in read_rows(tmp_path)] == ["proven", "open", None]


def test_the_lines_of_results_tell_it_once_where_all_runs_share_it(tmp_path: Path) -> None:
    def lines() -> tuple[str, tuple[str, ...]]:
        found = query(tmp_path, "FROM runs", print)
        runs = [dict(zip(found.columns, line, strict=True)) for line in found.rows]
        return results_table.heading(runs), results_table.columns(runs)

    write_trial(tmp_path, metrics(task="a", model_slug="one", **ran(proven())))
    heading, columns = lines()
    assert "ran in bubblewrap, sealed" in heading and "ran in" not in columns
    write_trial(tmp_path, metrics(task="a", model_slug="two", **ran(OPEN, "host")))
    heading, columns = lines()
    assert "sealed" not in heading and "ran in" in columns
