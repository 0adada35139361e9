"""What the tests of a task say of a patch: each command, each test, what was found on the way."""

from typing import Literal

from pydantic import Field

from swetrials.records.dataset import ReportFormat
from swetrials.records.environment import EnvironmentRecord
from swetrials.records.record import Record
from swetrials.records.registries import RegistryTraffic
from swetrials.records.sealing import Sealing


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


Evidence = Literal["tests", "exit-code", "weak"]
"""What a verdict of resolved stands on: single tests, how commands ended, or a run that the patch may have swayed."""


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
