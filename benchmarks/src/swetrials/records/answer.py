"""What a results tree answers, in sentences, and what of the answer is not earned yet."""

from typing import Literal

from pydantic import Field

from swetrials.records.dataset import RankBy
from swetrials.records.record import SCHEMA_VERSION, Record

Shortfall = Literal[
    "rehearsal",
    "not_sealed",
    "not_run_alike",
    "scored_by_rubric",
    "exit_codes_only",
    "weak_evidence",
    "doubtful",
    "void",
    "unchecked",
    "made_by_hand",
    "imported",
    "mixed",
    "one_model",
    "few_tasks",
    "one_run_each",
    "infrastructure",
    "unscored",
    "not_scored",
    "cost_unknown",
    "cost_is_lower_bound",
    "heavy_task",
]


class NotEarned(Record):
    """One part of an answer that these trials do not earn."""

    code: Shortfall
    text: str


class AnswerPart(Record):
    """The answer of one scope; rehearsals have one of their own."""

    scope: str
    rehearsal: bool
    trials: int
    tasks: int
    candidates: int = Field(description="models behind agents that were run")
    rank_by: RankBy
    rubric: bool = Field(description="scores by a judge's rubric are ranked")
    tests: bool = Field(description="verdicts of tests are in it")
    sentences: tuple[str, ...]
    not_earned: tuple[NotEarned, ...]


class Answer(Record):
    """All that a results tree answers."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    parts: tuple[AnswerPart, ...]
    next_command: str = Field(description="what to type next")
