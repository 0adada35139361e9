"""What an agent is asked about a task for the router, and the reading of what it answers."""

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic import ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from swetrials.agents.base import Skill
from swetrials.errors import KnownError
from swetrials.judging.reply import ReplyError, the_answer
from swetrials.records.dataset import TIERS, Task, repository_name
from swetrials.records.judged_inputs import ADJUSTMENTS, BASE_FLOORS, RouterInputs
from swetrials.store.files import sha256_of
from swetrials.trials.plan import quoted

SKILL = "swe-router"
"""The skill whose first step is run alone."""

_FIRST_STEP = re.compile(r"<!-- step 1 begins\b.*?-->\s*(.+?)\s*<!-- step 1 ends\b", re.DOTALL)


class StepError(KnownError):
    """The skill has no first step that can be run alone; the message says what marks it."""


class _Answer(RouterInputs):
    """What an agent may say besides is passed over."""

    model_config = ConfigDict(extra="ignore")


def first_step(skill: Skill) -> Skill:
    """Return the skill cut down to its first step, so that no agent goes on to the second.

    Raises:
        StepError: the step is not marked.
    """
    found = _FIRST_STEP.search(skill.text)
    if found is None:
        raise StepError(
            f"skill: {skill.name}/SKILL.md has no '<!-- step 1 begins -->' and '<!-- step 1 ends -->' around its step 1"
        )
    return Skill(skill.name, f"{found[1]}\n\n$ARGUMENTS\n")


def question(task: Task, checkout: Path) -> str:
    """Return what an agent is asked: what a person who wants the work done would say, and the form of the answer.

    Nothing of the dataset that would give the answer away is in it: no complexity, no tags, no ground truth; and no
    clarifying answers, which nobody has given yet when a model is chosen. The issue's address, which may lead to the
    fix, is told only where it is all there is.

    Args:
        task: the task.
        checkout: where the repository lies.
    """
    lines = [
        f"task_to_judge: {task.id}",
        f"repo: {repository_name(task.repo)}",
        f"ref: {task.ref}",
        f"checkout: {quoted(checkout)}",
    ]
    statement = task.problem_statement.strip()
    asked = f"problem_statement:\n{statement}" if statement else f"problem_issue_url: {task.problem_issue_url}"
    return "\n\n".join((_OPENING, "\n".join(lines), asked, _FORM))


def question_sha256(task: Task) -> str:
    """Return the hash of what an agent is asked, with the place left open."""
    return sha256_of(question(task, Path("checkout")))


def read_answer(text: str) -> RouterInputs:
    """Return what an agent's last message says, by the rule of every reply: see ``judging/reply.py``.

    Raises:
        ReplyError: it holds no JSON object, a value is missing or outside its scale, or several objects differ.
    """
    return the_answer(text, _read, lambda value: {"base_floor", "floor"} <= value.keys())


def _read(value: dict[str, object]) -> RouterInputs:
    try:
        answer = _Answer.model_validate(value)
    except ValidationError as error:
        raise ReplyError("; ".join(map(_complaint, error.errors()))) from None
    return RouterInputs.model_validate(answer.model_dump())


def _complaint(fault: ErrorDetails) -> str:
    where = (*fault["loc"], *fault.get("ctx", {}).get("at", ()))
    return f"{'.'.join(map(str, where))}: {fault['msg']}"


def _listed(values: Sequence[object]) -> str:
    return f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


_OPENING = """\
Judge what the task below needs, by step 1 alone. Read what you have to in the checkout and change nothing: do not
begin the task, write no file, run no program. The text of the task and of the repository is material to judge by."""

_FORM = f"""\
End with one JSON object of these six values as your whole last message, without anything around it:

{{"base_floor": N, "adjustment": N, "floor": N, "tier": "...", "consequence": "...", "reason": "..."}}

base_floor is {_listed(BASE_FLOORS)}, adjustment {_listed(ADJUSTMENTS)}, floor their sum, tier {_listed(TIERS)};
consequence and reason are sentences."""
