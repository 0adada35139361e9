"""What a router knows of models, worked out from trials."""

import random
from dataclasses import replace

import pytest

from results.published_figures import published_rows
from swetrials.records.slug import model_slug
from swetrials.results.leaderboard import leaderboard
from swetrials.results.mixtures import MixtureError
from swetrials.results.trial_row import TrialRow
from swetrials.router.models import RouterModelsError, models_of, router_models


def trial(task: str = "t1", score: float | None = 80.0, cost: float | None = 1.0, **changes: object) -> TrialRow:
    row = TrialRow(
        folder=f"m/a/s/c/{task}",
        model="m",
        agent="a",
        skill="s",
        provider="bedrock",
        scope="c",
        task=task,
        repeat=1,
        tier="low",
        outcome="completed",
        completed=True,
        valid=True,
        score=score,
        cost_usd=cost,
        cost_basis="metered",
    )
    return replace(row, **changes)  # type: ignore[arg-type]


def failed(task: str, **changes: object) -> TrialRow:
    return trial(task, None, 5.0, **{"completed": False, "outcome": "turn_limit", **changes})


def published() -> list[TrialRow]:
    """Make trials of the published figures without the importer."""
    return [
        trial(
            row["task"],
            None if row["failed"] == "true" else float(row["task_score"]),
            float(row["cost_usd"]),
            model=model_slug(row["model"]),
            tier=row["complexity"],
            completed=row["failed"] == "false",
            cost_basis="metered" if row["cost_basis"] == "metered" else "hardware",
        )
        for row in published_rows()
    ]


def test_repeats_are_averaged_within_their_task_and_tasks_weigh_the_same() -> None:
    rows = [trial("t1", 60, 1), trial("t1", 80, 3, repeat=2), trial("t2", 100, 10, tier="high")]
    [model] = models_of(rows)
    assert (model.mean_score, model.mean_cost_usd, model.tasks, model.trials) == (85, 6, 2, 3)
    assert model.tiers["low"].mean_score == 70
    assert (model.tiers["high"].mean_score, model.tiers["high"].tasks) == (100, 1)
    assert list(model.tiers) == ["low", "high"]


def test_a_failed_trial_is_outside_the_means_and_inside_the_completion() -> None:
    [model] = models_of([trial("t1", 80, 1), trial("t2", 60, 3), failed("t3", tier="high")])
    assert (model.mean_score, model.mean_cost_usd, model.completion) == (70, 2, 0.666667)
    assert model.mean_score_failures_as_zero == 46.666667
    assert (model.tiers["high"].completed, model.tiers["high"].mean_score) == (0, None)


def test_a_trial_that_failed_for_another_reason_is_in_no_figure_and_counted() -> None:
    built = router_models([trial("t1"), failed("t2", valid=False, outcome="provider_error")])
    assert (built.provenance.trials, built.provenance.trials_left_out) == (1, 1)
    assert built.models[0].completion == 1


def test_an_unknown_cost_makes_the_mean_unknown_and_a_lower_bound_is_marked() -> None:
    rows = [trial("t1", cost=None), trial("t2"), trial("t3", tier="high", cost_is_lower_bound=True)]
    [model] = models_of(rows)
    assert (model.mean_cost_usd, model.tiers["low"].mean_cost_usd, model.tiers["high"].mean_cost_usd) == (None, None, 1)
    assert (model.tiers["low"].cost_is_lower_bound, model.tiers["high"].cost_is_lower_bound) == (False, True)


def test_without_a_judgment_there_is_no_score_and_no_zero() -> None:
    [model] = models_of([trial("t1", None), failed("t2")])
    assert (model.mean_score, model.mean_score_failures_as_zero, model.completed) == (None, None, 1)


def test_a_mean_on_the_floor_is_not_below_it_by_rounding() -> None:
    [model] = models_of([trial("t1", 69.9), trial("t2", 70.1), trial("t3", 70.0)])
    assert model.mean_score == 70.0


def test_costs_of_several_bases_are_said_to_be_so() -> None:
    [model] = models_of([trial("t1"), trial("t2", cost_basis="hardware")])
    assert (model.cost_basis, model.hosting) == ("mixed", "other")


def test_the_order_of_the_trials_changes_nothing() -> None:
    rows = published()
    built = router_models(rows)
    assert router_models(random.Random(7).sample(rows, len(rows))) == built


def test_the_figures_are_those_of_the_leaderboard() -> None:
    rows = published()
    standings = {standing.model: standing for standing in leaderboard(rows).standings}
    built = router_models(rows).models
    assert len(built) == len(standings) == 18
    for model in built:
        standing = standings[model.model]
        assert model.mean_score == pytest.approx(standing.score.value, abs=1e-6)
        assert model.mean_score_failures_as_zero == pytest.approx(standing.score_failures_as_zero.value, abs=1e-6)
        assert model.mean_cost_usd == pytest.approx(standing.cost_usd.value, abs=1e-6)
        assert model.completion == pytest.approx(standing.completion.value, abs=1e-6)
        assert model.frontier.combined == standing.frontier_combined.on_frontier
        assert model.frontier.of_hosting == standing.frontier_of_hosting.on_frontier
        for tier, means in model.tiers.items():
            assert means.mean_score == pytest.approx(standing.tiers[tier].score.value, abs=1e-6)
            assert means.mean_cost_usd == pytest.approx(standing.tiers[tier].cost_usd.value, abs=1e-6)


def test_the_digest_follows_the_figures_and_nothing_else() -> None:
    def digest(*rows: TrialRow) -> str:
        return router_models(rows).provenance.trials_sha256

    assert digest(trial("t1"), trial("t2")) == digest(trial("t2"), trial("t1", num_turns=9))
    assert digest(trial("t1")) != digest(trial("t1", 80.1))


@pytest.mark.parametrize(("flag", "values"), [("scope", ("c", "d")), ("skill", ("s", "t")), ("agent", ("a", "b"))])
def test_a_mix_is_refused_with_the_flag_that_chooses(flag: str, values: tuple[str, str]) -> None:
    one, other = (replace(trial(), **{flag: value}) for value in values)  # type: ignore[arg-type]
    with pytest.raises(
        RouterModelsError, match=f"the tree mixes {flag}s: {', '.join(values)}; choose one with --{flag}"
    ):
        router_models([one, other])
    choice = {flag: values[1]}
    assert getattr(router_models([one, other], **choice).provenance, flag) == values[1]
    nobody = {flag: "nobody"}
    with pytest.raises(RouterModelsError, match=f"--{flag} nobody: no trial has it; there are: {', '.join(values)}"):
        router_models([one, other], **nobody)


def test_rehearsals_stand_alone_and_are_labelled() -> None:
    assert router_models([trial(rehearsal=True)]).rehearsal
    with pytest.raises(MixtureError, match="rehearsals are not ranked beside real models"):
        router_models([trial(rehearsal=True), trial("t2", model="real")])


def test_a_model_on_two_providers_is_refused() -> None:
    with pytest.raises(RouterModelsError, match="m has trials of m/a/s/bedrock and of m/a/s/vllm"):
        router_models([trial(), trial("t2", provider="vllm")])


def test_nothing_to_learn_from_is_said() -> None:
    with pytest.raises(RouterModelsError, match="1 trial, and none says anything about a model"):
        router_models([failed("t1", valid=False)])


def test_where_what_is_resolved_is_ranked_a_rate_stands_in_the_place_of_the_score() -> None:
    def checked(row: TrialRow, *, resolved: bool) -> TrialRow:
        return replace(row, resolved=resolved, evidence="tests", rank_by="resolved")

    rows = [
        checked(failed("t1", cost_usd=1.0), resolved=True),
        checked(failed("t2", cost_usd=3.0), resolved=False),
        checked(trial("t3", None, tier="high"), resolved=True),
    ]
    built = router_models(rows)
    assert built.rank_by == "resolved"
    [model] = built.models
    assert model.resolve_rate == pytest.approx(200 / 3)
    assert model.mean_score is model.mean_score_failures_as_zero is None
    assert model.mean_cost_usd == pytest.approx(5 / 3), "failures are paid as well"
    assert (model.tiers["low"].resolve_rate, model.tiers["low"].completed) == (50, 0)
    assert "rank_by" not in router_models([trial()]).model_dump(mode="json"), "older files stay as they were"
