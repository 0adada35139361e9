"""What is asked reaches the model word for word, whatever it holds and however long it is, with every agent."""

import json
import pathlib

import pytest
from ruamel.yaml import YAML

from e2e.agents import AGENTS_UNDER_TEST, AgentUnderTest, each
from e2e.harness import Workplace
from swetrials.store.results import trial_folders
from workspace.sources import commit_all, new_repository

pytestmark = pytest.mark.slow

SIGNS = "@notes.md See @notes.md, ${CLAUDE_SESSION_ID}, $ARGUMENTS, $1, !`echo expanded` and ultrathink.\n/compact\n# x"
LONG = SIGNS + "".join(f"\nline {number:05} of a long statement" for number in range(6_000)) + "\nthe last line"
"""Longer than one word of a command line can be: 128 KiB."""


@each(*AGENTS_UNDER_TEST)
def test_a_long_statement_with_signs_is_asked_as_it_is(tmp_path: pathlib.Path, agent: AgentUnderTest) -> None:
    repository = new_repository(tmp_path / "upstream")
    (repository / "notes.md").write_text("what nobody asked for\n")
    commit_all(repository, "the pinned commit")
    task = {"id": "signs", "repo": str(repository), "ref": "main", "complexity": "low", "problem_statement": LONG}
    dataset = {"schema_version": "1.0", "name": "signs", "output_scope": "signs", "tasks": [task]}
    YAML().dump(dataset, tmp_path / "signs.yaml")
    place = Workplace(tmp_path)
    done = place.run(
        "run", "--agent", agent.name, "--dataset", tmp_path / "signs.yaml", "--keep-bodies", "--skip-probe",
        timeout_seconds=240,
    )  # fmt: skip

    [folder] = trial_folders(place.results)
    [request, *_] = sorted((folder.attempt_folder(1) / "requests").glob("*.request"))
    asked = request.read_text()
    assert json.dumps(f"problem_statement:\n{LONG}")[1:-1] in asked, done.stdout + done.stderr
    assert "what nobody asked for" not in asked
