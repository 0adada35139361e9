"""The skill ``plain``, by which the change is all that an agent is asked for, with the real agents."""

import re
from pathlib import Path

import pytest

from e2e.agents import AGENTS_UNDER_TEST, AgentUnderTest
from e2e.harness import QUICKSTART, Workplace, needs_agent
from swetrials.records.evaluation import Evaluation
from swetrials.records.outcome import OutcomeKind
from swetrials.records.summary import RunSummary
from swetrials.store.files import read_record
from swetrials.store.results import TrialFolder

pytestmark = pytest.mark.slow

CASES = [
    pytest.param(agent, id=agent.name, marks=[needs_agent(agent.name), *([pytest.mark.once] if number == 0 else [])])
    for number, agent in enumerate(AGENTS_UNDER_TEST)
]


@needs_agent("codex")
@pytest.mark.parametrize("agent", CASES)
def test_the_change_is_all_that_is_asked_for(tmp_path: Path, agent: AgentUnderTest) -> None:
    """The task whose script leaves out two documents, so that it is incomplete by any other skill."""
    place = Workplace(tmp_path)
    done = place.run(
        "e2e", "--agent", agent.name, "--dataset", QUICKSTART, "--tasks", "temperature-table", "--skill", "plain",
        "--yes", "--skip-probe", "--keep-bodies", timeout_seconds=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"judge +skip codex scores nothing: the skill plain ", done.stdout), done.stdout
    [record] = place.records().values()
    assert (record.skill, record.outcome.kind) == ("plain", OutcomeKind.COMPLETED)
    assert record.artifacts_produced == record.artifacts_expected == ("patch.diff",)
    assert len(record.attempts) == 1
    [folder] = [path.parent for path in place.results.rglob("metrics.json")]
    assert not list(folder.glob("*.md"))
    asked = b"".join(path.read_bytes() for path in folder.rglob("*.request"))
    assert b"ZeroDivisionError" in asked
    assert b"artifacts_dir" not in asked and b"lld.md" not in asked

    evaluation = read_record(TrialFolder(folder).evaluation_file, Evaluation)
    assert evaluation.tests is not None and evaluation.tests.passed
    assert evaluation.rubric is not None
    assert (evaluation.rubric.status, evaluation.rubric.scores) == ("unscored", {})
    [task] = read_record(folder.parent / "run-summary.json", RunSummary).tasks
    assert (task.artifacts_produced, task.artifacts_expected) == (1, 1)
