"""Running a task's tests under control: on a patch whose outcome is known beforehand, and what it came to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.runner_reports.resolution import resolution
from swetrials.judging.verification import NotVerifiedError, Verified, described, verify_patch
from swetrials.records.dataset import Verify
from swetrials.records.verification import CommandResult, TestState
from swetrials.workspace.printed import last_lines


@dataclass(frozen=True)
class ControlRun:
    """One run of a task's commands.

    Attributes:
        verified: what it came to; ``None``: the commands were not run, or not all.
        failure: why not.
        seconds: how long it took, checkout and environment included.
    """

    verified: Verified | None
    failure: NotVerifiedError | None
    seconds: float

    def state(self, test_id: str) -> TestState:
        """Return what became of a test."""
        return "missing" if self.verified is None else self.verified.states.by_id.get(test_id, "missing")

    @property
    def told(self) -> frozenset[str]:
        """The ids of all tests that were told of."""
        return frozenset(self.verified.states.by_id) if self.verified else frozenset()

    @property
    def results(self) -> tuple[CommandResult, ...]:
        """How the commands of the tests ended, without those of setup."""
        return self.verified.verify_results if self.verified else ()

    @property
    def stopped(self) -> tuple[CommandResult, ...]:
        """The commands that were stopped at their limit."""
        return tuple(one for one in self.results if one.exit_code is None)

    @property
    def setup_seconds(self) -> float:
        """How long it took until the first command of the tests."""
        return max(0.0, self.seconds - sum(one.duration_seconds for one in self.results))

    @property
    def longest_seconds(self) -> float:
        """The longest time of a single command."""
        return max((one.duration_seconds for one in self.verified.results), default=0.0) if self.verified else 0.0

    def why_not(self, verify: Verify, flaky: frozenset[str] = frozenset()) -> str:
        """Return why the task is not resolved by this run; empty: it is.

        Args:
            verify: what decides, without what is flaky.
            flaky: tests that say nothing.
        """
        if self.verified is None:
            return str(self.failure)
        failed = "; ".join(described(one) for one in self.results if not one.passed)
        if verify.report == "exit-code":
            return failed
        found = resolution(verify, self.verified.states.without(flaky), self.verified.faults)
        return "" if found.resolved else "; ".join(filter(None, (*found.reasons, failed))) or "not resolved"


@dataclass(frozen=True)
class Controls:
    """What runs a task's commands on patches.

    Attributes:
        submission: the task, without anybody's patch.
        verify: its commands.
        place: where to work.
        limiter: how many runs there may be at one time, those of other tasks among them.
    """

    submission: Submission
    verify: Verify
    place: WorkContext
    limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))

    async def run(self, patch: bytes, timeout_seconds: float | None = None) -> ControlRun:
        """Run the commands with a patch once.

        Args:
            patch: the change; empty: the untouched checkout.
            timeout_seconds: for each command, where it is less than the task's own.

        Raises:
            CheckoutFailed: the repository or the commit cannot be had.
            SealError: the commands are not sealed as they have to be.
            SpaceError: no working folder can be had.
            OSError: the disk is full, or broken.
        """
        limit = min(timeout_seconds or self.verify.timeout_seconds, self.verify.timeout_seconds)
        verify = self.verify.model_copy(update={"timeout_seconds": limit})
        async with self.limiter:
            began = time.monotonic()
            try:
                verified, failure = await verify_patch(self.submission, verify, patch, self.place), None
            except NotVerifiedError as error:
                verified, failure = None, error
            return ControlRun(verified, failure, round(time.monotonic() - began, 1))

    async def run_each(self, patches: Sequence[bytes]) -> list[ControlRun]:
        """Run the commands with each of some patches, and return what each came to, in their order.

        Raises:
            ExceptionGroup: of what :meth:`run` raises.
        """
        runs: dict[int, ControlRun] = {}

        async def one(number: int, patch: bytes) -> None:
            runs[number] = await self.run(patch)

        async with anyio.create_task_group() as group:
            for number, patch in enumerate(patches):
                group.start_soon(one, number, patch)
        return [runs[number] for number in range(len(patches))]


def last_printed(results: Sequence[CommandResult]) -> str:
    """Return the last lines that the last of some commands has printed, as one; empty: it has printed nothing."""
    return " | ".join(last_lines(results[-1].output_tail)) if results else ""


def differing(runs: Sequence[ControlRun]) -> frozenset[str]:
    """Return the tests that ended differently in runs on the same files."""
    ids = frozenset[str]().union(*(run.told for run in runs))
    return frozenset(one for one in ids if len({run.state(one) for run in runs}) > 1)
