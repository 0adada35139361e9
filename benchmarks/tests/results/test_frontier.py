"""The frontier: against a calculation of its own over the published figures, and its laws."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from results.published_figures import published_rows
from results.simulated import published_board, row
from swetrials.records.leaderboard import FrontierPlace
from swetrials.results.candidates import by_candidate
from swetrials.results.frontier import frontier_places, non_dominated

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=9)


def flags(points: list[tuple[float, float]]) -> list[bool]:
    scores, costs = (np.array(axis, dtype=np.float64) for axis in zip(*points, strict=True))
    return [bool(flag) for flag in non_dominated(scores, costs)]


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] <= other[1]


def by_hand(rows: list[dict[str, str]]) -> set[str]:
    """Return the models on the frontier of the rows of the file, from the rows alone."""
    points = {}
    for model in {told["model"] for told in rows}:
        own = [told for told in rows if told["model"] == model and told["failed"] == "false"]
        points[model] = tuple(sum(float(told[name]) for told in own) / len(own) for name in ("task_score", "cost_usd"))
    return {
        model
        for model, (score, cost) in points.items()
        if not any(s >= score and c <= cost and (s, c) != (score, cost) for s, c in points.values())
    }


def test_the_published_models_are_on_the_frontier_where_a_calculation_by_hand_has_them() -> None:
    rows = published_rows()
    board = published_board()
    assert len(board.standings) == 18
    assert {one.model for one in board.standings if one.frontier_combined.on_frontier} == by_hand(rows)
    of_hosting = {one.model for one in board.standings if one.frontier_of_hosting.on_frontier}
    assert of_hosting == by_hand([told for told in rows if told["cost_basis"] == "metered"]) | by_hand(
        [told for told in rows if told["cost_basis"] == "hardware_derived"]
    )
    assert {one.hosting for one in board.standings} == {"metered", "hardware"}


@given(POINTS)
def test_who_is_on_the_frontier_is_dominated_by_nobody_and_who_is_not_is_by_somebody_on_it(
    points: list[tuple[float, float]],
) -> None:
    on = flags(points)
    best = [point for point, flag in zip(points, on, strict=True) if flag]
    for point, flag in zip(points, on, strict=True):
        assert flag != any(dominates(other, point) for other in best)


@given(POINTS)
def test_a_dominated_newcomer_changes_nothing(points: list[tuple[float, float]]) -> None:
    score, cost = points[-1]
    assert flags([*points, (score - 1, cost + 1)]) == [*flags(points), False]


def test_equal_points_are_both_on_it_and_unknown_ones_on_none() -> None:
    nan = float("nan")
    assert flags([(5, 1), (5, 1), (nan, 0), (9, nan)]) == [True, True, False, False]


def test_a_model_of_unknown_cost_has_no_place_and_takes_nobodys() -> None:
    tasks = [f"t{n}" for n in range(3)]
    rows = [row(60, model="known", task=task) for task in tasks]
    rows += [row(90, model="unknown", task=task, cost_usd=None if task == "t1" else 0.1) for task in tasks]
    places = frontier_places(by_candidate(rows))
    by_model = {key.split("/")[0]: place for key, place in places.items()}
    assert (by_model["known"].on_frontier, by_model["known"].probability) == (True, 1.0)
    assert (by_model["unknown"].on_frontier, by_model["unknown"].probability) == (None, None)


def test_the_probability_is_low_where_the_lead_is_narrow_and_high_where_it_is_wide() -> None:
    random = np.random.default_rng(4)
    rows = []
    for task in range(21):
        level = random.normal(60, 10)
        for model, lead, cost in (("cheap", 0, 1.0), ("narrow", 0.5, 2.0), ("wide", 20, 3.0)):
            score = level + lead + random.normal(0, 4)
            rows.append(row(score, model=model, task=f"t{task:02}", cost_usd=cost))
    places = {key.split("/")[0]: place for key, place in frontier_places(by_candidate(rows)).items()}
    chances = {model: place.probability for model, place in places.items()}
    assert (chances["cheap"], chances["wide"]) == (1.0, 1.0)
    assert chances["narrow"] is not None and 0.2 < chances["narrow"] < 0.95


def test_a_single_task_gives_a_place_and_no_probability() -> None:
    [place] = frontier_places(by_candidate([row(50)])).values()
    assert (place.on_frontier, place.probability) == (True, None)


def test_nobody_known_means_nobody_placed() -> None:
    [place] = frontier_places(by_candidate([row(None, cost_usd=None)])).values()
    assert place == FrontierPlace()
