"""Trials as rows, made up: single ones, published ones, and whole trees of which the truth is known."""

from functools import cache
from typing import Any

import numpy as np

from results.published_figures import published_rows
from swetrials.records.leaderboard import Leaderboard
from swetrials.results.leaderboard import leaderboard
from swetrials.results.trial_row import TrialRow

UNIT_COLUMNS = ("github_issue", "lld", "review", "testing", "implementation")

SCORE = 70.0
"""Mean score of the first simulated model over all tasks there could be."""
LEAD = 4.0
"""Points that it scores above the second, likewise."""
COST = 3.0 * float(np.exp(0.5**2 / 2))
COST_RATIO = 2.0
"""Mean cost of the first over that of the second, likewise."""


def row(score: float | None = 50.0, *, model: str = "m", task: str = "t", repeat: int = 1, **fields: Any) -> TrialRow:  # noqa: ANN401
    """Return a trial that completed, unless the fields say otherwise; every name has a default."""
    told: dict[str, Any] = {
        "agent": "omp", "skill": "swe3", "provider": "bedrock", "scope": "scope", "tier": "low", "outcome": "completed",
        "completed": True, "valid": True, "cost_usd": 1.0, "cost_basis": "metered",
    } | fields  # fmt: skip
    folder = f"{model}/{told['agent']}/{told['skill']}/{told['scope']}/{task}--r{repeat}"
    return TrialRow(folder=folder, model=model, task=task, repeat=repeat, score=score, **told)


def failed(*, valid: bool = True, **fields: Any) -> TrialRow:  # noqa: ANN401
    """Return a trial that did not complete, on the model's account unless it is not valid."""
    outcome = "turn_limit" if valid else "rate_limited"
    return row(None, **{"outcome": outcome, "completed": False, "valid": valid, **fields})


@cache
def published_board() -> Leaderboard:
    """Return the leaderboard of the published figures, which takes a second to work out."""
    return leaderboard(published())


def published() -> list[TrialRow]:
    """Return the published figures, read here and not by the importer."""
    return [
        row(
            float(told["task_score"]) if told["failed"] == "false" else None,
            model=told["model"],
            task=told["task"],
            provider=told["provider"],
            tier=told["complexity"],
            completed=told["failed"] == "false",
            outcome="completed" if told["failed"] == "false" else "incomplete_artifacts",
            cost_usd=float(told["cost_usd"]),
            cost_basis={"metered": "metered", "hardware_derived": "hardware"}[told["cost_basis"]],
            latency_seconds=float(told["latency_seconds"]),
            unit_scores={unit: float(told[unit]) for unit in UNIT_COLUMNS} if told["failed"] == "false" else {},
        )
        for told in published_rows()
    ]


def tree(random: np.random.Generator, tasks: int = 21, most_repeats: int = 3) -> list[TrialRow]:
    """Return the trials of two models over tasks drawn at random, each run one to three times.

    Scores lean to the right as real ones do, differences of models depend on the task and now and then are large, and
    costs spread over a factor of ten; the means of all of it are known.
    """
    rows = []
    for task in range(tasks):
        level = 10 + 80 * random.beta(6, 2)
        lead = random.gamma(2, LEAD / 2)
        cost = 3.0 * random.lognormal(0, 0.5)
        for model, score, price in (("a", level, cost), ("b", level - lead, cost / COST_RATIO)):
            own = price * random.gamma(25, 1 / 25)
            for repeat in range(1, random.integers(1, most_repeats, endpoint=True) + 1):
                seen = score + random.uniform(-8, 8)
                spent = own * random.gamma(25, 1 / 25)
                rows.append(row(seen, model=model, task=f"t{task:02}", repeat=repeat, cost_usd=spent))
    return rows


def with_failures(random: np.random.Generator, rate: float, tasks: int = 21) -> list[TrialRow]:
    """Return the trials of one model that fails at a rate, once a task; scores as in :func:`tree`."""
    return [
        failed(task=f"t{task:02}") if random.random() < rate else row(10 + 80 * random.beta(6, 2), task=f"t{task:02}")
        for task in range(tasks)
    ]


def with_a_dominant_task(random: np.random.Generator, tasks: int = 21) -> list[TrialRow]:
    """Return the trials of one model whose costs now and then are many times what they usually are."""
    return [row(task=f"t{task:02}", cost_usd=random.lognormal(0, SPREAD)) for task in range(tasks)]


SPREAD = 1.5
DOMINATED_COST = float(np.exp(SPREAD**2 / 2))
"""Mean cost of :func:`with_a_dominant_task` over all tasks there could be."""
