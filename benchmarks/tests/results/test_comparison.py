"""Two runs side by side: what differs, over how many trials, and that nothing is ranked."""

from typing import Any

import pytest

from results.test_summary import costing, trial, using
from swetrials.records.comparison import Comparison, Mean, Measure
from swetrials.records.outcome import OutcomeKind
from swetrials.results.comparison import compare
from swetrials.results.report import comparison_table
from swetrials.results.summary import ScoredTrial, SummaryError

K = OutcomeKind
FOLDERS = ("runs/a", "runs/b")


def side(agent: str, *trials: ScoredTrial) -> list[ScoredTrial]:
    """Return trials as those of an agent."""
    return [ScoredTrial(t.folder, t.metrics.model_copy(update={"agent": agent}), t.evaluation) for t in trials]


def measures(comparison: Comparison) -> dict[str, Measure]:
    return {measure.name: measure for measure in comparison.measures}


def reworded(trial: ScoredTrial, sha256: str) -> ScoredTrial:
    identity = trial.metrics.trial.model_copy(update={"task_sha256": sha256})
    return ScoredTrial(trial.folder, trial.metrics.model_copy(update={"trial": identity}), trial.evaluation)


def test_means_stand_on_the_valid_trials_that_have_the_figure() -> None:
    first = side(
        "claude-code",
        trial(20, task="x", **costing(2.0), **using(fresh_input=100, output=30)),
        trial(10, task="y", **costing(None), **using(fresh_input=300, output=10)),
        trial(None, K.RATE_LIMITED, task="z", **using(fresh_input=9_000, output=9_000)),
    )
    second = side("codex", *(trial(15, task=name, **costing(1.0), **using(fresh_input=50)) for name in "xyz"))
    comparison = compare(first, second, FOLDERS)
    found = measures(comparison)
    assert found["score"].first == Mean(value=60.0, trials=2)
    assert found["score"].second == Mean(value=60.0, trials=3)
    assert found["score"].difference == 0
    assert found["cost"].first == Mean()  # of two completed trials one has no price: the rest is other work
    assert found["cost"].second == Mean(value=1.0, trials=3)
    assert found["cost"].difference is None
    assert (found["output"].first, found["output"].second) == (Mean(value=20.0, trials=2), Mean())
    assert found["output"].difference is None
    assert (comparison.first.trials, comparison.first.valid_trials) == (3, 2)
    assert comparison.first.outcomes == {"completed": 2, "rate_limited": 1}
    assert "agent" in comparison.differs


def test_tasks_of_one_run_alone_are_in_no_figure() -> None:
    first = side("a", trial(20, task="x"), trial(0, task="only-a"))
    second = side("b", trial(20, task="x"), trial(0, task="only-b"))
    comparison = compare(first, second, FOLDERS)
    assert (comparison.tasks, comparison.only_first, comparison.only_second) == (("x",), ("only-a",), ("only-b",))
    assert measures(comparison)["score"].first == Mean(value=80.0, trials=1)
    assert "only in A, and in no figure: only-a" in comparison_table.heads(comparison)


def test_a_lower_bound_has_no_difference() -> None:
    first = side("a", trial(20, task="x", **using("lower_bound", fresh_input=100)))
    second = side("b", trial(20, task="x", **using(fresh_input=70)))
    comparison = compare(first, second, FOLDERS)
    assert measures(comparison)["tokens"].difference is None
    rows = {row[0]: row[1:] for row in comparison_table.rows(comparison)}
    assert rows["tokens"] == (">= 100", "1", "70", "1", "-")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ([trial(20, task="other")], "runs/a and runs/b have no task in common"),
        ([reworded(trial(20, task="x"), "b" * 64)], "task x was worded differently in runs/a and runs/b"),
    ],
)
def test_runs_over_other_tasks_are_not_compared(second: list[ScoredTrial], said: str) -> None:
    with pytest.raises(SummaryError, match=said):
        compare(side("a", trial(20, task="x")), side("b", *second), FOLDERS)


@pytest.mark.parametrize(
    ("unit", "first", "second", "cells"),
    [
        ("USD", 1.5, 0.25, ("$1.5000", "$0.2500", "-$1.2500")),
        ("tokens", 1200.4, 1300, ("1,200", "1,300", "+100")),
        ("share", 0.5, 1.0, ("50%", "100%", "+50%")),
        ("seconds", 10, 130, ("10.0 s", "2 min 10 s", "+2 min 00 s")),
        ("points", 60, 60, ("60.0", "60.0", "+0.0")),
    ],
)
def test_figures_are_shown_in_their_unit(unit: Any, first: float, second: float, cells: tuple[str, ...]) -> None:  # noqa: ANN401
    measure = Measure(name="m", unit=unit, first=Mean(value=first, trials=1), second=Mean(value=second, trials=2))
    base = compare(side("a", trial(20, task="x")), side("b", trial(20, task="x")), FOLDERS)
    [row] = comparison_table.rows(base.model_copy(update={"measures": (measure,)}))
    assert (row[1], row[3], row[5]) == cells
    assert (row[2], row[4]) == ("1", "2")
