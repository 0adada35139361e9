"""Records as trials leave them, for tests of what is made of them."""

from typing import Any

from swetrials.records.evaluation import CRITERIA, UNITS, Evaluation, RubricEvaluation, UnitScore
from swetrials.records.metrics import EXPECTED_ARTIFACTS, Metrics
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.verification import TestsEvaluation


def metrics(kind: OutcomeKind = OutcomeKind.COMPLETED, repeat: int = 1, **changes: Any) -> Metrics:  # noqa: ANN401
    """Return the record of one trial. Changes are fields of the record; those of its blocks go by their own name."""
    task = changes.get("task", "task-1")
    blocks: dict[str, dict[str, Any]] = {
        "trial": {
            "id": f"{task}--r{repeat}@now", "repeat": repeat, "scope": "scope", "dataset": "data",
            "dataset_sha256": "d", "task_sha256": f"sha of {task}", "rehearsal": False, "rank_by": None,
        },
        "provenance": {
            "harness_version": "0.1.0", "skill_sha256": "s", "prompt_sha256": "p", "commit": "0" * 40,
            "sandbox": "none", "permission_mode": "acceptEdits", "python_version": "3.11", "platform": "linux",
            "limits": None, "agent_version": None,
        },
    }  # fmt: skip
    for block in blocks.values():
        block.update({name: changes.pop(name) for name in list(changes) if name in block})
    fields = {
        "task": task, "repo": "https://git.example/thing.git", "ref": "v1", "complexity": "low",
        "model": "some-model", "model_slug": "some-model", "agent": "claude-code", "skill": "swe3",
        "provider": "endpoint", "run_started_at": "2026-01-01T00:00:00+00:00",
        "artifacts_produced": EXPECTED_ARTIFACTS, "outcome": Outcome.of(kind, "" if kind == "completed" else "why"),
    }  # fmt: skip
    return Metrics.model_validate({**fields, **blocks, **changes})


def rubric(points: int | None, reason: str = "") -> RubricEvaluation:
    """Return a judge's word with the same points for every criterion; ``None``: it failed."""
    if points is None:
        return RubricEvaluation(status="unscored", reason=reason or "timed out")
    scores = {unit: UnitScore(**dict.fromkeys(CRITERIA, points)) for unit in UNITS}
    return RubricEvaluation(status="scored", task_score=4.0 * points, scores=scores, reason=reason)


def evaluation(
    record: Metrics, rubric: RubricEvaluation | None = None, tests: TestsEvaluation | None = None
) -> Evaluation:
    """Return the scores that belong to a record."""
    return Evaluation(task=record.task, trial_id=record.trial.id, rubric=rubric, tests=tests)
