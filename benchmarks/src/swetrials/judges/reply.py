"""Reading a rubric judge's reply: tolerant of what stands around the JSON, strict about what is in it."""

import json
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swetrials.records.evaluation import CRITERIA, UnitScore

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)

_Points = Annotated[int, Field(strict=True, ge=0, le=25)]


class ReplyError(Exception):
    """A reply that cannot be used; the message tells the judge what is wrong with it."""


@dataclass(frozen=True)
class Reply:
    """A valid reply. ``corrections`` says which totals were not the sum of their criteria."""

    scores: dict[str, UnitScore]
    verdict: str
    corrections: tuple[str, ...]


class _Unit(BaseModel):
    model_config = ConfigDict(extra="ignore")

    completeness: _Points
    correctness: _Points
    specificity: _Points
    risk_awareness: _Points
    total: object = None
    notes: str = ""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    task: str
    units: dict[str, _Unit]
    verdict: str = ""


def parse_reply(text: str, task_id: str, units: tuple[str, ...]) -> Reply:
    """Return a judge's reply about ``units`` of a task.

    A total is always the sum of its criteria, whatever the judge wrote.

    Raises:
        ReplyError: there is no JSON object, it is about another task, a unit that was asked for is missing,
            one that was not is there, or points are not whole numbers from 0 to 25.
    """
    try:
        reply = _Reply.model_validate(json_object(text))
    except ValidationError as error:
        raise ReplyError("; ".join(_complaint(problem["loc"], problem["msg"]) for problem in error.errors())) from None
    if reply.task != task_id:
        raise ReplyError(f"task is {reply.task!r}, the task under review is {task_id!r}")
    if missing := [unit for unit in units if unit not in reply.units]:
        raise ReplyError(f"units: {', '.join(missing)} missing")
    if unknown := [unit for unit in reply.units if unit not in units]:
        raise ReplyError(f"units: {', '.join(map(repr, unknown))} not asked for; score {', '.join(units)}")
    scores = {unit: UnitScore.model_validate(reply.units[unit].model_dump()) for unit in units}
    corrections = tuple(
        f"the judge's total of {reply.units[unit].total} for {unit} was corrected to {score.total}"
        for unit, score in scores.items()
        if reply.units[unit].total != score.total
    )
    return Reply(scores=scores, verdict=reply.verdict, corrections=corrections)


def json_object(text: str) -> dict[str, object]:
    """Return the JSON object that a text is, holds in a fenced block, or holds among other words.

    Raises:
        ReplyError: there is none.
    """
    for candidate in (text, *_FENCED.findall(text), text[text.find("{") : text.rfind("}") + 1]):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    raise ReplyError("it holds no complete JSON object" if text.strip() else "it is empty")


def _complaint(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, location))
    points = " (a whole number from 0 to 25)" if location[-1] in CRITERIA else ""
    return f"{where}: {message}{points}"
