"""A submission to judge, as the tests of this room need it."""

from pathlib import Path
from typing import Any

from swetrials.judging.base import Submission
from swetrials.records.dataset import Task
from swetrials.records.outcome import Outcome, OutcomeKind

TASK = Task.model_validate(
    {
        "id": "add-sum",
        "repo": "https://git.example/calc.git",
        "ref": "v1",
        "complexity": "low",
        "problem_statement": "Add a sum function.",
        "ground_truth": {"approach": "Fold with add().", "expectations": ["handles an empty list"]},
    }
)
DOCUMENTS = {name: f"the text of {name}" for name in ("github-issue.md", "lld.md", "review.md", "testing.md")}


def submission(**changes: object) -> Submission:
    fields: dict[str, Any] = {
        "task": TASK,
        "trial_id": "trial-1",
        "outcome": Outcome.of(OutcomeKind.COMPLETED),
        "repo": TASK.repo,
        "commit": "0" * 40,
        "artifacts": {**DOCUMENTS, "implementation.md": "the text of implementation.md"},
        "patch": b"diff --git a/x b/x\n",
        "hidden_files": {"tests/secret_test.py": Path("secret_test.py")},
    }
    return Submission(**fields | changes)
