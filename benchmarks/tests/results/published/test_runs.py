"""Figures that somebody else published, as records: what is converted, what is kept, what stays unknown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.published_figures import PUBLISHED_RUNS, published_rows, write_rows
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.results.published.runs import Defaults, ImportedTrial, read_published_runs
from swetrials.store.files import sha256_of
from swetrials.store.problems import DocumentError

DEFAULTS = Defaults("omp", "swe3", "there")
ROWS = published_rows()
BEDROCK = next(row for row in ROWS if row["provider"] == "bedrock")
SELF_HOSTED = next(row for row in ROWS if row["provider"] == "endpoint" and row["total_cost_usd"] == "0")
FAILED = next(row for row in ROWS if row["failed"] == "true")
COUNTS = st.integers(min_value=0, max_value=10**9)


def imported(folder: Path, row: dict[str, str], **changes: str) -> ImportedTrial:
    [trial] = read_published_runs(write_rows(folder / "runs.csv", [{**row, **changes}]), DEFAULTS)
    return trial


def codes(metrics: Metrics) -> list[str]:
    return [finding.code for finding in metrics.findings]


def test_every_published_row_becomes_a_trial_and_stays_in_it_as_printed() -> None:
    trials = read_published_runs(PUBLISHED_RUNS, DEFAULTS)
    marks = [trial.metrics.imported for trial in trials]
    assert [mark.row for mark in marks if mark] == ROWS
    assert [mark.line for mark in marks if mark] == list(range(2, len(ROWS) + 2))
    assert {mark.sha256 for mark in marks if mark} == {sha256_of(PUBLISHED_RUNS.read_bytes())}
    assert len({trial.folder for trial in trials}) == len(ROWS)
    assert all(trial.evaluation.trial_id == trial.metrics.trial.id for trial in trials)


def test_the_buckets_of_every_row_are_disjoint_and_come_to_its_total() -> None:
    for trial, row in zip(read_published_runs(PUBLISHED_RUNS, DEFAULTS), ROWS, strict=True):
        assert trial.metrics.usage.headline.usage.total == int(row["total_tokens"])
        assert "usage_total_differs" not in codes(trial.metrics)


def test_bedrock_counts_cached_tokens_beside_the_input(tmp_path: Path) -> None:
    metrics = imported(tmp_path, BEDROCK).metrics
    assert metrics.input_tokens == int(BEDROCK["input_tokens"])
    assert metrics.cache_read_tokens == int(BEDROCK["cache_read_tokens"])
    assert metrics.cache_creation_tokens == int(BEDROCK["cache_write_tokens"])


@given(sent=COUNTS, read=COUNTS, output=COUNTS)
def test_self_hosted_input_holds_the_cached_tokens(
    tmp_path_factory: pytest.TempPathFactory, sent: int, read: int, output: int
) -> None:
    counts = {"input_tokens": sent, "cache_read_tokens": read, "output_tokens": output, "total_tokens": sent + output}
    row = {**SELF_HOSTED, **{name: str(count) for name, count in counts.items()}}
    metrics = imported(tmp_path_factory.mktemp("csv"), row).metrics
    usage = metrics.usage.headline.usage
    assert (usage.fresh_input, usage.cache_read) == ((sent - read, read) if read <= sent else (0, sent))
    assert (usage.cache_write, usage.output, usage.total) == (None, output, sent + output)
    assert codes(metrics) == (["usage_cache_exceeds_input"] if read > sent else [])


def test_a_total_that_does_not_fit_the_buckets_is_told(tmp_path: Path) -> None:
    assert codes(imported(tmp_path, BEDROCK, total_tokens="7").metrics) == ["usage_total_differs"]


def test_a_figure_that_is_the_agents_own_sum_is_reported_whatever_the_source_calls_it(tmp_path: Path) -> None:
    metered, hardware = imported(tmp_path, BEDROCK).metrics, imported(tmp_path, SELF_HOSTED).metrics
    assert (metered.cost.basis, metered.cost.amount_usd) == ("reported", float(BEDROCK["cost_usd"]))
    other = imported(tmp_path, {**BEDROCK, "cost_usd": "3.21"}).metrics
    assert (other.cost.basis, other.cost.amount_usd) == ("metered", 3.21)
    assert metered.cost.reported_usd == float(BEDROCK["total_cost_usd"])
    assert (hardware.cost.basis, hardware.cost.amount_usd) == ("hardware", float(SELF_HOSTED["cost_usd"]))
    assert hardware.cost.reported_usd is None


def test_no_cost_is_unknown_and_not_free(tmp_path: Path) -> None:
    cost = imported(tmp_path, SELF_HOSTED, cost_usd="", cost_basis="").metrics.cost
    assert (cost.amount_usd, cost.basis, cost.status) == (None, "none", "unknown")


def test_the_machine_means_something_where_the_model_is_self_hosted(tmp_path: Path) -> None:
    bedrock, hosted = imported(tmp_path, BEDROCK).metrics.imported, imported(tmp_path, SELF_HOSTED).metrics.imported
    assert BEDROCK["hosting_instance"]
    assert bedrock
    assert hosted
    assert (bedrock.hosting_instance, hosted.hosting_instance) == (None, SELF_HOSTED["hosting_instance"])


def test_a_failed_row_is_the_models_failure_and_no_judged_zero(tmp_path: Path) -> None:
    trial = imported(tmp_path, FAILED)
    assert (trial.metrics.outcome.kind, trial.metrics.outcome.blame) == (OutcomeKind.INCOMPLETE_ARTIFACTS, Blame.MODEL)
    assert trial.metrics.artifacts_produced == ()
    assert trial.evaluation.rubric
    assert all(score.missing for score in trial.evaluation.rubric.scores.values())


def test_the_score_of_a_failed_row_is_passed_over_and_told(tmp_path: Path) -> None:
    trial = imported(tmp_path, BEDROCK, failed="true")
    assert trial.evaluation.rubric
    assert trial.evaluation.rubric.task_score == 0
    assert "imported_score" in codes(trial.metrics)
    assert "imported_score" not in codes(imported(tmp_path, FAILED).metrics)


def test_an_error_that_left_everything_is_completed_and_stays_an_error() -> None:
    trials = [t for t in read_published_runs(PUBLISHED_RUNS, DEFAULTS) if t.metrics.is_error]
    completed, failed = sorted(trials, key=lambda trial: trial.metrics.outcome.kind)
    assert (completed.metrics.outcome.kind, completed.metrics.outcome.blame) == (OutcomeKind.COMPLETED, None)
    assert completed.evaluation.rubric
    assert completed.evaluation.rubric.task_score == 74.6
    assert failed.metrics.outcome.blame is Blame.MODEL
    assert [codes(trial.metrics) for trial in trials] == [["imported_error"]] * 2
    assert {trial.metrics.usage.headline.completeness for trial in trials} == {"lower_bound"}


def test_the_units_have_their_totals_and_no_criteria(tmp_path: Path) -> None:
    rubric = imported(tmp_path, BEDROCK).evaluation.rubric
    assert rubric
    assert {unit: str(score.total) for unit, score in rubric.scores.items()}.items() <= BEDROCK.items()
    assert {score.completeness for score in rubric.scores.values()} == {None}
    assert rubric.task_score == float(BEDROCK["task_score"])


def test_a_row_without_scores_is_unscored(tmp_path: Path) -> None:
    empty = dict.fromkeys(("github_issue", "lld", "review", "testing", "implementation", "task_score"), "")
    rubric = imported(tmp_path, {**BEDROCK, **empty}).evaluation.rubric
    assert rubric
    assert (rubric.status, rubric.task_score) == ("unscored", None)


def test_what_was_not_told_is_none(tmp_path: Path) -> None:
    row = {**SELF_HOSTED, **dict.fromkeys(("num_turns", "input_tokens", "latency_seconds", "agent_invocations"), "")}
    metrics = imported(tmp_path, row).metrics
    assert (metrics.num_turns, metrics.input_tokens, metrics.latency_seconds) == (None, None, None)
    assert (metrics.repo, metrics.run_started_at, metrics.trial.task_sha256) == (None, None, None)
    assert not any(value is not None for _, value in metrics.provenance)


def test_columns_beat_defaults(tmp_path: Path) -> None:
    assert imported(tmp_path, BEDROCK).folder.split("/")[1:4] == ["omp", "swe3", "there"]
    named = {"agent": "pi", "skill": "swe2", "scope": "here", "source": "me"}
    trial = imported(tmp_path, {**BEDROCK, **named})
    assert trial.folder.split("/")[1:4] == ["pi", "swe2", "here"]
    assert trial.metrics.imported
    assert trial.metrics.imported.source == "me"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"latency_seconds": "soon"}, "2: latency_seconds: 'soon': input should be a valid number"),
        ({"failed": "perhaps"}, "2: failed: 'perhaps': input should be a valid boolean"),
        ({"provider": "cloud"}, "2: provider: 'cloud': input should be 'bedrock' or 'endpoint'"),
        ({"task": "../up"}, "2: task: '../up': '../up' is not a safe folder name"),
        ({"lld": "101"}, "2: lld: '101': input should be less than or equal to 100"),
        ({"lld": ""}, "2: lld: empty, although there is a github_issue"),
        ({"task_score": "12.0"}, "2: task_score: 12 is not the mean of the five units, 69.8"),
        ({"cost_basis": ""}, "2: cost_basis: empty, although there is a cost_usd"),
        ({"model": "[1m]"}, "2: model: '[1m]' leaves no name for a folder"),
        ({"model": ""}, "2: model: empty"),
        ({"model": "m" * 101}, "2: model: "),
        ({"input_tokens": "9" * 20}, "2: input_tokens: "),
        ({"num_turns": "3000000000"}, "2: num_turns: '3000000000': input should be less than or equal to 1000000"),
        ({"cost_usd": "1e308"}, "2: cost_usd: '1e308': input should be less than or equal to 1000000"),
        ({"latency_seconds": "1e308"}, "2: latency_seconds: "),
    ],
)
def test_a_faulty_cell_is_named(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        imported(tmp_path, BEDROCK, **changes)
    [problem] = str(caught.value).splitlines()
    assert problem.startswith(f"{tmp_path}/runs.csv:{said}")


def test_a_second_row_of_a_model_and_a_task_is_a_repeat(tmp_path: Path) -> None:
    rows = [BEDROCK, SELF_HOSTED, {**BEDROCK, "num_turns": "7"}, BEDROCK]
    trials = read_published_runs(write_rows(tmp_path / "runs.csv", rows), DEFAULTS)
    repeats = [trial for trial in trials if trial.metrics.model == BEDROCK["model"]]
    assert [trial.metrics.trial.repeat for trial in repeats] == [1, 2, 3]
    first = repeats[0].folder
    assert [trial.folder for trial in repeats] == [first, f"{first}--r2", f"{first}--r3"]
    assert len({trial.metrics.trial.id for trial in trials}) == 4
    assert [codes(trial.metrics).count("imported_twice") for trial in repeats] == [0, 0, 1]


@pytest.mark.parametrize("change", [{"model": f"us.anthropic.{BEDROCK['model']}"}, {"provider": "endpoint"}])
def test_another_hosting_of_one_model_is_no_repeat(tmp_path: Path, change: dict[str, str]) -> None:
    with pytest.raises(DocumentError, match=r"^runs\.csv:4: model: .* line 2 has it by .* under another --scope$"):
        rows = [BEDROCK, SELF_HOSTED, {**BEDROCK, **change}]
        read_published_runs(write_rows(tmp_path / "runs.csv", rows), DEFAULTS)
    rows = [{**BEDROCK, "scope": "here"}, {**BEDROCK, **change, "scope": "there"}]
    assert len(read_published_runs(write_rows(tmp_path / "runs.csv", rows), DEFAULTS)) == 2
