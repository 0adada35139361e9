"""The leaderboard: figures by hand from the published rows, both denominators, and what may not stand together."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.published_figures import published_rows
from results.simulated import UNIT_COLUMNS, failed, published, published_board, row
from swetrials.records.leaderboard import Leaderboard, ModelStanding
from swetrials.records.metrics import HostingRecord
from swetrials.results.leaderboard import leaderboard
from swetrials.results.mixtures import MixtureError
from swetrials.results.trial_row import TrialRow


def only(*rows: TrialRow) -> ModelStanding:
    [standing] = leaderboard(rows).standings
    return standing


def model(board: Leaderboard, name: str) -> ModelStanding:
    [standing] = [one for one in board.standings if one.model == name]
    return standing


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    return published_board()


def mean(rows: list[dict[str, str]], column: str) -> float:
    return sum(float(told[column]) for told in rows) / len(rows)


@pytest.mark.parametrize("name", ["claude-opus-5", "kimi-k2.7-code", "devstral-2-123b"])
def test_the_figures_of_a_published_model_are_those_of_its_rows(board: Leaderboard, name: str) -> None:
    own = [told for told in published_rows() if told["model"] == name]
    done = [told for told in own if told["failed"] == "false"]
    found = model(board, name)
    assert found.score.value == pytest.approx(mean(done, "task_score"))
    assert found.cost_usd.value == pytest.approx(mean(done, "cost_usd"))
    assert found.latency_seconds.value == pytest.approx(mean(done, "latency_seconds"))
    assert found.completion.value == pytest.approx(len(done) / 21)
    assert found.score_failures_as_zero.value == pytest.approx(mean(own, "task_score"))
    assert found.failures == ({"incomplete_artifacts": 21 - len(done)} if len(done) < 21 else {})
    assert {unit: found.units[unit].value for unit in UNIT_COLUMNS} == pytest.approx(
        {unit: mean(done, unit) for unit in UNIT_COLUMNS}
    )
    assert list(found.tiers) == ["trivial", "low", "medium", "high"]
    for tier, standing in found.tiers.items():
        of_tier = [told for told in done if told["complexity"] == tier]
        assert standing.score.value == pytest.approx(mean(of_tier, "task_score"))
        assert standing.cost_usd.value == pytest.approx(mean(of_tier, "cost_usd"))
        assert standing.completion.value == pytest.approx(
            len(of_tier) / sum(told["complexity"] == tier for told in own)
        )


def test_the_list_goes_from_the_best_score_to_the_worst_and_pairs_follow_it(board: Leaderboard) -> None:
    scores = [one.score.value for one in board.standings if one.score.value is not None]
    assert scores == sorted(scores, reverse=True)
    assert len(board.pairs) == 18 * 17 // 2
    order = [one.key for one in board.standings]
    assert all(order.index(pair.a) < order.index(pair.b) for pair in board.pairs)


def test_a_verdict_needs_a_p_that_stands_among_all_pairs(board: Leaderboard) -> None:
    for pair in board.pairs:
        assert pair.p is not None and pair.p_holm is not None
        assert pair.p <= pair.p_holm
        assert (pair.verdict == "tied") == (pair.p_holm > 0.05)
    first, last = board.standings[0].key, board.standings[-1].key
    assert board.between(first, last).verdict == "better"
    assert board.between(last, first).verdict == "worse"
    assert board.between(last, first).difference.high == -(board.between(first, last).difference.low or 0)


def test_the_tie_band_comes_from_the_noise_unless_it_is_given(board: Leaderboard) -> None:
    widths = [
        board.between(a.key, b.key).difference.half_width
        for a, b in zip(board.standings, board.standings[1:], strict=False)
    ]
    known = sorted(width for width in widths if width is not None)
    assert board.tie_band.points == known[len(known) // 2]
    assert not board.tie_band.fixed
    fixed = leaderboard(published(), tie_band=12.0)
    assert (fixed.tie_band.points, fixed.tie_band.fixed) == (12.0, True)
    for pair in fixed.pairs:
        assert pair.verdict == "tied" or abs(pair.difference.value or 0) > 12
    assert leaderboard([row()]).tie_band.points is None


def test_three_denominators() -> None:
    found = only(
        row(80, task="a"), row(60, task="b"), failed(task="c"), failed(task="d", valid=False),
        row(None, task="unjudged"),
    )  # fmt: skip
    assert (found.trials, found.valid, found.completed, found.scored) == (5, 4, 3, 2)
    assert found.score.value == 70
    assert found.score_failures_as_zero.value == 140 / 3
    assert found.score_all_trials.value == 140 / 5
    assert found.completion.value == 3 / 4
    assert (found.failures, found.other_failures) == ({"turn_limit": 1}, {"rate_limited": 1})


def test_where_nothing_was_judged_zeros_are_no_mean() -> None:
    found = only(row(None, task="a"), failed(task="b"))
    assert (found.score.value, found.score_failures_as_zero.value, found.score_all_trials.value) == (None, None, None)
    assert only(failed(task="a"), failed(task="b")).score_failures_as_zero.value == 0


def test_one_unknown_cost_makes_the_mean_unknown() -> None:
    found = only(row(task="a", cost_usd=3.0), row(task="b", cost_usd=None))
    assert (found.cost_usd.value, found.trials_without_cost) == (None, 1)
    assert found.frontier_combined.on_frontier is None
    assert only(row(task="a", cost_usd=3.0), failed(task="b", cost_usd=None)).cost_usd.value == 3.0


def test_tests_that_passed_are_a_share_of_the_trials_that_have_tests() -> None:
    found = only(row(task="a", tests_passed=True), row(task="b", tests_passed=False), row(task="c"), failed(task="d"))
    assert found.tests_passed.value == 1 / 2
    assert only(row()).tests_passed.value is None


def test_repeats_stay_inside_their_task() -> None:
    rows = [row(40 + 10 * task + repeat, task=f"t{task}", repeat=repeat) for task in range(3) for repeat in (1, 2)]
    found = only(*rows, failed(task="t0", repeat=3))
    assert (found.tasks, found.trials, found.repeats) == (3, 7, 3)
    assert (found.score.tasks, found.score.trials) == (3, 6)
    assert found.repeat_sd_points == pytest.approx(0.5**0.5)
    assert found.completion_reliability is not None
    assert found.completion_reliability.repeats == 2
    assert found.completion_reliability.flip_rate.value == pytest.approx((2 / 3) / 3)
    assert found.tests_reliability is None


def test_a_model_alone_is_called_by_its_name_and_others_by_what_tells_them_apart() -> None:
    board = leaderboard(
        [row(model="alone"), row(model="m", agent="codex", provider="vllm"), row(model="m", agent="omp", skill="swe2")]
    )
    assert {one.label for one in board.standings} == {"alone", "m (codex, swe3, vllm)", "m (omp, swe2, bedrock)"}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"rehearsal": True}, r"a real model \(as in m/.*a rehearsal \(as in r/|a rehearsal .*a real model"),
        ({"scope": "another"}, "of several scopes: another .*, scope "),
        ({"task_sha256": "reworded"}, "task t was worded differently in m/.* and r/"),
    ],
)
def test_what_may_not_stand_beside_each_other_is_named(second: dict[str, Any], said: str) -> None:
    with pytest.raises(MixtureError, match=said):
        leaderboard([row(task_sha256="first"), row(model="r", **{"task_sha256": "first", **second})])


def test_figures_of_one_candidate_from_two_places_are_not_averaged() -> None:
    with pytest.raises(MixtureError, match=r"several sources: measured here .*, printed"):
        leaderboard([row(task="a"), row(task="b", source="printed")])
    with pytest.raises(MixtureError, match="no trial"):
        leaderboard([])


def test_rehearsals_among_themselves_are_called_what_they_are() -> None:
    board = leaderboard([row(rehearsal=True), row(model="other", rehearsal=True)])
    assert board.rehearsal
    assert board.caveats[0].startswith("All of it was made with the rehearsal model")


def test_caveats_name_what_limits_the_figures() -> None:
    board = leaderboard(
        [
            row(model="all", task="a", repo_grounded=False), row(model="all", task="b"),
            row(model="some", task="a", cost_usd=None, cost_basis="none"), failed(model="some", task="a", repeat=2),
            row(None, model="dear", task="a", cost_basis="hardware", cost_is_lower_bound=True),
            failed(model="dear", task="b", valid=False, source=None),
        ]
    )  # fmt: skip
    said = "\n".join(board.caveats)
    for part in (
        "2 tasks are few", "Not run on all 2 tasks, so that their means are over other work: some",
        "Completed: some (1 of 2)", "in no mean: dear (1)", "Costs stand on different bases", "on no frontier: some",
        "may be too good: dear", "not in the score mean: dear (1)", "In 1 of 3 scored trials the judge read no file",
    ):  # fmt: skip
        assert part in said
    assert "run once" not in said


def test_a_single_task_is_not_said_to_be_inside_intervals_that_it_has_not() -> None:
    assert leaderboard([row(model="a"), row(model="b")]).caveats == (
        "A single task: means have no intervals, and another task may come out otherwise.",
    )


def test_imported_figures_say_where_they_are_from() -> None:
    board = leaderboard([row(source="a public page", dataset="data")])
    assert board.standings[0].source == "a public page"
    assert board.dataset == "data"
    assert "Figures were imported from: a public page." in board.caveats


ROWS = st.lists(
    st.builds(
        lambda name, task, repeat, score, kind: (
            row(score, model=name, task=task, repeat=repeat)
            if kind == "completed"
            else failed(model=name, task=task, repeat=repeat, valid=kind == "failed")
        ),
        st.sampled_from("abc"),
        st.sampled_from("tuvw"),
        st.integers(1, 3),
        st.none() | st.integers(0, 100).map(float),
        st.sampled_from(["completed", "completed", "failed", "invalid"]),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda one: one.folder,
)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_trials_changes_nothing(rows: list[TrialRow], random: Random) -> None:
    assert leaderboard(random.sample(rows, len(rows))) == leaderboard(rows)


@settings(max_examples=30, deadline=None)
@given(ROWS)
def test_whatever_the_trials_the_counts_add_up_and_the_record_can_be_written(rows: list[TrialRow]) -> None:
    board = leaderboard(rows)
    assert Leaderboard.model_validate_json(board.model_dump_json()) == board
    assert sum(one.trials for one in board.standings) == len(rows)
    for one in board.standings:
        assert one.completed + sum(one.failures.values()) == one.valid
        assert one.valid + sum(one.other_failures.values()) == one.trials
        assert sum(tier.trials for tier in one.tiers.values()) == one.trials
        assert one.scored <= one.completed
        assert one.score.trials == one.scored
        if one.score.value is not None and one.score_failures_as_zero.value is not None:
            assert one.score_failures_as_zero.value <= 100


def test_two_hostings_of_one_model_are_two_lines_told_apart_by_what_differs() -> None:
    hostings = [
        HostingRecord(instance_type="p5.48xlarge", tensor_parallel_size=8, precision="fp8", engine="vllm 0.9"),
        HostingRecord(instance_type="p5.48xlarge", tensor_parallel_size=4, precision="fp8", engine="vllm 0.9"),
        None,
    ]
    board = leaderboard([row(60 + n, hosted=hosted) for n, hosted in enumerate(hostings)])
    assert [one.label for one in board.standings] == [
        "m",
        "m (p5.48xlarge, TP 4, fp8, vllm 0.9)",
        "m (p5.48xlarge, TP 8, fp8, vllm 0.9)",
    ]
    alike = leaderboard([row(60 + n, hosted=hosted) for n, hosted in enumerate(hostings[:2])])
    assert {one.label for one in alike.standings} == {"m (TP 4)", "m (TP 8)"}
    assert len({one.key for one in board.standings}) == 3


def test_tokens_of_a_cut_trial_make_the_means_at_least() -> None:
    whole: dict[str, Any] = {"output_tokens": 100, "tokens_completeness": "complete"}
    assert not only(row(task="a", **whole)).tokens_are_lower_bound
    found = only(row(task="a", **whole), row(task="b", output_tokens=5, tokens_completeness="lower_bound"))
    assert found.tokens_are_lower_bound
    cut = failed(task="b", tokens_completeness="lower_bound")
    assert not only(row(task="a", **whole), cut).tokens_are_lower_bound


def test_failures_as_0_have_an_interval_that_knows_how_little_the_tasks_show_of_them() -> None:
    scores = [row(70 + task % 5, task=f"t{task:02}") for task in range(21)]
    never, completed = only(*scores).score_failures_as_zero, only(*scores).score
    assert never.half_width is not None and completed.half_width is not None
    assert never.half_width > 5 * completed.half_width
    assert never.low is not None and never.low == pytest.approx(72 - 72 * (1 - 0.8454), abs=0.6)  # Wilson: 21 of 21
    nothing = only(*(failed(task=f"t{task}") for task in range(5))).score_failures_as_zero
    assert (nothing.value, nothing.low) == (0, 0)
    assert nothing.high == pytest.approx(43.4, abs=0.1)  # Wilson: 0 of 5


def test_differences_with_failures_as_0_are_not_tested_and_completions_are() -> None:
    ones = [row(60, model="a", task=f"t{task:02}") for task in range(10)]
    others = [*(row(50, model="b", task=f"t{task:02}") for task in range(2))]
    others += [failed(model="b", task=f"t{task:02}") for task in range(2, 10)]
    [pair] = leaderboard([*ones, *others]).pairs
    assert pair.difference_failures_as_zero.value == pytest.approx(60 - 10)
    assert (pair.difference_failures_as_zero.low, pair.difference_failures_as_zero.high) == (None, None)
    assert pair.completion_difference.value == pytest.approx(0.8)
    assert pair.completion_p == pytest.approx(2 / 2**8)


def test_a_cost_of_which_one_task_is_over_a_quarter_says_so() -> None:
    even = only(*(row(task=f"t{task}") for task in range(10)))
    assert even.cost_usd.largest_share is None
    heavy = [row(task=f"t{task}", cost_usd=9.0 if task == 0 else 1.0) for task in range(10)]
    assert only(*heavy).cost_usd.largest_share == pytest.approx(0.5)
    assert any("One task is over a quarter of the cost" in one for one in leaderboard(heavy).caveats)
