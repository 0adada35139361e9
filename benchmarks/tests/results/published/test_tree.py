"""Trees, summaries and judged inputs of another harness: each figure in this project's terms, and all or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from results import foreign
from swetrials.cli.app import app
from swetrials.cli.errors import guarded
from swetrials.errors import KnownError
from swetrials.records.evaluation import UNITS
from swetrials.records.metrics import HostingRecord, Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage
from swetrials.results.published.importing import write_tree
from swetrials.results.published.source_trial import Defaults, ImportedTrial
from swetrials.results.published.tree import read_published
from swetrials.results.results_tree import ResultsTreeError, read_rows
from swetrials.results.summary import read_trials, summarize
from swetrials.router.inputs.reading import Need, read_judged_inputs
from swetrials.store.files import ForeignRecordError, read_record
from swetrials.store.problems import DocumentError

DEFAULTS = Defaults("omp", "swe3", "elsewhere", "somebody")


def swetrials(words: list[str]) -> int:
    return guarded(app, words)


def read(path: Path) -> list[ImportedTrial]:
    return read_published(path, DEFAULTS).trials


def one(folder: Path, record: dict[str, Any], evaluation: object = None) -> Metrics:
    task = folder / "m" / "a" / "s" / "shop" / record["task"]
    foreign.put(task / "metrics.json", record)
    if evaluation is not None:
        foreign.put(task / "eval.json", evaluation)
    [trial] = read(folder)
    return trial.metrics


def row_of(folder: Path, **changes: Any) -> Metrics:  # noqa: ANN401  any JSON
    [trial] = read(foreign.put(folder / "run-summary.json", foreign.summary(foreign.row(**changes))))
    return trial.metrics


def codes(metrics: Metrics) -> list[str]:
    return [finding.code for finding in metrics.findings]


def test_a_tree_becomes_a_results_tree_that_everything_reads(tmp_path: Path) -> None:
    trials = read(foreign.write_tree(tmp_path / "old"))
    assert [trial.folder for trial in trials] == [
        "claude-haiku-4-5/claude-code/swe3/shop/rename-flag",
        "glm-5.2/pi/swe3/shop/rename-flag",
        "claude-haiku-4-5/claude-code/swe3/shop/add-page",
    ]
    assert write_tree(trials, tmp_path / "new")
    rows = read_rows(tmp_path / "new")
    assert {(row.model, row.task, row.score, row.cost_usd) for row in rows} == {
        ("claude-haiku-4-5", "rename-flag", foreign.TASK_SCORE, 1.25),
        ("claude-haiku-4-5", "add-page", foreign.TASK_SCORE, 0.5),
        ("glm-5.2", "rename-flag", foreign.TASK_SCORE, None),
    }
    summary = summarize(read_trials(tmp_path / "new" / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop"))
    assert (summary.num_tasks, summary.mean_task_score_excl_failed, summary.cost.amount_usd) == (2, 55.0, 1.75)
    assert summary.cost.basis == "reported"


def test_what_the_source_says_is_kept_and_not_changed(tmp_path: Path) -> None:
    tree = foreign.write_tree(tmp_path / "old")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    metrics = read(tree)[0].metrics
    assert metrics.imported is not None
    assert metrics.imported.record == {"metrics.json": foreign.metrics(), "eval.json": foreign.evaluation()}
    assert metrics.imported.file == "old"
    assert metrics.imported.place == "claude-haiku-4-5/claude-code/swe3/shop/rename-flag/metrics.json"
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_a_record_on_a_paid_path(tmp_path: Path) -> None:
    metrics = one(tmp_path, foreign.metrics())
    assert metrics.usage.headline.usage == Usage(fresh_input=547, cache_read=80_000, cache_write=2_600, output=3_100)
    assert (metrics.usage.headline.completeness, metrics.usage.source) == ("complete", "reported")
    assert (metrics.cost.amount_usd, metrics.cost.basis, metrics.cost.reported_usd) == (1.25, "reported", 1.25)
    assert "claude_api.total_cost_usd" in metrics.cost.source
    assert (metrics.agent, metrics.trial.scope, metrics.repo) == ("claude-code", "shop", "https://git.example/shop.git")
    assert metrics.hosting == HostingRecord()  # the machine means nothing there
    assert (metrics.outcome.kind, codes(metrics)) == (OutcomeKind.COMPLETED, [])


def test_the_repaired_top_of_a_record_beats_its_blocks(tmp_path: Path) -> None:
    metrics = one(tmp_path, foreign.metrics(input_tokens=9_000, output_tokens=4_000, cache_read_tokens=None))
    assert metrics.usage.headline.usage == Usage(fresh_input=9_000, cache_write=2_600, output=4_000)
    assert metrics.usage.headline.completeness == "lower_bound"


def test_the_cache_of_a_self_hosted_model_is_a_part_of_its_input(tmp_path: Path) -> None:
    metrics = one(tmp_path, foreign.self_hosted())
    assert metrics.usage.headline.usage == Usage(fresh_input=1_000, cache_read=9_000, output=300)
    assert metrics.usage.headline.completeness == "complete"
    assert (metrics.cost.amount_usd, metrics.cost.basis) == (None, "none")
    assert metrics.hosting == HostingRecord(instance_type="p5en.48xlarge", tensor_parallel_size=8, precision="FP8")


def test_a_cache_that_nobody_counted_leaves_a_range(tmp_path: Path) -> None:
    record = foreign.self_hosted()
    record["metrics"]["cache_read_tokens"] = None
    headline = one(tmp_path, record).usage.headline
    assert headline.usage == Usage(output=300, input_total=10_000)
    assert headline.at_least == Usage(fresh_input=0, cache_read=0, output=300)
    assert headline.at_most == Usage(fresh_input=10_000, cache_read=10_000, output=300)


def test_a_self_hosted_models_price_list_sum_is_no_cost(tmp_path: Path) -> None:
    cost = one(tmp_path, foreign.self_hosted(total_cost_usd=56.78)).cost
    assert (cost.amount_usd, cost.basis, cost.reported_usd) == (None, "none", 56.78)


@pytest.mark.parametrize(("read_tokens", "total", "fresh"), [(1_500, 2_500, 500), (1_500, 4_100, 2_000)])
def test_a_rows_total_says_how_its_cache_counts(tmp_path: Path, read_tokens: int, total: int, fresh: int) -> None:
    rows = foreign.row(cache_read_tokens=read_tokens, total_tokens=total)
    [trial] = read(foreign.put(tmp_path / "run-summary.json", foreign.summary(rows, provider="endpoint")))
    assert trial.metrics.usage.headline.usage.fresh_input == fresh
    assert codes(trial.metrics) == []


def test_zero_tokens_and_zero_dollars_are_unknown(tmp_path: Path) -> None:
    zeros: dict[str, Any] = {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "num_turns": 0,
        "total_cost_usd": 0,
    }
    metrics = one(tmp_path, foreign.metrics(**zeros))
    assert (metrics.usage.headline.usage, metrics.usage.headline.completeness) == (Usage(), "unknown")
    assert (metrics.num_turns, metrics.cost.amount_usd, metrics.cost.status) == (None, None, "unknown")
    assert codes(metrics) == ["usage_not_told"]


@pytest.mark.parametrize(
    ("repair", "completeness", "said"),
    [
        ("exact_from_stream", "complete", []),
        ({"method": "exact_from_stream"}, "complete", []),
        ("estimated_from_turns", "unknown", ["usage_estimated"]),
        ({"method": "cohort_estimate"}, "unknown", ["usage_estimated"]),
    ],
)
def test_an_estimate_is_not_called_complete(tmp_path: Path, repair: object, completeness: str, said: list[str]) -> None:
    metrics = row_of(tmp_path, token_accounting_repair=repair)
    assert (metrics.usage.headline.completeness, codes(metrics)) == (completeness, said)


@pytest.mark.parametrize(
    ("changes", "kind", "score"),
    [
        ({"failed": True, "task_score": 0.0, "eval_scores": None, "artifacts_produced": 4}, "incomplete_artifacts", 0),
        (
            {"failed": True, "task_score": None, "eval_scores": None, "result_subtype": "error_max_turns"},
            "turn_limit",
            0,
        ),
        ({"artifacts_produced": 4}, "completed", 55.0),
        ({"eval_scores": None}, "completed", None),
    ],
)
def test_failed_is_what_the_source_says(
    tmp_path: Path, changes: dict[str, Any], kind: str, score: float | None
) -> None:
    [trial] = read(foreign.put(tmp_path / "run-summary.json", foreign.summary(foreign.row(**changes))))
    assert trial.metrics.outcome.kind == kind
    assert trial.evaluation.rubric is not None
    assert trial.evaluation.rubric.task_score == score
    if score is None:
        assert "a task score of 55, and no units" in trial.evaluation.rubric.reason


def test_the_scores_with_their_criteria_and_their_judge(tmp_path: Path) -> None:
    tree = foreign.write_tree(tmp_path)
    rubric = read(tree)[0].evaluation.rubric
    assert rubric is not None
    assert {unit: rubric.scores[unit].total for unit in UNITS} == {u: sum(p) for u, p in foreign.UNITS.items()}
    assert (rubric.scores["lld"].correctness, rubric.scores["lld"].notes) == (12, "on lld")
    assert (rubric.task_score, rubric.verdict) == (55.0, "so so")
    assert rubric.judge is not None
    assert (rubric.judge.model, rubric.judge.grounding.repo_grounded) == ("a-judge", True)
    assert rubric.judge.usage.usage == Usage(fresh_input=200, cache_read=700, cache_write=100, output=50)
    assert rubric.judge.duration_seconds == pytest.approx(141.421)


def test_a_trial_without_all_units_is_unscored_and_says_so(tmp_path: Path) -> None:
    record = foreign.evaluation()
    del record["scores"]["implementation"]
    rubric = one(tmp_path, foreign.metrics(), record).evaluation
    assert rubric is not None
    assert rubric.rubric is not None
    assert (rubric.rubric.status, rubric.rubric.reason) == ("unscored", "the source gives no score of implementation")


def test_a_task_score_that_is_not_the_mean_of_its_units_is_told(tmp_path: Path) -> None:
    metrics = row_of(tmp_path, task_score=70)
    assert codes(metrics) == ["imported_score"]
    assert metrics.evaluation is not None
    assert metrics.evaluation.rubric is not None
    assert metrics.evaluation.rubric.task_score == 55.0


def test_trials_of_one_task_in_one_tree_are_repeats(tmp_path: Path) -> None:
    for number in (1, 2):
        place = tmp_path / f"batch-{number}" / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop" / "rename-flag"
        foreign.put(place / "metrics.json", foreign.metrics(num_turns=number))
    assert [(t.folder, t.metrics.num_turns) for t in read(tmp_path)] == [
        ("claude-haiku-4-5/claude-code/swe3/shop/rename-flag", 1),
        ("claude-haiku-4-5/claude-code/swe3/shop/rename-flag--r2", 2),
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("metrics.json", "{", "not JSON"),
        ("metrics.json", "[]", "not an object"),
        ("metrics.json", '{"a": 1}', "not a record that is known here (its first keys: a); move it away"),
        ("metrics.json", json.dumps(foreign.metrics(input_tokens=-5)), "input_tokens: input should be greater than"),
        ("metrics.json", json.dumps(foreign.metrics(input_tokens=True)), "input_tokens: true and false are no numbers"),
        ("metrics.json", json.dumps(foreign.metrics(model="../..")), "model: "),
        ("metrics.json", json.dumps(foreign.metrics(task="../x")), "task: "),
        ("eval.json", '{"scores": 3, "task": "x"}', "scores: "),
        ("eval.json", '{"task": "x", "scores": {"lld": {}}}', "scores.lld: neither a total nor all four criteria"),
        ("run-summary.json", json.dumps(foreign.summary({"task": "x", "task_score": 400})), "tasks.0.task_score: "),
    ],
)
def test_a_fault_names_file_and_field_and_nothing_is_imported(
    tmp_path: Path, name: str, text: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    tree = foreign.write_tree(tmp_path / "old")
    run = tree / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop"
    file = run / name if name == "run-summary.json" else run / "rename-flag" / name
    file.write_text(text)
    assert swetrials(["import", str(tree), "--into", str(tmp_path / "new")]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"{file}: {said}"), error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_records_of_this_harness_need_no_import(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_tree(read(foreign.write_tree(tmp_path / "old")), tmp_path / "new")
    assert swetrials(["import", str(tmp_path / "new"), "--into", str(tmp_path / "again")]) == 2
    assert "3 are records of this harness, which need no import" in capfd.readouterr().err


@pytest.mark.parametrize(
    "command",
    [["results"], ["cost"], ["report"], ["router", "build"], ["summarize", "--folder"]],
    ids=lambda words: words[0],
)
def test_the_original_tree_is_recognised_in_one_line(
    tmp_path: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "old"
    run = tree / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop"
    foreign.put(run / "rename-flag" / "metrics.json", foreign.metrics())
    assert swetrials([*command, str(run if command[0] == "summarize" else tree)]) == 2
    error = capfd.readouterr().err
    assert f"written by another harness: swetrials import {tree}" in error
    assert len(error.splitlines()) == 1


def test_judged_inputs_are_read_as_they_are_and_imported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = foreign.put(tmp_path / "theirs.json", foreign.judged_inputs())
    table = read_judged_inputs(file)
    assert table.needs == {"rename-flag": Need(80, "low"), "add-page": Need(70, "low")}
    assert table.record is not None
    assert (table.record.dataset, table.record.cost.amount_usd, table.record.cost.basis) == ("shop", 27.5, "reported")
    assert [row.failed for row in table.record.tasks] == [0, 1]
    assert swetrials(["import", str(file), "--into", str(tmp_path / "in")]) == 0
    assert read_judged_inputs(tmp_path / "in" / "judged-inputs.json").needs == table.needs
    assert swetrials(["import", str(file), "--into", str(tmp_path / "in")]) == 0
    capfd.readouterr()
    broken = foreign.judged_inputs()
    broken["tasks"]["add-page"]["floor"] = 12
    assert swetrials(["import", str(foreign.put(tmp_path / "b.json", broken)), "--into", str(tmp_path / "no")]) == 2
    assert capfd.readouterr().err.startswith(f"{tmp_path}/b.json: tasks.add-page.floor: ")
    assert not (tmp_path / "no").exists()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def _places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, part in inner for place in _places(part, (*at, key)))]


def _changed(record: Any, at: tuple[str | int, ...], value: object) -> object:  # noqa: ANN401  any JSON
    if not at:
        return value
    for key in at[:-1]:
        record = record[key]
    record[at[-1]] = value
    return None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), which=st.sampled_from(["metrics", "self_hosted", "summary", "evaluation"]), value=VALUES)
def test_a_record_of_any_shape_ends_in_trials_or_in_words(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, which: str, value: object
) -> None:
    """No exception but a known one of one or few lines, nothing half written, and no count that nobody told."""
    root = tmp_path_factory.mktemp("any")
    run = root / "claude-haiku-4-5" / "claude-code" / "swe3" / "shop"
    made: Any = {
        "metrics": foreign.metrics,
        "self_hosted": foreign.self_hosted,
        "evaluation": foreign.evaluation,
        "summary": lambda: foreign.summary(foreign.row()),
    }[which]()
    at = data.draw(st.sampled_from(_places(made)))
    made = _changed(made, at, value) if not at else (_changed(made, at, value), made)[1]
    if which == "summary":
        foreign.put(run / "run-summary.json", made)
    else:
        foreign.put(run / "rename-flag" / "metrics.json", foreign.metrics() if which == "evaluation" else made)
    if which == "evaluation":
        foreign.put(run / "rename-flag" / "eval.json", made)
    try:
        trials = read(root)
        write_tree(trials, root / ".new")
    except KnownError as error:
        assert 1 <= len(str(error).splitlines()) <= 12
        assert not (root / ".new").exists()
    else:
        for row in read_rows(root / ".new"):
            assert row.output_tokens != 0
            assert row.cost_usd != 0
    for reader in (lambda: read_rows(root, lambda line: None), lambda: summarize(read_trials(run))):
        with pytest.raises(KnownError):
            reader()


def test_a_foreign_record_is_not_read_as_one_of_ours(tmp_path: Path) -> None:
    file = foreign.put(tmp_path / "metrics.json", foreign.metrics())
    with pytest.raises(ForeignRecordError, match="written by another harness: swetrials import"):
        read_record(file, Metrics)
    with pytest.raises(ResultsTreeError):
        read_rows(tmp_path)
    with pytest.raises(DocumentError, match=r"(?i)no such file"):
        read(tmp_path / "nowhere.json")
