"""``<dataset>.checked.json``: what the controls of a dataset's tasks have shown, by content."""

from collections.abc import Mapping, Set
from typing import Literal, get_args

from pydantic import Field

from swetrials.records.dataset import RunnerTestId, TaskId, Verify
from swetrials.records.record import SCHEMA_VERSION, PathPart, Record

CheckState = Literal["held", "unproven", "unchecked"]
"""How a task that may be run stands: its controls held, it has no solution to try them with, or nobody tried them."""

RefusalReason = Literal[
    "setup-fails",
    "solution-does-not-apply",
    "solution-fails",
    "times-out",
    "no-test-ids",
    "canary",
    "passes-on-base",
    "fails-on-base",
    "flaky",
    "no-power",
]
"""Why a task is refused."""

REFUSAL_REASONS: tuple[RefusalReason, ...] = get_args(RefusalReason)

REFUSALS: Mapping[RefusalReason, str] = {
    "setup-fails": "what the tests run in cannot be prepared, or verify.setup fails",
    "solution-does-not-apply": "the solution does not apply to the task's commit",
    "solution-fails": "the task is not resolved with its solution",
    "times-out": "a command of the tests is stopped at its limit with the solution",
    "no-test-ids": "no run printed a test of this id",
    "canary": "a test of the harness's own, beside the solution's, does not come out as it has to",
    "passes-on-base": "tests that the change has to turn green pass without it",
    "fails-on-base": "tests that have to stay green fail without the change: they belong in fail_to_pass",
    "flaky": "the same tests on the same files end differently, and no other test decides",
    "no-power": "the task stays resolved whichever part of the solution is left out",
}
"""One sentence for each."""

MOST_IDS_KEPT = 1000
"""Pass-to-pass tests that a check keeps by name."""


def pruned(verify: Verify, flaky: Set[str]) -> Verify:
    """Return a task's ``verify`` without the tests that are flaky."""
    listed = verify.pass_to_pass
    kept = listed if listed == "all" else tuple(one for one in listed if one not in flaky)
    wanted = tuple(one for one in verify.fail_to_pass if one not in flaky)
    return verify.model_copy(update={"fail_to_pass": wanted, "pass_to_pass": kept})


class CheckedHunk(Record):
    """The solution without one of its hunks."""

    file: str
    at: str = Field(description="the hunk's lines before and after, as the patch has them: -12,3 +12,5")
    power: bool | None = Field(description="the task is not resolved without it; null: could not be tried")
    told: str = Field("", exclude_if=lambda told: not told, description="what failed, or why it was not tried")


class CheckedTask(Record):
    """What the controls of one task have shown, and of exactly what."""

    scored_sha256: str = Field(description="of all that scores the task, as the tests judge has it")
    commit: str = Field(description="that the task's ref stood for")
    verdict: Literal["held", "refused", "unproven"] = Field(
        description="held: every control came out as it has to; unproven: there is no solution to try"
    )
    reason: RefusalReason | None = Field(None, exclude_if=lambda reason: reason is None)
    told: str = Field("", exclude_if=lambda told: not told, description="the evidence: ids, last lines")
    warnings: tuple[str, ...] = Field((), exclude_if=lambda warnings: not warnings)
    evidence: Literal["tests", "exit-code"]
    times: int = Field(ge=1, description="how often the commands were run with the solution, and without")
    fail_to_pass: tuple[RunnerTestId, ...] = Field((), description="those of the task that are not flaky")
    pass_to_pass: tuple[str, ...] = Field((), description="those that passed with the solution, at most 1,000")
    pass_to_pass_total: int = Field(0, ge=0, description="how many there are")
    flaky: tuple[str, ...] = Field(
        (), exclude_if=lambda ids: not ids, description="tests that ended differently on the same files: they count not"
    )
    hunks: tuple[CheckedHunk, ...] = ()
    seconds: dict[str, float] = Field({}, description="one run: with the solution, on the base")
    environment: str = Field("", description="what kind of environment the commands ran in")
    preparation_sha256: str | None = Field(None, exclude_if=lambda digest: digest is None)
    harness_version: str
    checked_on: str = Field(description="the day, in UTC")

    def is_of(self, scored_sha256: str, commit: str | None) -> bool:
        """Whether this is the check of a task as it is now. A commit that nobody looked up counts as the same."""
        return self.scored_sha256 == scored_sha256 and commit in {None, self.commit}


class CheckedDataset(Record):
    """The checks of a dataset's tasks. A task that is not in it was never checked."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    dataset: PathPart = Field(description="the dataset's name")
    tasks: dict[TaskId, CheckedTask] = {}
