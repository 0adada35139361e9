"""What the trials of a run come to: two denominators, and unknown that stays unknown."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.written import evaluation, metrics, rubric
from swetrials.records.config import RunnerConfig
from swetrials.records.cost import Cost
from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.records.verification import TestsEvaluation
from swetrials.results.comparison import compare
from swetrials.results.report.summary_table import totals
from swetrials.results.summary import ScoredTrial, SummaryError, read_trials, summarize
from swetrials.store.files import RecordError, write_record

K = OutcomeKind
LIMITS = Limits.of(RunnerConfig(), None)
NOT_JUDGED = "not judged"


def trial(points: int | str | None = NOT_JUDGED, kind: K = K.COMPLETED, **changes: Any) -> ScoredTrial:  # noqa: ANN401
    """Return a trial with the judge's points for every criterion; ``None``: the judge failed."""
    record = metrics(kind, **changes)
    word = None if isinstance(points, str) else rubric(points)
    folder = record.task if record.trial.repeat == 1 else f"{record.task}--r{record.trial.repeat}"
    return ScoredTrial(folder, record, evaluation(record, word) if word else None)


def costing(amount: float | None) -> dict[str, Any]:
    if amount is None:
        return {"cost": Cost(), "total_cost_usd": None}
    return {"cost": Cost(amount_usd=amount, basis="metered", status="complete"), "total_cost_usd": amount}


def using(completeness: str = "complete", **buckets: int | None) -> dict[str, Any]:
    report = UsageReport.model_validate({"usage": Usage.model_validate(buckets), "completeness": completeness})
    return {"usage": UsageBlock(headline=report, source="reported", reported=report)}


def test_both_denominators() -> None:
    summary = summarize(
        [
            trial(20, task="good"),
            trial(0, task="worthless"),
            trial(10, K.INCOMPLETE_ARTIFACTS, task="left-out"),
            trial(None, task="judge-failed"),
            trial(None, K.RATE_LIMITED, task="throttled"),
            trial(NOT_JUDGED, K.CHECKOUT_FAILED, task="no-checkout"),
        ]
    )
    assert (summary.num_tasks, summary.num_scored, summary.num_failed) == (6, 3, 3)
    assert summary.failed_tasks == ("left-out", "throttled", "no-checkout")
    assert summary.mean_task_score_excl_failed == pytest.approx((80 + 0) / 2)
    valid, everything = summary.valid_trials, summary.all_trials
    assert (valid.mean_task_score, valid.num_scored, valid.num_trials) == (80 / 3, 3, 4)
    assert (everything.mean_task_score, everything.num_scored, everything.num_trials) == (80 / 6, 2, 6)
    assert summary.outcomes == {"checkout_failed": 1, "completed": 3, "incomplete_artifacts": 1, "rate_limited": 1}
    assert summary.infrastructure_failures == {"checkout_failed": 1, "rate_limited": 1}


def test_an_unscored_trial_is_not_one_with_the_score_0() -> None:
    failed, worthless, unjudged = summarize([trial(None, task="a"), trial(0, task="b"), trial(task="c")]).tasks
    assert (failed.task_score, failed.score_status, failed.score_reason) == (None, "unscored", "timed out")
    assert (worthless.task_score, worthless.score_status) == (0.0, "scored")
    assert (unjudged.task_score, unjudged.score_status) == (None, "not_judged")


def test_the_means_are_those_of_the_leaderboard_with_its_interval() -> None:
    priced = [costing(amount) for amount in (1.0, 2.0, 6.0)]
    summary = summarize(
        [
            trial(20, task="a", **priced[0]), trial(10, task="a", repeat=2, **priced[1]),
            trial(5, task="b", **priced[2]), trial(0, K.TURN_LIMIT, task="c", **costing(None)),
        ]
    )  # fmt: skip
    score, cost = summary.score_estimate, summary.cost_usd_estimate
    assert (score.value, cost.value) == ((60 + 20) / 2, (1.5 + 6.0) / 2)
    assert (summary.mean_task_score_excl_failed, summary.mean_cost_usd_excl_failed) == (score.value, cost.value)
    assert (score.low, score.high, score.tasks, score.trials) == (0.0, 100.0, 2, 3)
    assert cost.low == 0.0 and cost.high is not None and cost.high > 6
    assert dict(totals(summary))["score, completed trials"] == "40.0 (95 % interval 0.0 to 100.0) over 2 tasks"
    assert dict(totals(summarize([trial(20)])))["score, completed trials"] == "80.0 over 1 task"


def test_without_any_score_there_is_no_mean() -> None:
    summary = summarize([trial(task="a"), trial(None, task="b")])
    assert summary.mean_task_score_excl_failed is None
    assert summary.valid_trials.mean_task_score is None
    assert summary.all_trials.mean_task_score is None


@pytest.mark.parametrize(
    ("costs", "amount", "status", "mean"),
    [
        ([0.5, 0.25], 0.75, "complete", 0.375),
        ([0.5, None], 0.5, "lower_bound", None),
        ([None, None], None, "unknown", None),
        ([0.0, 0.0], 0.0, "complete", 0.0),
    ],
)
def test_an_unknown_cost_makes_the_sum_at_least(
    costs: list[float | None], amount: float | None, status: str, mean: float | None
) -> None:
    summary = summarize([trial(task=f"t{n}", **costing(cost)) for n, cost in enumerate(costs)])
    assert (summary.cost.amount_usd, summary.cost.status) == (amount, status)
    assert summary.mean_cost_usd_excl_failed == mean


def test_the_cost_of_failures_is_in_the_sum_and_not_in_the_mean() -> None:
    summary = summarize([trial(task="a", **costing(1.0)), trial(task="b", kind=K.TIMED_OUT, **costing(3.0))])
    assert (summary.cost.amount_usd, summary.mean_cost_usd_excl_failed) == (4.0, 1.0)


def test_one_lower_bound_makes_the_tokens_one() -> None:
    known: dict[str, Any] = {"fresh_input": 1, "cache_read": 20, "cache_write": 300, "output": 4000}
    summary = summarize([trial(task="a", **using(**known)), trial(task="b", **using("lower_bound", **known))])
    assert (summary.usage.usage.total, summary.usage.completeness) == (8642, "lower_bound")


def test_a_bucket_that_one_trial_does_not_tell_makes_the_sum_at_least() -> None:
    whole = using(fresh_input=1, cache_read=2, cache_write=3, output=4)
    summary = summarize([trial(task="a", **whole), trial(task="b", **using(fresh_input=1, output=4))])
    assert summary.usage.usage.cache_read == 2
    assert summary.usage.completeness == "lower_bound"


def test_tests_count_where_they_ran() -> None:
    trials = []
    for number, passed in enumerate((True, False, None)):
        record = metrics(task=f"t{number}")
        word = TestsEvaluation(status="unscored" if passed is None else "scored", passed=passed, fraction=passed)
        trials.append(ScoredTrial(record.task, record, evaluation(record, tests=word)))
    summary = summarize([*trials, trial(task="without")])
    assert (summary.tests_passed, summary.tests_run) == (1, 2)
    assert [task.tests_passed for task in summary.tasks] == [True, False, None, None]


def test_repeats_are_rows_of_their_own() -> None:
    summary = summarize([trial(20), trial(10, repeat=2), trial(None, repeat=3)])
    assert [(task.task, task.repeat, task.folder) for task in summary.tasks] == [
        ("task-1", 1, "task-1"), ("task-1", 2, "task-1--r2"), ("task-1", 3, "task-1--r3"),
    ]  # fmt: skip
    assert (summary.num_tasks, summary.valid_trials.mean_task_score) == (3, 60.0)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("dataset", {"dataset": "other-data"}),
        ("model", {"model": "other", "model_slug": "other"}),
        ("agent", {"agent": "omp"}),
        ("skill", {"skill": "swe2"}),
        ("provider", {"provider": "rehearsal"}),
        ("skill_sha256", {"skill_sha256": "reworded"}),
        ("max_turns", {"limits": LIMITS.model_copy(update={"max_turns": 3})}),
    ],
)
def test_a_mixture_is_refused_by_the_name_of_what_differs(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(SummaryError, match=f"differ in {field}: .* in a, .* in b"):
        summarize([trial(20, task="a", limits=LIMITS), trial(20, task="b", **{"limits": LIMITS, **changes})])


def test_everything_that_differs_is_named() -> None:
    with pytest.raises(SummaryError, match=r"differ in provider: .*; in agent_version: '1' in a, '2' in b\."):
        summarize([trial(20, task="a", agent_version="1"), trial(20, task="b", agent_version="2", provider="vllm")])


def test_two_commits_of_one_task_are_said_in_the_line() -> None:
    summary = summarize([trial(20), trial(20, repeat=2, commit="1" * 40)])
    assert summary.mixed == ("2 commits of task-1",)
    assert dict(totals(summary))["over several"] == "2 commits of task-1"


def test_two_wordings_of_one_task_are_a_mixture_too() -> None:
    with pytest.raises(SummaryError, match=r"task task-1 was worded differently in task-1 and task-1--r2 .*sha256"):
        summarize([trial(20), trial(20, repeat=2, task_sha256="reworded")])


def test_another_edition_of_the_dataset_with_the_same_words_is_none() -> None:
    assert summarize([trial(20, task="a"), trial(20, task="b", dataset_sha256="later")]).num_tasks == 2


_trials = st.lists(
    st.tuples(
        st.sampled_from([NOT_JUDGED, None, *range(26)]),
        st.sampled_from(K),
        st.none() | st.floats(0, 1000),
        st.none() | st.integers(0, 10**9),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40)
@given(_trials)
def test_the_figures_hold_together_whatever_the_trials(drawn: list[Any]) -> None:
    trials = [
        trial(points, kind, task=f"t{n}", **costing(cost), **using(output=tokens))
        for n, (points, kind, cost, tokens) in enumerate(drawn)
    ]
    summary = summarize(trials)
    assert sum(summary.outcomes.values()) == summary.num_tasks == summary.all_trials.num_trials == len(trials)
    invalid = sum(summary.infrastructure_failures.values())
    assert summary.valid_trials.num_trials + invalid == len(trials)
    assert summary.num_failed + summary.outcomes.get("completed", 0) == len(trials)
    assert summary.num_scored == sum(task.task_score is not None for task in summary.tasks)
    if summary.all_trials.mean_task_score is not None:
        total = sum(task.task_score or 0 for task in summary.tasks if task.outcome == "completed")
        assert summary.all_trials.mean_task_score == pytest.approx(total / len(trials))
    known = [cost for _, _, cost, _ in drawn if cost is not None]
    assert summary.cost.amount_usd == (pytest.approx(sum(known)) if known else None)
    assert (summary.cost.status == "complete") == (len(known) == len(drawn))
    spent = [tokens for _, _, _, tokens in drawn if tokens is not None]
    assert summary.usage.usage.output == (sum(spent) if spent else None)


def written(scope: Path, record: Metrics) -> Path:
    folder = scope / record.task
    write_record(folder / "metrics.json", record)
    return folder


def test_trials_are_read_with_the_scores_that_belong_to_them(tmp_path: Path) -> None:
    mine, other = metrics(task="a"), metrics(task="b")
    write_record(written(tmp_path, mine) / "eval.json", evaluation(mine, rubric(20)))
    write_record(written(tmp_path, other) / "eval.json", evaluation(mine, rubric(20)))
    read = read_trials(tmp_path)
    assert [(t.folder, t.score) for t in read] == [("a", 80.0), ("b", None)]


def test_what_cannot_be_read_is_named_and_not_left_out(tmp_path: Path) -> None:
    written(tmp_path, metrics(task="a"))
    (written(tmp_path, metrics(task="b")) / "metrics.json").write_text('{"task": ')
    with pytest.raises(RecordError, match=r"b/metrics.json: not JSON"):
        read_trials(tmp_path)
    with pytest.raises(SummaryError, match=r"nowhere: no such folder; run one with: swetrials run"):
        read_trials(tmp_path / "nowhere")


def test_a_prompt_told_as_a_whole_is_in_the_tokens_of_every_table() -> None:
    told = trial(20, **using("lower_bound", input_total=20_000, cache_write=0, output=500))
    assert summarize([told]).usage.usage.total == 20_500
    assert told.row.total_tokens == 20_500
    [tokens] = [m for m in compare([told], [told], ("a", "b")).measures if m.name == "tokens"]
    assert (tokens.first.value, tokens.first.lower_bound) == (20_500, True)


def test_a_mean_cost_is_at_least_so_much_by_the_trials_in_it_alone() -> None:
    bound: dict[str, Any] = {"cost": Cost(amount_usd=1, basis="metered", status="lower_bound"), "total_cost_usd": 1}
    failed = summarize([trial(20, task="good", **costing(2)), trial(10, K.TIMED_OUT, task="slow", **bound)])
    assert failed.cost.status == "lower_bound"
    assert dict(totals(failed))["cost, completed trials"].startswith("$2.0000")
    both = summarize([trial(20, task="good", **costing(2)), trial(10, task="cut", **bound)])
    assert dict(totals(both))["cost, completed trials"].startswith("at least $1.5000")
