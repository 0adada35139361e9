"""Reading a reply: tolerant of what stands around the JSON, strict about what is in it.

The rule: where an object stands decides nothing. Every JSON object of a reply is looked at, bare, in a fence, among
words or inside another object. Those that fit the schema are answers. One answer is taken, and so are several that say
the same. Several that differ are refused, since one of them may be quoted from what is under review. So is an answer
beside an attempt at one that does not fit: the attempt may be the judge's own.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swetrials.records.evaluation import CRITERIA, UnitScore

_OPENING = re.compile(r'\{\s*["}]')
_STRIDE = 1 << 14

_MOST_READINGS = 16
"""Times that the length of a text may be read over: what opens and never closes is read once for each opening."""

_MOST_DIGITS = 30
"""Longer numbers are no points; Python refuses to read those of some thousand digits at all."""

_Points = Annotated[int, Field(strict=True, ge=0, le=25)]

T = TypeVar("T")


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


class _Twice:
    """What a key says that stands twice in one object with different values: nothing that can be used.

    What a key says twice in the same way it says once. JSON leaves the meaning of both to the reader (RFC 8259,
    section 4).
    """

    def __repr__(self) -> str:
        return "two different values"


def parse_reply(text: str, task_id: str, units: tuple[str, ...]) -> Reply:
    """Return a judge's reply about ``units`` of a task.

    A total is always the sum of its criteria, whatever the judge wrote.

    Raises:
        ReplyError: there is no JSON object, it is about another task, a unit that was asked for is missing,
            one that was not is there, points are not whole numbers from 0 to 25, or several objects differ.
    """
    reply = the_answer(text, lambda value: _read(value, task_id, units), lambda value: _is_attempt(value, task_id))
    scores = {unit: UnitScore.model_validate(reply.units[unit].model_dump()) for unit in units}
    corrections = tuple(
        f"the judge's total of {reply.units[unit].total} for {unit} was corrected to {score.total}"
        for unit, score in scores.items()
        if reply.units[unit].total != score.total
    )
    return Reply(scores=scores, verdict=reply.verdict, corrections=corrections)


def the_answer(text: str, read: Callable[[dict[str, object]], T], is_attempt: Callable[[dict[str, object]], bool]) -> T:
    """Return the one answer that a text holds.

    Args:
        text: what was said.
        read: returns an object as an answer, or raises ``ReplyError`` with what keeps it from being one.
        is_attempt: whether an object that is no answer was meant to be one.

    Raises:
        ReplyError: there is none, there are several that differ, or one beside an attempt that failed.
    """
    answers: list[T] = []
    fault = attempt = ""
    for value in json_objects(text):
        try:
            answer = read(value)
        except ReplyError as error:
            if is_attempt(value):
                attempt = attempt or str(error)
            fault = fault or str(error)
        else:
            if answers and answer != answers[0]:
                raise ReplyError("it holds several different answers; give one, and quote no other")
            answers = [answer]
    if answers and attempt:
        raise ReplyError(f"it holds two different answers, one of them with a fault ({attempt}); give one")
    if answers:
        return answers[0]
    raise ReplyError(attempt or fault or ("it holds no complete JSON object" if text.strip() else "it is empty"))


def json_objects(text: str) -> Iterator[dict[str, object]]:
    """Give every JSON object of a text in its order, an outer one before those that stand in it.

    Raises:
        ReplyError: so much opens and does not close that reading on would take time without limit.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole_number)
    to_read = _MOST_READINGS * len(text)
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        # Where an error stands the decoder counts from the beginning of what it is given.
        text, at = (text[opening.start() :], 0) if opening.start() > _STRIDE else (text, opening.start())
        try:
            value, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            to_read -= (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - at
            at += 1
        else:
            yield from _with_inner(value)
        if to_read < 0:
            raise ReplyError("it is nested too deeply to be read; give one JSON object and nothing else")


def _with_inner(value: object) -> Iterator[dict[str, object]]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
            waiting += reversed(found.values())
        elif isinstance(found, list):
            waiting += reversed(found)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; which of two values a key has, its place must not decide."""
    value = dict(pairs)
    if len(value) < len(pairs):
        for key, given in pairs:
            if given != value[key]:
                value[key] = _Twice()
    return value


def _whole_number(digits: str) -> float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _read(value: dict[str, object], task_id: str, units: tuple[str, ...]) -> _Reply:
    if twice := list(_keys_with_two_values(value)):
        raise ReplyError(f"{', '.join(twice)}: stands twice with different values; give each key once")
    try:
        reply = _Reply.model_validate(value)
    except ValidationError as error:
        raise ReplyError("; ".join(_complaint(problem["loc"], problem["msg"]) for problem in error.errors())) from None
    if reply.task != task_id:
        raise ReplyError(f"task is {reply.task!r}, the task under review is {task_id!r}")
    if missing := [unit for unit in units if unit not in reply.units]:
        raise ReplyError(f"units: {', '.join(missing)} missing")
    if unknown := [unit for unit in reply.units if unit not in units]:
        raise ReplyError(f"units: {', '.join(map(repr, unknown))} not asked for; score {', '.join(units)}")
    return reply


def _keys_with_two_values(value: dict[str, object]) -> Iterator[str]:
    """Give the keys of a reply, of its units and of each unit's points that stand twice with different values."""
    units = value.get("units")
    parts = {"": value, "units.": units}
    parts |= {f"units.{name}.": unit for name, unit in units.items()} if isinstance(units, dict) else {}
    for prefix, part in parts.items():
        if isinstance(part, dict):
            yield from (f"{prefix}{key}" for key, given in part.items() if isinstance(given, _Twice))


def _is_attempt(value: dict[str, object], task_id: str) -> bool:
    """Whether an object gives points to units of the task, however wrong they are, or however often."""
    task, units = value.get("task"), value.get("units")
    given = units.values() if isinstance(units, dict) else (units,)
    points = [unit.get(criterion) for unit in given if isinstance(unit, dict) for criterion in CRITERIA]
    said = [*points, *given]
    return (task == task_id or isinstance(task, _Twice)) and any(isinstance(one, int | float | _Twice) for one in said)


def _complaint(location: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, location))
    points = " (a whole number from 0 to 25)" if location[-1] in CRITERIA else ""
    return f"{where}: {message}{points}"
