"""What an agent was given, as one hash."""

from swetrials.records.config import RunnerConfig
from swetrials.records.limits import Limits
from swetrials.store.documents import load_dataset
from swetrials.store.project import find_project
from swetrials.trials.identity import given_sha256

BEFORE = "c9249bbb744154a961fec0d234d7b0eb8040e9bcaf25448cc4945dba9d782f10"
"""What it was before datasets could ask for an environment."""


def test_an_environment_is_part_of_what_was_given_and_none_changes_nothing() -> None:
    dataset = load_dataset(find_project().dataset / "quickstart.yaml").dataset
    task = next(task for task in dataset.tasks if task.id == "slugify-unicode")
    known = (task, "b930c737e7a8b77e4757cc66fbecd7f847613d22", "0" * 64, Limits.of(RunnerConfig(), None))
    assert given_sha256(*known) == given_sha256(*known, None) == BEFORE
    assert len({BEFORE, given_sha256(*known, "a"), given_sha256(*known, "b")}) == 3
