"""What a scenario may say."""

from typing import Any

import pytest
from pydantic import ValidationError

from swetrials.rehearsal import Action, Fault, FaultKind, Scenario, ScriptStep, WriteFile

WRITE = {"path": "a.py", "content": "x"}


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({}, "at least one of say, read, write, edit, shell, tool and all"),
        ({"write": WRITE, "shell": "ls"}, "put several calls under all"),
        ({"all": [{"shell": "ls"}], "shell": "ls"}, "put several calls under all"),
        ({"all": [{"write": WRITE, "shell": "ls"}]}, "exactly one of read, write, edit, shell and tool"),
        ({"all": [{}]}, "exactly one of read, write, edit, shell and tool"),
        ({"edit": {"path": "a", "old": "", "new": "x"}}, "at least 1 character"),
        ({"shel": "ls"}, "Extra inputs"),
    ],
)
def test_a_step_that_is_not_one_response_is_refused(step: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ScriptStep.model_validate(step)


def test_a_steps_actions_are_the_same_written_short_or_long() -> None:
    short = ScriptStep.model_validate({"say": "So.", "write": WRITE})
    long = ScriptStep.model_validate({"all": [{"write": WRITE}]})
    assert short.actions == long.actions == (Action(write=WriteFile(path="a.py", content="x")),)
    assert ScriptStep(say="So.").actions == ()


def test_with_fault_leaves_the_original_alone() -> None:
    scenario = Scenario(schema_version="1.0", name="s", scripts=())
    assert scenario.with_fault(FaultKind.CUT).fault == Fault(kind=FaultKind.CUT, times=None, at_step=None)
    assert scenario.fault is None
