"""Scores: the rubric's, the tests', and how the judge came to them."""

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, computed_field, model_validator

from swetrials.records.dataset import ReportFormat
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.record import SCHEMA_VERSION, Record
from swetrials.records.registries import RegistryTraffic
from swetrials.records.sealing import Sealing
from swetrials.records.usage import UsageReport

CRITERIA = ("completeness", "correctness", "specificity", "risk_awareness")
"""Each criterion is worth 0 to 25, so a unit is worth 0 to 100."""

UNITS = ("github_issue", "lld", "review", "testing", "implementation")
"""What is scored: four documents, and the change itself (patch.diff with implementation.md)."""

TESTS = "tests"
"""The name of the judge that runs the task's commands."""

UNNAMED = "rubric"
"""The name of a rubric judge of which an older or an imported file does not say who it was."""

Evidence = Literal["tests", "exit-code", "weak"]
"""What a verdict of resolved stands on: single tests, how commands ended, or a run that the patch may have swayed."""

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


class CommandResult(Record):
    """One command of the tests judge."""

    argv: tuple[str, ...]
    stage: Literal["setup", "verify"]
    exit_code: int | None = Field(description="None when it was stopped at its limit")
    duration_seconds: float
    output_tail: str = ""

    @property
    def passed(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.exit_code == 0


TestState = Literal["passed", "failed", "error", "skipped", "missing"]
"""What became of a test: one that is expected to fail is skipped, one of which no report tells is missing."""


class RunnerTest(Record):
    """One test of a task's runner, by the runner's own id."""

    id: str
    state: TestState


class TestCount(Record):
    """How many tests of a kind there are, and how many of them passed."""

    __test__ = False  # pytest would take the name for a test class

    passed: int = Field(ge=0)
    total: int = Field(ge=0)


FindingKind = Literal[
    "runner-file",
    "shadowing-module",
    "named-file",
    "hidden-test",
    "test-file",
    "missing-test",
    "canary",
    "report",
    "comparison",
    "forging",
]
"""What a patch touches of its own verdict.

``runner-file``: a runner loads it by itself. ``shadowing-module``: it is found in place of the runner or of the
standard library. ``named-file``: a command runs it. ``hidden-test``: it has a hidden file's path or name.
``test-file``: tests that were there are deleted, renamed or expected to fail, or some reach into the runner.
``missing-test``: a test that has to pass was not told, or was skipped. ``canary``: a canary test came out wrongly.
``report``: the runner's report cannot be believed, or a command broke down. ``comparison``: a method that compares.
``forging``: code that can reach the runner or its report.
"""

DOUBTFUL: frozenset[FindingKind] = frozenset({"comparison", "forging"})
"""Kinds after which a result that stands is doubtful: they may be honest work, and can make any test pass."""


class VerificationFinding(Record):
    """Something of its own verdict that a patch touches."""

    kind: FindingKind
    file: str | None = Field(None, description="in the repository; null: no single one")
    told: str = Field(description="what was found, and what became of it")

    @property
    def message(self) -> str:
        """What was found, with the file's name."""
        return f"{self.file}: {self.told}" if self.file else self.told

    @property
    def line(self) -> str:
        """The finding in one line, with its kind."""
        return f"{self.kind}: {self.message}"


class CanaryTest(Record):
    """A test of the harness's own beside a task's, whose right outcome is known beforehand."""

    command: str = Field(description="the task's command that it is run beside")
    expected: Literal["passed", "failed"] | None = Field(None, description="null: the command has none")
    state: TestState | None = Field(None, description="null: not tried")
    told: str = Field("", exclude_if=lambda told: not told, description="why it was not tried, or what went wrong")

    @property
    def held(self) -> bool:
        """Whether it came out as it has to, or there is none."""
        return self.expected is None or self.state == self.expected


class TestsEvaluation(Record):
    """What the dataset's own commands say of the patch."""

    __test__ = False  # pytest would take the name for a test class

    status: Literal["scored", "unscored"]
    reason: str = ""
    passed: bool | None = Field(None, description="resolved; older: all verify commands ended with exit code 0")
    fraction: float | None = Field(
        None,
        ge=0,
        le=1,
        description="tests that passed over all that have to; of exit-code, and older: commands that passed over all",
    )
    report: ReportFormat | None = Field(
        None,
        exclude_if=lambda report: report is None,
        description="how the results are told; exit-code: by how commands ended, which is weak evidence; absent: older",
    )
    resolved: bool | None = Field(
        None,
        exclude_if=lambda resolved: resolved is None,
        description="every fail-to-pass and every pass-to-pass test passed; of exit-code: passed; absent: unknown",
    )
    evidence: Evidence | None = Field(
        None,
        exclude_if=lambda evidence: evidence is None,
        description="tests: of each single test; exit-code: of how commands ended; weak: it depends on files of the "
        "patch that decide its verdict, and no solution says how they have to be; absent: older",
    )
    findings: tuple[VerificationFinding, ...] = Field(
        (), exclude_if=lambda findings: not findings, description="what the patch touches of its own verdict"
    )
    doubtful: bool = Field(
        False, exclude_if=lambda doubtful: not doubtful, description="a finding can make any test pass"
    )
    canaries: tuple[CanaryTest, ...] = Field(
        (), exclude_if=lambda canaries: not canaries, description="absent: none was run, or an older record"
    )
    void_reason: str = Field(
        "", exclude_if=lambda reason: not reason, description="why the verification says nothing of the patch"
    )
    fail_to_pass: TestCount | None = Field(
        None, exclude_if=lambda count: count is None, description="absent: no single test was told"
    )
    pass_to_pass: TestCount | None = Field(
        None,
        exclude_if=lambda count: count is None,
        description="with pass_to_pass: all, every other test that ran and was not skipped",
    )
    regressions: tuple[str, ...] = Field(
        (), exclude_if=lambda ids: not ids, description="pass-to-pass tests that did not pass, at most 1,000"
    )
    tests: tuple[RunnerTest, ...] = Field(
        (),
        exclude_if=lambda tests: not tests,
        description="at most 1,000: those that the task names, then those that did not pass, then the others",
    )
    patch_applied: bool | None = None
    results: tuple[CommandResult, ...] = ()
    environment: EnvironmentRecord | None = Field(
        None,
        exclude_if=lambda record: record is None,
        description="what the commands ran in; absent: none ran, or an older record",
    )
    sealing: Sealing | None = Field(
        None,
        exclude_if=lambda sealing: sealing is None,
        description="what they could reach; absent: none ran, or an older record",
    )
    registries: tuple[RegistryTraffic, ...] = Field(
        (), exclude_if=lambda traffic: not traffic, description="what passed to package registries; absent: nothing"
    )
    evaluated_at: str = ""


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
