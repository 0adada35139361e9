"""A repository of this machine that a dataset's tasks are from: its later commits may hold the fix."""

import shutil
from pathlib import Path

import pytest

from swetrials.environments.base import AbsentError
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.runs.prepared_run import lay_out
from swetrials.store.configuration import load_config
from workspace.sources import commit_all, new_repository

DATASET = """schema_version: "1.0"
name: mined
tasks:
  - {id: one, repo: ../repo, ref: main, complexity: low, problem_statement: Do it.}
  - {id: two, repo: ../repo, ref: main, complexity: low, problem_statement: Do it.}
  - {id: three, repo: "https://git.example/x.git", ref: main, complexity: low, problem_statement: Do it.}
"""


def test_an_agent_does_not_see_the_repository_that_its_task_is_from(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    repo = new_repository(tmp_path / "repo")
    commit_all(repo, "Begin")
    file = tmp_path / "data" / "mined.yaml"
    file.parent.mkdir()
    file.write_text(DATASET)
    flags = {"agent": "claude", "provider": "rehearsal", "dataset": str(file), "environment": "bubblewrap"}
    config = load_config(None, {}, {**flags, "clone_dir": str(tmp_path / "work"), "output_dir": str(tmp_path / "out")})
    try:
        prepared = lay_out(config)
    except AbsentError as absent:
        pytest.skip(str(absent))
    assert prepared.plan.dataset.local_repositories == (repo,)
    assert isinstance(prepared.place.environment, BubblewrapEnvironment)
    assert repo in prepared.place.environment.hidden
