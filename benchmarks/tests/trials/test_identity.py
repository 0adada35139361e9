"""What an agent was given, as one hash."""

from swetrials.records.config import RunnerConfig
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.limits import Limits
from swetrials.records.metrics import EXPECTED_ARTIFACTS
from swetrials.store.documents import load_dataset
from swetrials.store.project import find_project
from swetrials.trials.identity import given_sha256

COMMIT, SKILL = "b930c737e7a8b77e4757cc66fbecd7f847613d22", "0" * 64
LIMITS = Limits.of(RunnerConfig(), None)
BEFORE = "c9249bbb744154a961fec0d234d7b0eb8040e9bcaf25448cc4945dba9d782f10"
"""What it was before datasets could ask for an environment."""


def test_an_environment_is_told_apart_and_none_changes_nothing() -> None:
    dataset = load_dataset(find_project().dataset / "quickstart.yaml").dataset
    task = next(task for task in dataset.tasks if task.id == "slugify-unicode")
    other = task.model_copy(update={"environment": EnvironmentSpec(python="3.12")})
    for asked in (task, other):
        assert given_sha256(asked, COMMIT, SKILL, EXPECTED_ARTIFACTS, LIMITS) == BEFORE
    assert dataset.environment_of(task).sha256 is None
    assert dataset.environment_of(other).sha256 != EnvironmentSpec(python="3.11").sha256


def test_what_a_skill_asks_for_is_part_of_what_was_given() -> None:
    [task, *_] = load_dataset(find_project().dataset / "quickstart.yaml").dataset.tasks
    asked = (EXPECTED_ARTIFACTS, EXPECTED_ARTIFACTS[:5], ("patch.diff",))
    assert len({given_sha256(task, COMMIT, SKILL, artifacts, LIMITS) for artifacts in asked}) == len(asked)
