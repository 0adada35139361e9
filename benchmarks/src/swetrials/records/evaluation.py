"""Scores: the rubric's, the tests', and how the judge came to them."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, computed_field, model_validator

from swetrials.records.record import SCHEMA_VERSION, Record
from swetrials.records.sealing import Sealing
from swetrials.records.usage import UsageReport
from swetrials.records.verification import TestsEvaluation

CRITERIA = ("completeness", "correctness", "specificity", "risk_awareness")
"""Each criterion is worth 0 to 25, so a unit is worth 0 to 100."""

UNITS = ("github_issue", "lld", "review", "testing", "implementation")
"""What is scored: four documents, and the change itself (patch.diff with implementation.md)."""

TESTS = "tests"
"""The name of the judge that runs the task's commands."""

UNNAMED = "rubric"
"""The name of a rubric judge of which an older or an imported file does not say who it was."""

Points = int


def judge_label(name: str, model: str | None) -> str:
    """Return the name of a rubric judge in ``eval.json``; without a model, its route chooses one."""
    return f"{name}/{model or 'default'}"


def task_score_of(totals: Iterable[float]) -> float:
    """Return the score of a task, 0 to 100: the mean of the totals of its :data:`UNITS`."""
    return sum(totals) / len(UNITS)


class UnitScore(Record):
    """One scored unit; ``total`` is the sum of its criteria, or what a source published without them."""

    completeness: Points | None = Field(None, ge=0, le=25)
    correctness: Points | None = Field(None, ge=0, le=25)
    specificity: Points | None = Field(None, ge=0, le=25)
    risk_awareness: Points | None = Field(None, ge=0, le=25)
    published_total: Points | None = Field(
        None,
        ge=0,
        le=100,
        exclude_if=lambda total: total is None,
        description="imported figures: the total, where the source does not tell the criteria, which are null then",
    )
    notes: str = ""
    missing: bool = Field(False, description="the artifact was not there: scored 0 by rule, not by the judge")

    @computed_field(description="sum of the four criteria, or the published total: 0 to 100")  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        """Sum of the four criteria, or the published total: 0 to 100."""
        return sum(self._points) if self.published_total is None else self.published_total

    @property
    def _points(self) -> list[Points]:
        return [points for name in CRITERIA if (points := getattr(self, name)) is not None]

    @model_validator(mode="after")
    def _criteria_or_published_total(self) -> Self:
        if len(self._points) != (len(CRITERIA) if self.published_total is None else 0):
            raise ValueError(f"a unit has all of {', '.join(CRITERIA)}, or a published_total and none of them")
        return self

    @model_validator(mode="before")
    @classmethod
    def _total_is_derived(cls, data: object) -> object:
        return {k: v for k, v in data.items() if k != "total"} if isinstance(data, dict) else data

    @classmethod
    def absent(cls, notes: str) -> Self:
        """Return the 0 of an artifact that a healthy trial did not leave."""
        return cls(completeness=0, correctness=0, specificity=0, risk_awareness=0, notes=notes, missing=True)


class Grounding(Record):
    """What the judge's own event stream shows of its work in the repository."""

    commands_run: int = Field(0, ge=0)
    commands_failed: int = Field(0, ge=0)
    files_read: tuple[str, ...] = Field((), description="repository files that a successful command named")
    repo_grounded: bool = Field(False, description="at least one read of the repository succeeded")


class JudgeBlock(Record):
    """Who judged, with what, for how much."""

    name: str
    provider: str
    model: str | None = None
    reasoning_effort: str | None = None
    agent_version: str | None = None
    repo: str | None = None
    ref: str | None = None
    commit: str | None = None
    prompt_sha256: str | None = None
    usage: UsageReport = UsageReport()
    duration_seconds: float | None = None
    replies: int = Field(0, ge=0, description="answers asked for, the second after a malformed first")
    grounding: Grounding = Grounding()
    sealing: Sealing | None = Field(
        None,
        exclude_if=lambda sealing: sealing is None,
        description="what it could reach; a personal login is open. Absent: an older record",
    )

    @property
    def label(self) -> str:
        """The judge's name in ``eval.json``."""
        return judge_label(self.name, self.model)


class RubricEvaluation(Record):
    """What the judge says of the artifacts."""

    status: Literal["scored", "unscored"]
    reason: str = Field("", description="why it is unscored, or what the reader has to know of the score")
    task_score: float | None = Field(None, ge=0, le=100, description="mean of the five units' totals")
    scores: dict[str, UnitScore] = {}
    verdict: str = ""
    judge: JudgeBlock | None = None
    evaluated_at: str = ""

    @model_validator(mode="after")
    def _score_is_the_mean(self) -> Self:
        if self.status == "scored":
            if set(self.scores) != set(UNITS):
                raise ValueError(f"a scored evaluation has exactly the units {', '.join(UNITS)}")
            mean = task_score_of(score.total for score in self.scores.values())
            if self.task_score is None or abs(self.task_score - mean) > 1e-9:
                raise ValueError(f"task_score is {self.task_score}, the mean of the totals is {mean}")
        elif self.task_score is not None:
            raise ValueError("an unscored evaluation has no task_score")
        return self


class Judgment(Record):
    """One judge's word on a trial, and exactly what it was scored with."""

    kind: Literal["rubric", "tests"]
    scored_sha256: str | None = Field(
        None, description="of all that scored it, by content; null: an old judgment, which is a version of its own"
    )
    rubric: RubricEvaluation | None = None
    tests: TestsEvaluation | None = None

    @classmethod
    def of(cls, word: RubricEvaluation | TestsEvaluation, scored_sha256: str | None = None) -> Self:
        """Return a judge's word as a judgment."""
        if isinstance(word, TestsEvaluation):
            return cls(kind="tests", scored_sha256=scored_sha256, tests=word)
        return cls(kind="rubric", scored_sha256=scored_sha256, rubric=word)

    @property
    def word(self) -> RubricEvaluation | TestsEvaluation | None:
        """What the judge said, of whichever kind."""
        return self.rubric if self.kind == "rubric" else self.tests

    @property
    def scored(self) -> bool:
        """Whether there is a score, and not only the reason why there is none."""
        return self.word is not None and self.word.status == "scored"


class Evaluation(Record):
    """``eval.json``: every judge's word on one trial. Mirrored in ``metrics.json`` under ``evaluation``.

    ``judges`` holds them by name: ``tests``, ``codex/<model>`` (``codex/default`` where the judge's route chooses the
    model). The headline is the first rubric judge that was ever given; a second one stands beside it and never in its
    place. ``rubric`` and ``tests`` show what readers of an earlier version look for: the headline's word, and that
    of the tests. Read with :attr:`judgments`, which knows the older files as well.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    task: str
    trial_id: str = Field(description="the trial these scores belong to; another one's scores are stale")
    rubric: RubricEvaluation | None = None
    tests: TestsEvaluation | None = None
    judges: dict[str, Judgment] = Field({}, exclude_if=lambda judges: not judges)
    headline_judge: str | None = Field(None, exclude_if=lambda name: name is None)

    @property
    def judgments(self) -> dict[str, Judgment]:
        """Every judge's word by the judge's name, in the order in which they were given.

        A file of before there was ``judges`` holds at most one rubric judge, named by its own block, and the tests.
        What they were scored with nobody noted: their hash is ``None``.
        """
        if self.judges:
            return dict(self.judges)
        words: dict[str, Judgment] = {}
        if self.rubric is not None:
            words[self.rubric.judge.label if self.rubric.judge else UNNAMED] = Judgment.of(self.rubric)
        if self.tests is not None:
            words[TESTS] = Judgment.of(self.tests)
        return words

    @property
    def headline(self) -> str | None:
        """The name of the rubric judge whose score is the trial's; ``None``: no rubric judge has said anything."""
        rubrics = [name for name, judgment in self.judgments.items() if judgment.kind == "rubric"]
        return self.headline_judge if self.headline_judge in rubrics else next(iter(rubrics), None)

    def with_word(self, name: str, word: RubricEvaluation | TestsEvaluation, scored_sha256: str | None = None) -> Self:
        """Return these scores with one judge's new word in place of its earlier one; the others' stay.

        The word of a rubric judge without a name, which an older file has where the rules alone scored the trial,
        gives way to that of the first one with a name.
        """
        named = isinstance(word, RubricEvaluation) and name != UNNAMED
        others = {other: judgment for other, judgment in self.judgments.items() if not (named and other == UNNAMED)}
        judges = others | {name: Judgment.of(word, scored_sha256)}
        rubrics = [other for other, judgment in judges.items() if judgment.kind == "rubric"]
        headline = self.headline if self.headline in rubrics else next(iter(rubrics), None)
        return self.model_copy(
            update={
                "judges": judges,
                "headline_judge": headline,
                "rubric": judges[headline].rubric if headline else None,
                "tests": judges[TESTS].tests if TESTS in judges else None,
            }
        )
