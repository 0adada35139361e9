"""The routing evaluation, against a calculation of its own and against trees made for one question each."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kinds import first_is_quick
from results.published_figures import PUBLISHED_RUNS
from router.routing_by_hand import ByHand, judged_needs
from swetrials.records.cost import Cost
from swetrials.records.judged_inputs import JudgedInputs, TaskInputs
from swetrials.records.router_evaluation import EvaluationRun, EvaluationTotals, RouterEvaluation
from swetrials.results.published.importing import write_tree
from swetrials.results.published.runs import Defaults, read_published_runs
from swetrials.results.results_tree import read_rows
from swetrials.results.trial_row import TrialRow
from swetrials.router.evaluation.evaluate import CURVE_FLOORS, EvaluationError, EvaluationRequest, evaluate
from swetrials.router.evaluation.measured import MeasurementError, Measurements, one_set, tiers_of
from swetrials.router.rule import RuleError
from swetrials.store.files import write_record
from swetrials.store.project import find_project

SKILL = find_project().skills / "swe-router"
JUDGED = PUBLISHED_RUNS.with_name("judged-inputs.csv")
BASELINE = "claude-opus-5"
SOURCE = "somebody"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the tree of the published figures, as ``swetrials import`` does."""
    folder = tmp_path_factory.mktemp("published") / "tree"
    write_tree(read_published_runs(PUBLISHED_RUNS, Defaults("omp", "swe3", "gateway", SOURCE)), folder)
    return folder


def evaluated(request: EvaluationRequest) -> RouterEvaluation:
    told: list[str] = []
    evaluation = evaluate(request, SKILL, told.append)
    assert told == [f"left out: {task}: {why}" for task, why in evaluation.tasks_left_out.items()]
    return evaluation


@pytest.fixture(scope="module")
def judged_evaluation(tree: Path) -> RouterEvaluation:
    """Evaluate the judged inputs, each task held out of what its own route is chosen by."""
    return evaluated(EvaluationRequest(tree, judged_inputs=JUDGED, holdout=True, no_allow_list=True))


def assert_same_totals(totals: EvaluationTotals, by_hand: dict[str, float]) -> None:
    ours = totals.model_dump() | {"kept": sum(totals.tasks_kept_on_baseline.values())}
    assert {name: ours[name] for name in by_hand} == pytest.approx(by_hand, abs=1e-6)


def assert_same_rows(run: EvaluationRun, hand: ByHand, needs: dict[str, tuple[float, str]], *, holdout: bool) -> None:
    picks = hand.route(needs, BASELINE, holdout=holdout)
    assert [row.task for row in run.rows] == sorted(picks)
    for row in run.rows:
        pick, other = picks[row.task], hand.trials[BASELINE][row.task]
        assert (row.used_model, row.recommended_model is not None) == (pick["model"], pick["named"]), row.task
        assert (row.floor, row.complexity, row.actual_failed) == (pick["floor"], pick["tier"], pick["failed"])
        assert row.dataset_complexity == hand.tiers[row.task]
        assert row.tier_matches_dataset == (pick["tier"] == hand.tiers[row.task])
        assert row.actual_cost_usd == pytest.approx(pick["cost"], abs=1e-6)
        assert row.actual_score == (None if pick["failed"] else pytest.approx(pick["score"]))
        assert row.predicted_score == pytest.approx(pick["expected"], abs=1e-6)
        assert row.baseline_score == pytest.approx(float(other["task_score"]))
        assert row.baseline_cost_usd == pytest.approx(float(other["cost_usd"]), abs=1e-6)
        assert row.met_floor == (not pick["failed"] and pick["score"] >= pick["floor"])


@first_is_quick("holdout", [True, False])
def test_judged_floors_come_to_what_a_calculation_by_hand_says(
    tree: Path, judged_evaluation: RouterEvaluation, holdout: bool
) -> None:
    hand, needs = ByHand(PUBLISHED_RUNS), judged_needs(JUDGED)

    request = EvaluationRequest(tree, judged_inputs=JUDGED, holdout=holdout, no_allow_list=True)
    evaluation = judged_evaluation if holdout else evaluated(request)

    [run] = evaluation.runs
    assert evaluation.config.baseline == BASELINE
    assert evaluation.provenance.sources == (SOURCE,)
    assert_same_rows(run, hand, needs, holdout=holdout)
    assert_same_totals(run.totals, hand.totals(hand.route(needs, BASELINE, holdout=holdout), BASELINE))
    if holdout:
        assert run.in_sample_totals is not None
        assert_same_totals(run.in_sample_totals, hand.totals(hand.route(needs, BASELINE, holdout=False), BASELINE))
    else:
        assert run.in_sample_totals is None


@first_is_quick("holdout", [True, False])
def test_each_floor_of_a_sweep_comes_to_what_a_calculation_by_hand_says(tree: Path, holdout: bool) -> None:
    hand, floors = ByHand(PUBLISHED_RUNS), (0.0, 55.0, 65.0, 70.0, 75.0, 80.0, 100.0)

    runs = evaluated(EvaluationRequest(tree, floors=floors, holdout=holdout, no_allow_list=True)).runs

    assert [run.floor for run in runs] == list(floors)
    for run, floor in zip(runs, floors, strict=True):
        needs = {task: (floor, tier) for task, tier in hand.tiers.items()}
        assert_same_rows(run, hand, needs, holdout=holdout)
        assert_same_totals(run.totals, hand.totals(hand.route(needs, BASELINE, holdout=holdout), BASELINE))


@first_is_quick("holdout", [True, False])
def test_a_sweep_beside_judged_inputs_takes_their_tiers_and_its_own_floors(tree: Path, holdout: bool) -> None:
    hand, judged, floors = ByHand(PUBLISHED_RUNS), judged_needs(JUDGED), (55.0, 70.0, 80.0)
    assert {task: tier for task, (_, tier) in judged.items()} != dict(hand.tiers)

    runs = evaluated(
        EvaluationRequest(tree, floors=floors, judged_inputs=JUDGED, holdout=holdout, no_allow_list=True)
    ).runs

    assert [run.floor for run in runs] == list(floors)
    for run, floor in zip(runs, floors, strict=True):
        needs = {task: (floor, tier) for task, (_, tier) in judged.items()}
        assert_same_rows(run, hand, needs, holdout=holdout)
        assert_same_totals(run.totals, hand.totals(hand.route(needs, BASELINE, holdout=holdout), BASELINE))


def test_models_are_counted_and_the_curve_goes_through_the_sweep(tree: Path) -> None:
    hand = ByHand(PUBLISHED_RUNS)
    evaluation = evaluated(EvaluationRequest(tree, floors=(70.0,), holdout=True, no_allow_list=True))
    [run] = evaluation.runs
    counts = Counter(row.used_model for row in run.rows)
    assert run.totals.model_counts == counts
    assert run.totals.models_used == tuple(sorted(counts, key=lambda model: (-counts[model], model)))

    assert [point.floor for point in evaluation.curve] == [*CURVE_FLOORS, *CURVE_FLOORS]
    for point in evaluation.curve:
        needs = {task: (point.floor, tier) for task, tier in hand.tiers.items()}
        expected = hand.totals(hand.route(needs, BASELINE, holdout=point.holdout), BASELINE)
        assert point.total_cost_usd == pytest.approx(expected["routed_total_cost_usd"], abs=1e-6)
        assert point.mean_score == pytest.approx(expected["routed_mean_score"], abs=1e-6)
        assert point.tasks_below_floor == expected["tasks_below_floor_routed"]
        assert point.tasks_kept_on_baseline == expected["kept"]


def test_reference_policies_come_to_what_the_trials_say(judged_evaluation: RouterEvaluation) -> None:
    hand, needs = ByHand(PUBLISHED_RUNS), judged_needs(JUDGED)
    [run] = judged_evaluation.runs
    lines = {line.policy: line for line in run.policies}

    # The oracle, by looking at every trial of every task.
    oracle_cost = 0.0
    for task, (floor, _) in needs.items():
        good = [
            float(of[task]["cost_usd"])
            for of in hand.trials.values()
            if of[task]["failed"] == "false" and float(of[task]["task_score"]) >= floor
        ]
        oracle_cost += min(good) if good else float(hand.trials[BASELINE][task]["cost_usd"])
    assert lines["oracle"].total_cost_usd == pytest.approx(oracle_cost, abs=1e-6)
    assert run.regret.cost_usd == pytest.approx((run.totals.routed_total_cost_usd or 0) - oracle_cost, abs=1e-5)

    # At random: each pick of the router on each task, evenly.
    picks = [row.used_model for row in run.rows]
    costs = [float(hand.trials[model][task]["cost_usd"]) for model in picks for task in needs]
    scores = [
        float(hand.trials[model][task]["task_score"])
        for model in picks
        for task in needs
        if hand.trials[model][task]["failed"] == "false"
    ]
    assert lines["random_at_router_mix"].total_cost_usd == pytest.approx(sum(costs) / len(picks), abs=1e-6)
    assert lines["random_at_router_mix"].mean_score == pytest.approx(sum(scores) / len(scores), abs=1e-6)

    totals = {model: sum(float(line["cost_usd"]) for line in of.values()) for model, of in hand.trials.items()}
    assert {line.model: line.total_cost_usd for line in run.fixed_models} == pytest.approx(totals, abs=1e-5)
    assert lines["cheapest"].model == min(totals, key=lambda model: totals[model])
    assert lines["best_single_model"].model == BASELINE
    means = {
        model: sum(float(line["task_score"]) for line in of.values()) / len(of) for model, of in hand.trials.items()
    }
    routed = run.totals.routed_mean_score_failures_as_zero or 0
    as_good = min((model for model in totals if means[model] >= routed), key=lambda model: totals[model])
    assert lines["single_model_as_good"].model == as_good


def test_floors_that_nobody_is_expected_to_reach_are_named_beforehand(judged_evaluation: RouterEvaluation) -> None:
    hand, needs = ByHand(PUBLISHED_RUNS), judged_needs(JUDGED)
    [run] = judged_evaluation.runs
    missed = [task for task, pick in hand.route(needs, BASELINE, holdout=False).items() if not pick["named"]]
    assert sorted(task for floor in run.unreachable for task in floor.tasks) == sorted(missed)
    assert all(floor.nearest_score is not None and floor.nearest_score < floor.floor for floor in run.unreachable)


def test_judged_inputs_are_read_from_json_as_well_and_their_cost_is_taken_off(tree: Path, tmp_path: Path) -> None:
    needs = judged_needs(JUDGED)
    tasks = [TaskInputs.model_validate({"task": task, "floor": f, "tier": t}) for task, (f, t) in needs.items()]
    unjudged, rest = tasks[0], tasks[1:]
    record = JudgedInputs(
        dataset="gateway",
        rehearsal=False,
        agent="claude",
        model="m",
        provider="bedrock",
        skill="swe-router",
        skill_sha256="0",
        allowed_tools=(),
        permission_mode="plan",
        sandbox="none",
        harness_version="1",
        repeats=3,
        started_at="2026-01-01T00:00:00Z",
        judged=63,
        cost=Cost(amount_usd=4.5, basis="metered", status="complete"),
        tasks=(TaskInputs(task=unjudged.task, failed=3), *rest),
    )
    write_record(tmp_path / "judged.json", record)

    request = EvaluationRequest(tree, judged_inputs=tmp_path / "judged.json", holdout=True, no_allow_list=True)
    evaluation = evaluated(request)

    hand = ByHand(PUBLISHED_RUNS)
    del needs[unjudged.task]
    expected = hand.totals(hand.route(needs, BASELINE, holdout=True), BASELINE)
    assert_same_totals(evaluation.runs[0].totals, expected)
    assert evaluation.tasks_left_out == {unjudged.task: "no judgment of what it needs"}
    judging = evaluation.judging
    assert judging is not None
    assert (judging.judgments, judging.cost_usd) == (63, 4.5)
    assert judging.net_saving_usd == pytest.approx(expected["cost_saving_usd"] - 4.5, abs=1e-6)


def test_lists_narrow_the_choice_and_a_baseline_may_be_any_measured_model(tree: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("us.anthropic.claude-sonnet-5-20260101-v1:0\nglm-5.3  # of two, the dearer\nclaude-haiku-4-5\n")
    request = EvaluationRequest(
        tree,
        floors=(70.0,),
        allowed_file=allowed,
        available=("glm-5.3", "claude-sonnet-5"),
        baseline="anthropic/claude-opus-4-8",
    )

    evaluation = evaluated(request)

    assert evaluation.config.baseline == "claude-opus-4-8"
    used = {row.recommended_model for row in evaluation.runs[0].rows}
    assert used == {"claude-sonnet-5"}
    assert {row.oracle_model for row in evaluation.runs[0].rows} <= {"glm-5.3", "claude-sonnet-5", "claude-opus-4-8"}
    without = evaluated(replace(request, baseline=None))
    assert without.config.baseline == "glm-5.3", "the best of those that may be used"


# Trees made for one question ------------------------------------------------------------------------------------------


def trial(
    model: str, task: str, score: float | None, cost: float | None, repeat: int = 1, tier: str = "low"
) -> TrialRow:
    """Return a trial; without a score, one that failed."""
    return TrialRow(
        folder=f"{model}/{task}--r{repeat}",
        model=model,
        agent="claude",
        skill="swe3",
        provider="bedrock",
        scope="here",
        task=task,
        repeat=repeat,
        tier=tier,
        outcome="completed" if score is not None else "refused",
        completed=score is not None,
        valid=True,
        score=score,
        cost_usd=cost,
        cost_basis="metered",
    )


def test_a_figure_of_a_task_is_the_mean_over_its_repeats() -> None:
    rows = [trial("m", "a", 80, 1.0), trial("m", "a", 60, 3.0, 2), trial("m", "a", None, 2.0, 3)]
    spoilt = replace(trial("m", "a", None, 50.0, 4), valid=False, outcome="provider_error")

    found = Measurements([*rows, spoilt]).of("m", "a")

    assert (found.score, found.cost_usd) == (70, 2.0)
    assert found.score_failures_as_zero == pytest.approx(140 / 3)
    assert (found.failed, found.trials) == (False, 3)
    assert found.meets(70) is True
    assert found.meets(70.1) is False


def test_what_is_not_known_is_not_guessed() -> None:
    measured = Measurements([trial("m", "a", 80, None), trial("m", "b", None, 1.0)])
    assert measured.of("m", "a").cost_usd is None
    assert (measured.of("m", "b").failed, measured.of("m", "b").meets(0)) == (True, False)
    nothing = measured.of("other", "a")
    assert (nothing.score, nothing.cost_usd, nothing.failed, nothing.meets(0)) == (None, None, None, None)


def test_trials_of_two_agents_are_not_mixed() -> None:
    rows = [trial("m", "a", 80, 1.0), replace(trial("m", "b", 70, 1.0), agent="omp")]
    with pytest.raises(MeasurementError, match=r"claude, omp.*--harness"):
        one_set(rows, agent=None, skill=None, scope=None)
    assert one_set(rows, agent="omp", skill=None, scope=None) == rows[1:]
    with pytest.raises(MeasurementError, match="--scope elsewhere: no such trials; there are here"):
        one_set(rows, agent="omp", skill=None, scope="elsewhere")


def test_rehearsals_are_left_out_beside_real_trials() -> None:
    real, scripted = trial("m", "a", 80, 1.0), replace(trial("rehearsal", "a", 90, 0.0), rehearsal=True)
    assert one_set([real, scripted], agent=None, skill=None, scope=None) == [real]
    assert one_set([scripted], agent=None, skill=None, scope=None) == [scripted]


def test_a_task_of_two_tiers_is_refused() -> None:
    with pytest.raises(
        MeasurementError, match=r"task a is low in m/a--r1 and high in n/a--r1: say which with --dataset"
    ):
        tiers_of([trial("m", "a", 80, 1.0), trial("n", "a", 80, 1.0, tier="high")])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"baseline": "gpt-1"}, RuleError, "'gpt-1': no measured model"),
        (
            {"available": ("gpt-1",)},
            EvaluationError,
            "none of the measured models may be used, .* as: not among the available models",
        ),
        ({"scope": "elsewhere"}, MeasurementError, "--scope elsewhere: no such trials; there are gateway"),
        ({"allowed_file": Path("nowhere.txt"), "no_allow_list": False}, RuleError, "no allow list nowhere.txt"),
        ({"tie_band": -1.0}, RuleError, "tie band -1.0 is not"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    tree: Path, change: dict[str, object], error: type[Exception], message: str
) -> None:
    request = EvaluationRequest(tree, floors=(70.0,), no_allow_list=True)
    with pytest.raises(error, match=message) as raised:
        evaluate(replace(request, **change), SKILL, pytest.fail)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_without_a_rule_there_is_no_evaluation(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"route\.py: No such file"):
        evaluate(EvaluationRequest(tree, floors=(70.0,)), tmp_path, pytest.fail)


def rounded_sums(values: Sequence[float | None]) -> float:
    return round(sum(value or 0.0 for value in values), 4)


def test_totals_are_the_sums_of_the_rows(tree: Path) -> None:
    for run in evaluated(EvaluationRequest(tree, floors=(55.0, 82.0), holdout=True, no_allow_list=True)).runs:
        totals = run.totals
        assert rounded_sums([row.actual_cost_usd for row in run.rows]) == round(totals.routed_total_cost_usd or 0, 4)
        assert rounded_sums([row.cost_delta_usd for row in run.rows]) == round(-(totals.cost_saving_usd or 0), 4)
        scored = [row.score_delta for row in run.rows if row.score_delta is not None]
        assert len(scored) == totals.tasks_scored_both_arms
        assert sum(scored) / len(scored) == pytest.approx(totals.mean_score_delta, abs=1e-6)
        low, high = totals.cost_saving_pct_estimate.low, totals.cost_saving_pct_estimate.high
        assert low is not None and high is not None
        assert low < (totals.cost_saving_pct or 0) < high <= 100


def test_the_bases_that_costs_stand_on_are_named_as_the_records_name_them(tree: Path) -> None:
    there = {row.cost_basis for row in read_rows(tree) if row.cost_usd is not None}
    assert there == {"hardware", "reported"}
    [said] = [told for told in evaluated(EvaluationRequest(tree, floors=(70.0,))).caveats if "bases" in told]
    assert said.startswith("Costs of different bases are added and compared (hardware and reported);")
