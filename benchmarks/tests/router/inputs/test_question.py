"""What an agent is asked for the router, and what of its answers is taken."""

from pathlib import Path

import orjson
import pytest

from swetrials.agents.base import Skill
from swetrials.judging.reply import ReplyError
from swetrials.records.dataset import Task
from swetrials.records.judged_inputs import RouterInputs
from swetrials.router.inputs.question import SKILL, StepError, first_step, question, question_sha256, read_answer
from swetrials.store.project import find_project
from swetrials.trials.plan import read_skill

ANSWER = {
    "base_floor": 70,
    "adjustment": 5,
    "floor": 75,
    "tier": "medium",
    "consequence": "Users are held up.",
    "reason": "It runs in production.",
}
TASK = {
    "id": "export",
    "repo": "https://example.org/team/shop.git",
    "ref": "v1.0.0",
    "complexity": "high",
    "tags": ["csv", "orders-endpoint"],
    "problem_statement": "Orders cannot be exported.",
    "problem_issue_url": "https://example.org/team/shop/issues/7",
    "clarifying_answers": "1. Which columns? All of them.",
    "ground_truth": {"approach": "Stream the rows.", "expectations": ["No row is lost."]},
    "verify": {"commands": ["python3 -m unittest"]},
}


def test_a_question_holds_the_problem_and_nothing_that_gives_the_answer_away() -> None:
    asked = question(Task.model_validate(TASK), Path("/work/a b/checkout"))
    assert "Orders cannot be exported." in asked
    assert 'checkout: "/work/a b/checkout"' in asked
    assert "repo: shop\nref: v1.0.0\n" in asked
    hidden = ("csv", "orders-endpoint", "Which columns", "Stream the rows", "No row", "unittest", "example.org")
    assert [text for text in hidden if text in asked] == []
    easier = Task.model_validate({**TASK, "complexity": "trivial"})
    assert question_sha256(easier) == question_sha256(Task.model_validate(TASK))


def test_the_issue_is_named_where_it_is_all_that_is_known() -> None:
    asked = question(Task.model_validate({**TASK, "problem_statement": ""}), Path("checkout"))
    assert "problem_issue_url: https://example.org/team/shop/issues/7" in asked


def test_only_the_first_step_of_the_skill_is_given_to_an_agent() -> None:
    step = first_step(read_skill(find_project().skills, SKILL))
    assert step.name == SKILL
    assert step.text.startswith("## Step 1")
    assert step.text.count("$ARGUMENTS") == 1
    assert "route.py" not in step.text and "Step 2" not in step.text and "<!--" not in step.text
    assert all(word in step.text for word in RouterInputs.model_fields)


def test_a_skill_whose_first_step_is_not_marked_is_told() -> None:
    with pytest.raises(StepError, match=r"SKILL\.md has no '<!-- step 1 begins -->'"):
        first_step(Skill(SKILL, "## Step 1\nJudge.\n"))


@pytest.mark.parametrize(
    "text",
    [
        orjson.dumps(ANSWER).decode(),
        f"It is an export.\n```json\n{orjson.dumps(ANSWER).decode()}\n```\nThat is all.",
        f"My judgment: {orjson.dumps({**ANSWER, 'task': 'export'}).decode()}.",
        f"The set {{55, 65}} and {{}}:\n```JSON\n{orjson.dumps(ANSWER).decode()}\n```",
        f"{orjson.dumps(ANSWER).decode()} {orjson.dumps({'answer': ANSWER}).decode()}",
    ],
    ids=["bare", "fenced", "among words, with more than was asked for", "capitals", "twice the same"],
)
def test_an_answer_is_read_whatever_stands_around_it(text: str) -> None:
    assert read_answer(text) == RouterInputs.model_validate(ANSWER)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"base_floor": 80, "floor": 85}, "base_floor: Input should be 55, 65, 70 or 75"),
        ({"floor": 70}, "floor: 70 is not base_floor 70 + adjustment 5"),
        ({"adjustment": 10, "floor": 80}, "adjustment: Input should be 0 or 5"),
        ({"adjustment": None}, "adjustment: Input should be 0 or 5"),
        ({"tier": "extreme"}, "tier: Input should be 'trivial', 'low', 'medium' or 'high'"),
        ({"floor": "high"}, "floor: Input should be a valid integer"),
        ({"floor": 75.5}, "floor: Input should be a valid integer"),
        ({"reason": ""}, "reason: String should have at least 1 character"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_value_outside_its_scale_is_no_answer(changes: dict[str, object], told: str) -> None:
    with pytest.raises(ReplyError) as error:
        read_answer(orjson.dumps({**ANSWER, **changes}).decode())
    assert told in str(error.value)


@pytest.mark.parametrize("text", ["", "I would say 75, medium.", '{"floor": 75', "[75]", "75"])
def test_what_is_no_object_is_no_answer(text: str) -> None:
    with pytest.raises(ReplyError):
        read_answer(text)


def test_of_answers_that_differ_none_is_taken() -> None:
    quoted = {**ANSWER, "base_floor": 55, "adjustment": 0, "floor": 55, "tier": "trivial"}
    with pytest.raises(ReplyError, match="different answers"):
        read_answer(f"The README says {orjson.dumps(quoted).decode()}; I say:\n{orjson.dumps(ANSWER).decode()}")
