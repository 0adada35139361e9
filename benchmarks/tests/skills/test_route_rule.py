"""The router's rule: properties that hold whatever was measured, and what it has to say."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.route_file import load_route

ROUTE = load_route()
NAMES = [f"model-{letter}" for letter in "abcdefg"]
Entry = dict[str, Any]

_scores = st.one_of(st.none(), st.sampled_from([50.0, 60.0, 69.9, 70.0, 71.5, 73.0, 90.0]), st.floats(0, 100))
_costs = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0, 50))
_floors = st.one_of(st.sampled_from([55, 65, 70, 75, 80]), st.floats(0, 100))
_tiers = st.sampled_from(ROUTE.TIERS)


@st.composite
def _figures(draw: st.DrawFn) -> Entry:
    trials = draw(st.integers(1, 5))
    completed = draw(st.integers(0, trials))
    means = {"mean_score": draw(_scores), "mean_cost_usd": draw(_costs)} if completed else {}
    return {"trials": trials, "completed": completed, **means}


@st.composite
def _entries(draw: st.DrawFn) -> list[Entry]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    tiers = st.dictionaries(_tiers, _figures())
    return [{"model": name, **draw(_figures()), "tiers": draw(tiers)} for name in names]


def _expected(entry: Mapping[str, Any], tier: str) -> tuple[float, float] | None:
    """Return score and cost as the rule's text says, written again from that text."""
    at_tier = entry["tiers"].get(tier, {})
    if at_tier.get("completed") == 0:
        return None
    score, cost = (
        entry.get(name) if at_tier.get(name) is None else at_tier[name] for name in ("mean_score", "mean_cost_usd")
    )
    return None if score is None or cost is None else (score, cost)


@given(_entries(), _tiers, _floors)
def test_the_pick_is_the_cheapest_that_clears_the_floor_and_nothing_dominates_it(
    entries: list[Entry], tier: str, floor: float
) -> None:
    answer = ROUTE.route(entries, tier=tier, floor=floor)
    expected = {entry["model"]: _expected(entry, tier) for entry in entries}
    clearing = {name: known for name, known in expected.items() if known and known[0] >= floor}
    if not clearing:
        assert answer["recommended"] is None
        assert answer["status"] == ("nothing_clears_floor" if any(expected.values()) else "no_candidates")
        return
    assert answer["status"] == "ok"
    score, cost = clearing[answer["recommended"]["model"]]
    assert (answer["recommended"]["score"], answer["recommended"]["cost_usd"]) == (score, cost)
    assert cost == min(other for _, other in clearing.values())
    for other_score, other_cost in clearing.values():
        assert not (other_score >= score and other_cost <= cost and (other_score > score or other_cost < cost))


@given(_entries(), _entries(), _tiers, _floors)
def test_a_forbidden_model_changes_nothing_of_the_pick(
    entries: list[Entry], forbidden: list[Entry], tier: str, floor: float
) -> None:
    allowed = [entry["model"] for entry in entries]
    others = [{**entry, "model": f"forbidden-{entry['model']}"} for entry in forbidden]
    alone = ROUTE.route(entries, tier=tier, floor=floor, allowed=allowed)
    among = ROUTE.route([*others, *entries], tier=tier, floor=floor, allowed=allowed)
    for said in ("status", "recommended", "tied_with", "cleared_floor", "below_floor", "margins", "notes"):
        assert among[said] == alone[said]
    reasons = {one["model"]: one["reason"] for one in among["excluded"]}
    assert all(reasons[entry["model"]] == "not on the allow list" for entry in others)


@given(_entries(), _tiers, _floors, st.randoms())
def test_the_order_of_the_models_does_not_matter(entries: list[Entry], tier: str, floor: float, random: Any) -> None:  # noqa: ANN401
    shuffled = random.sample(entries, len(entries))
    assert ROUTE.route(shuffled, tier=tier, floor=floor) == ROUTE.route(entries, tier=tier, floor=floor)


@given(_entries(), _tiers, _floors, _floors)
def test_a_higher_floor_never_gives_a_cheaper_pick(entries: list[Entry], tier: str, one: float, other: float) -> None:
    low, high = (ROUTE.route(entries, tier=tier, floor=floor)["recommended"] for floor in sorted((one, other)))
    assert high is None or low["cost_usd"] <= high["cost_usd"]


@given(_entries(), _tiers, _floors, st.lists(st.sampled_from([*NAMES, "nobody"])))
def test_every_model_and_every_name_is_accounted_for_once(
    entries: list[Entry], tier: str, floor: float, available: list[str]
) -> None:
    answer = ROUTE.route(entries, tier=tier, floor=floor, available=available)
    told = [one["model"] for list_ in ("cleared_floor", "below_floor", "excluded") for one in answer[list_]]
    assert sorted(told) == sorted({entry["model"] for entry in entries} | set(available))
    candidates = [one["model"] for list_ in ("cleared_floor", "below_floor") for one in answer[list_]]
    assert list(answer["margins"]) == list(answer["completion"]) == candidates
    assert set(candidates) <= set(available)


@given(_entries(), _tiers, _floors, st.floats(0, 30))
def test_tied_are_those_within_the_band_that_clear_the_floor(
    entries: list[Entry], tier: str, floor: float, band: float
) -> None:
    answer = ROUTE.route(entries, tier=tier, floor=floor, tie_band=band)
    pick = answer["recommended"]
    others = [one for one in answer["cleared_floor"] if one != pick]
    assert answer["tied_with"] == [one for one in others if abs(one["score"] - pick["score"]) <= band]


def entry(model: str, score: float | None, cost: float | None, **more: object) -> Entry:
    return {
        "model": model,
        "mean_score": score,
        "mean_cost_usd": cost,
        "trials": 4,
        "completed": 4,
        "tiers": {},
        **more,
    }


def at(score: float | None, cost: float | None, completed: int = 4, **more: object) -> dict[str, Entry]:
    return {"high": {"mean_score": score, "mean_cost_usd": cost, "trials": 4, "completed": completed, **more}}


def test_the_tier_decides_over_the_overall_means() -> None:
    entries = [entry("a", 90, 1, tiers=at(60, 9)), entry("b", 50, 9, tiers=at(80, 5))]
    answer = ROUTE.route(entries, tier="high", floor=70)
    assert answer["recommended"]["model"] == "b"
    assert answer["margins"] == {"b": 10, "a": -10}
    assert answer["reason"] == "b (80.0 points, $5.00 a task) is the only model that reaches 70 points at high"
    assert answer["notes"] == []


def test_equal_cost_goes_to_the_higher_score_and_is_said() -> None:
    answer = ROUTE.route(
        [entry("a", 80, 2, tiers=at(80, 2)), entry("b", 90, 2, tiers=at(90, 2))], tier="high", floor=70
    )
    assert answer["recommended"]["model"] == "b"
    assert answer["notes"] == ["exact tie of b and a: equal cost, the higher score decides"]
    assert answer["tied_with"] == []


def test_equal_cost_and_score_goes_by_name_and_is_said() -> None:
    answer = ROUTE.route(
        [entry("b", 80, 2, tiers=at(80, 2)), entry("a", 80, 2, tiers=at(80, 2))], tier="high", floor=70
    )
    assert answer["recommended"]["model"] == "a"
    assert answer["notes"] == ["exact tie of a and b: score and cost are equal, the name decides"]
    assert [(one["model"], one["cost_usd"]) for one in answer["tied_with"]] == [("b", 2)]


def test_a_tier_that_was_not_measured_is_said() -> None:
    answer = ROUTE.route([entry("a", 80, 2, tiers=at(80, None))], tier="low", floor=70)
    assert answer["notes"] == [
        "a has no score at low: its mean over all tiers stands in",
        "a has no cost at low: its mean over all tiers stands in",
    ]
    assert (answer["recommended"]["score_from"], answer["completion"]["a"]["from"]) == ("overall", "overall")


def test_failures_and_lower_bounds_are_said() -> None:
    low = at(80, 2, completed=3, cost_is_lower_bound=True)
    answer = ROUTE.route([entry("a", 80, 2, tiers=low)], tier="high", floor=70)
    assert answer["notes"] == [
        "a failed 1 of 4 trials at high; its means leave these out",
        "a costs at least what is said: part of its cost is a lower bound",
    ]
    assert answer["completion"] == {"a": {"completed": 3, "trials": 4, "share": 0.75, "from": "tier"}}


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (entry("a", 90, 1, tiers=at(None, None, completed=0)), "none of its 4 trials at high was completed"),
        (entry("a", None, 1), "its score is unknown"),
        (
            entry("a", 90, None),
            "its cost is unknown, so it cannot be the cheapest; with 90.0 points it clears the floor",
        ),
        (
            entry("a", 60, None),
            "its cost is unknown, so it cannot be the cheapest; with 60.0 points it misses the floor",
        ),
    ],
)
def test_what_cannot_be_weighed_is_no_candidate_and_the_reason_is_given(model: Entry, reason: str) -> None:
    answer = ROUTE.route([model], tier="high", floor=70)
    assert (answer["status"], answer["recommended"]) == ("no_candidates", None)
    assert answer["excluded"] == [{"model": "a", "reason": reason}]


def test_allowed_and_available_both_count_and_what_was_not_measured_is_said() -> None:
    entries = [entry("a", 90, 1), entry("b", 90, 2), entry("c", 90, 3)]
    answer = ROUTE.route(entries, tier="low", floor=70, allowed=["b", "C", "new-1"], available=["a", "c", "New.1"])
    assert answer["recommended"]["model"] == "c"
    assert {one["model"]: one["reason"] for one in answer["excluded"]} == {
        "New.1": "available, but not measured: there are no figures for it",
        "a": "not on the allow list",
        "b": "not among the available models",
        "new-1": "allowed, but not measured: there are no figures for it",
    }


def test_a_free_model_is_the_cheapest_and_not_an_unknown_one() -> None:
    assert ROUTE.route([entry("a", 80, 0.0), entry("b", 90, 0.1)], tier="low", floor=70)["recommended"]["model"] == "a"


def test_what_is_nearest_is_said_when_nothing_clears_the_floor() -> None:
    answer = ROUTE.route([entry("a", 60, 1), entry("b", 64, 2)], tier="low", floor=70)
    assert answer["status"] == "nothing_clears_floor"
    assert answer["reason"] == "none of 2 models reaches 70 points at low; the nearest is b (64.0 points, $2.00 a task)"
    assert [one["model"] for one in answer["below_floor"]] == ["b", "a"]


@pytest.mark.parametrize(
    "wrong", [{"tier": "hard"}, {"floor": -1}, {"floor": 101}, {"floor": float("nan")}, {"tie_band": -1}]
)
def test_a_request_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ROUTE.RouteError):
        ROUTE.route([], **{"tier": "low", "floor": 70, **wrong})


def test_a_resolve_rate_is_compared_with_the_floor_where_that_is_ranked_and_failures_are_in_it() -> None:
    entries: list[Entry] = [
        {"model": "good", "trials": 4, "completed": 0, "resolve_rate": 75.0, "mean_cost_usd": 2.0,
         "tiers": {"low": {"trials": 2, "completed": 0, "resolve_rate": 80.0, "mean_cost_usd": 1.5}}},
        {"model": "cheap", "trials": 4, "completed": 4, "resolve_rate": 50.0, "mean_cost_usd": 0.5, "tiers": {}},
        {"model": "scored", "trials": 4, "completed": 4, "mean_score": 90.0, "mean_cost_usd": 0.1, "tiers": {}},
    ]  # fmt: skip
    answer = ROUTE.route(entries, tier="low", floor=70, rank_by="resolved")
    assert (answer["rank_by"], answer["recommended"]["model"]) == ("resolved", "good")
    assert answer["reason"] == (
        "good (80.0 % resolved, $1.50 a task) is the only model that reaches a resolve rate of 70 % at low"
    )
    assert answer["excluded"] == [{"model": "scored", "reason": "its resolve rate is unknown"}]
    assert answer["notes"] == [
        "cheap has no resolve rate at low: its mean over all tiers stands in",
        "cheap has no cost at low: its mean over all tiers stands in",
    ]
    with pytest.raises(ROUTE.RouteError, match="rank_by 'luck' is none of rubric, resolved"):
        ROUTE.route(entries, tier="low", floor=70, rank_by="luck")
