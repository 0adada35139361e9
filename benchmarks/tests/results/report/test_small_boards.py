"""A report is drawn whatever few trials there are: each tier, each model and each task may lack what others have."""

from itertools import product
from pathlib import Path

import pytest

from kinds import first_is_quick
from results.trees import write_trial
from runs.written import evaluation, metrics, rubric
from swetrials.records.cost import Cost
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.results.report.page import report

TIERS = ("trivial", "low", "medium", "high")
SHAPES = sorted(product(range(1, 5), repeat=2), key=lambda shape: shape != (2, 3))
"""How many models on how many tasks."""


def write(tree: Path, model: int, task: int, *, scored: bool, completed: bool) -> None:
    name = f"model-{model}"
    usage = UsageReport(
        usage=Usage(fresh_input=1000, cache_read=5000, cache_write=0, output=10), completeness="complete", requests=1
    )
    record = metrics(
        OutcomeKind.COMPLETED if completed else OutcomeKind.INCOMPLETE_ARTIFACTS,
        model=name, model_slug=name, task=f"task-{task}", complexity=TIERS[task], latency_seconds=60.0,
        cost=Cost(amount_usd=1.0 + model, basis="metered", status="complete"),
        usage=UsageBlock(headline=usage, source="reported", reported=usage),
    )  # fmt: skip
    write_trial(tree, record, evaluation(record, rubric(10 + model + task if scored else None)))


def drawn(tree: Path) -> list[str]:
    return [drawing.name for drawing in report(tree, tree).drawings]


@first_is_quick(("models", "tasks"), SHAPES)
def test_a_tier_in_which_nothing_was_scored_has_no_panel(tmp_path: Path, models: int, tasks: int) -> None:
    for model, task in product(range(models), range(tasks)):
        write(tmp_path, model, task, scored=task > 0, completed=True)
    assert ("tiers" in drawn(tmp_path)) == (tasks > 1)


@pytest.mark.slow
@pytest.mark.parametrize(("models", "tasks"), SHAPES)
def test_scores_and_completions_may_be_missing_anywhere(tmp_path: Path, models: int, tasks: int) -> None:
    for model, task in product(range(models), range(tasks)):
        write(tmp_path, model, task, scored=(model + task) % 3 > 0, completed=(model + 2 * task) % 4 > 0)
    assert drawn(tmp_path)
