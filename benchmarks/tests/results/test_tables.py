"""A results tree asked in SQL: what the views hold, what is left out, and that nothing gets out."""

from pathlib import Path
from statistics import fmean

import pytest

from results.trees import attempt, write_requests, write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.records.cost import Cost
from swetrials.records.evaluation import UNITS
from swetrials.records.metrics import HostingRecord
from swetrials.records.outcome import OutcomeKind
from swetrials.records.requests import RequestRecord
from swetrials.records.usage import Usage
from swetrials.results.candidates import candidate_of, told_apart
from swetrials.results.results_tree import ResultsTreeError, read_rows
from swetrials.results.table_columns import TABLES, views
from swetrials.results.tables import QueryError, query
from swetrials.results.trial_row import TrialRow

FAILED = OutcomeKind.INCOMPLETE_ARTIFACTS
THROTTLED = OutcomeKind.RATE_LIMITED


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two good trials, one that failed and one that says nothing; the first with all that a trial can have."""
    tree = tmp_path / "tree"
    attempts = (attempt(1, OutcomeKind.PROVIDER_ERROR), attempt(2, OutcomeKind.COMPLETED))
    first = metrics(task="a", attempts=attempts, cost=Cost(amount_usd=2, basis="metered", status="complete"))
    folder = write_trial(tree, first, evaluation(first, rubric(20)))
    requests = [
        RequestRecord(
            number=number,
            method="POST",
            path="/v1/messages",
            dialect="anthropic",
            started_seconds=number,
            ended_seconds=number + 1,
            status=200,
            usage=usage,
        )
        for number, usage in ((1, None), (2, Usage(output=7)))
    ]
    write_requests(folder, 2, requests)
    second = metrics(task="b", cost=Cost(amount_usd=1, basis="metered", status="complete"))
    write_trial(tree, second, evaluation(second, rubric(10)))
    third = metrics(FAILED, task="c")
    write_trial(tree, third, evaluation(third, rubric(1)))
    write_trial(tree, metrics(THROTTLED, task="d"))
    return tree


def ask(tree: Path, sql: str) -> list[tuple[object, ...]]:
    left_out: list[str] = []
    answer = query(tree, sql, left_out.append)
    assert left_out == []
    return answer.rows


def test_what_is_set_apart_is_in_no_table_of_the_tree_around_it(tree: Path) -> None:
    write_trial(tree / "example", metrics(task="shown"))
    (tree / "example" / ".apart").touch()
    assert ask(tree, "SELECT task FROM trials ORDER BY ALL") == [("a",), ("b",), ("c",), ("d",)]
    assert ask(tree / "example", "SELECT task FROM trials") == [("shown",)]


def test_trials_say_what_the_rows_of_the_statistics_say(tree: Path) -> None:
    shared = [name for name in TrialRow.__dataclass_fields__ if name in views()["trials"]]
    assert set(TrialRow.__dataclass_fields__) - set(shared) == {"unit_scores", "hosted"}
    rows = [tuple(getattr(row, name) for name in shared) for row in read_rows(tree)]
    assert ask(tree, f"SELECT {', '.join(shared)} FROM trials ORDER BY folder") == rows


def test_every_view_has_the_columns_that_are_announced(tree: Path) -> None:
    for name, columns in views().items():
        assert query(tree, f"FROM {name}", print).columns == columns


def test_a_run_has_its_means_with_both_denominators(tree: Path) -> None:
    assert ask(tree, "SELECT trials, valid, completed, completion, scored FROM runs") == [(4, 3, 2, 2 / 3, 2)]
    sql = "SELECT mean_score, mean_score_with_failures, mean_cost_usd FROM runs"
    assert ask(tree, sql) == [(fmean([80, 40]), fmean([80, 40, 0]), 1.5)]


def test_a_run_that_nobody_has_judged_has_no_score_from_its_failures(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(task="done"))
    write_trial(tmp_path, metrics(OutcomeKind.TURN_LIMIT, task="failed"))
    assert ask(tmp_path, "SELECT mean_score, mean_score_with_failures FROM runs") == [(None, None)]


def test_runs_are_told_apart_and_a_rehearsal_comes_last(tmp_path: Path) -> None:
    for model, rehearsal in (("rehearsed", True), ("real", False)):
        record = metrics(model_slug=model, rehearsal=rehearsal)
        write_trial(tmp_path, record, evaluation(record, rubric(25 if rehearsal else 5)))
    assert ask(tmp_path, "SELECT model, mean_score FROM runs") == [("real", 20), ("rehearsed", 100)]


def test_an_unknown_cost_is_none_and_is_counted(tmp_path: Path) -> None:
    write_trial(tmp_path, metrics(task="known", cost=Cost(amount_usd=3, basis="metered", status="complete")))
    write_trial(tmp_path, metrics(task="unknown"))
    assert ask(tmp_path, "SELECT mean_cost_usd, costs_known, completed, cost_basis FROM runs") == [
        (None, 1, 2, "metered")
    ]


def test_attempts_scores_and_requests_join_their_trial(tree: Path) -> None:
    attempts = ask(
        tree, "SELECT a.task, attempt, a.outcome, a.blame FROM attempts a JOIN trials USING (folder) ORDER BY 2"
    )
    assert attempts == [("a", 1, "provider_error", "provider"), ("a", 2, "completed", None)]
    scores = ask(
        tree, "SELECT task, completed, list(unit ORDER BY unit), avg(score) FROM scores GROUP BY ALL ORDER BY 1"
    )
    units = sorted(UNITS)
    assert scores == [("a", True, units, 80), ("b", True, units, 40), ("c", False, units, 4)]
    requests = ask(tree, "SELECT task, attempt, number, status, output_tokens FROM requests ORDER BY number")
    assert requests == [("a", 2, 1, 200, None), ("a", 2, 2, 200, 7)]


def test_what_cannot_be_read_is_named_and_left_out(tree: Path) -> None:
    folder = tree / "some-model" / "claude-code" / "swe3" / "scope"
    (folder / "b" / "metrics.json").write_text("{")
    with (folder / "a" / "attempts" / "2" / "requests.jsonl").open("a") as file:
        file.write('{"number": 3, "meth')
    left_out: list[str] = []
    answer = query(
        tree,
        "SELECT count(DISTINCT t.folder), count(*) FROM trials t LEFT JOIN requests USING (folder)",
        left_out.append,
    )
    assert answer.rows == [(3, 4)]
    assert sorted(line.split(": ")[1].removeprefix(f"{folder}/") for line in left_out) == [
        "a/attempts/2/requests.jsonl:3",
        "b/metrics.json",
    ]


def test_a_tree_without_trials_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsTreeError):
        query(tmp_path, "FROM runs", print)


def test_columns_of_one_name_are_told_apart(tree: Path) -> None:
    assert query(tree, "SELECT 1 AS x, 2 AS x", print).columns == ("x", "x_2")
    assert query(tree, "SELECT 1 AS x_2, 2 AS x, 3 AS x, 4 AS x_2", print).columns == ("x_2", "x", "x_3", "x_2_2")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC 1", "Parser Error: syntax error"),
        ("SELECT colour FROM scores", 'Binder Error: Referenced column "colour" not found'),
        ("FROM nowhere", "Catalog Error: Table with name nowhere does not exist"),
        ("SELECT unit::INTEGER FROM scores", "Conversion Error"),
        ("", "there is nothing to run"),
        (" -- nothing", "there is nothing to run"),
    ],
)
def test_a_fault_in_the_sql_is_a_line_and_what_there_is_to_ask_another(tree: Path, sql: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        query(tree, sql, print)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"--sql: {said}")
    assert len(rest) == ("nothing" not in said)
    if rest:
        assert all(name in rest[0] for name in views())
        assert ", ".join(views()["scores"]) in rest[0]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY trials TO '{out}'",
        "EXPORT DATABASE '{out}'",
        "ATTACH '{out}'",
        "FROM read_text('{file}')",
        "FROM '{file}'",
        "FROM glob('{out}*')",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "SET temp_directory = '{out}'",
        "SET profiling_output = '{out}'",
        "CALL enable_logging('QueryLog', storage = 'file', storage_path = '{out}')",
    ],
)
def test_sql_reaches_nothing_outside(tree: Path, tmp_path: Path, sql: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    file = next(tree.rglob("metrics.json"))
    with pytest.raises(QueryError):
        query(tree, sql.format(out=tmp_path / "out", file=file), print)
    assert sorted(tmp_path.rglob("*")) == before


def test_names_of_views_and_columns_are_unique() -> None:
    assert len({table.name for table in TABLES} | {"runs"}) == len(TABLES) + 1
    for columns in views().values():
        assert len(set(columns)) == len(columns)


def test_a_hosting_is_called_the_same_in_every_table(tree: Path) -> None:
    hosting = HostingRecord(
        instance_type="p5.48xlarge", tensor_parallel_size=8, precision="FP8", context_window=131_072, engine="vLLM 0.9"
    )
    write_trial(tree, metrics(task="e", hosting=hosting))
    [(hosted,)] = ask(tree, "SELECT hosted FROM runs WHERE hosted IS NOT NULL")
    assert hosted == "p5.48xlarge, TP 8, FP8, 131,072 tokens, vLLM 0.9"
    [one] = [row for row in read_rows(tree) if row.hosted is not None]
    words = told_apart(candidate_of(one))
    assert ", ".join(word for name, word in words.items() if word and name in HostingRecord.model_fields) == hosted
    assert set(words) >= set(HostingRecord.model_fields), "what nobody told has a place, too"
