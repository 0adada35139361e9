"""What a task's commands come to without the trial's patch: with the solution, or on the untouched checkout."""

from dataclasses import dataclass, field
from typing import Literal

import anyio

from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.verification import NotVerifiedError, Verified, verify_patch
from swetrials.records.dataset import Verify


@dataclass(frozen=True)
class Reference:
    """One run of a task's commands that no trial has had a part in.

    Attributes:
        of: what was in the checkout: the solution, or nothing but the commit.
        verified: what came of it; ``None``: nothing, and ``failure`` says why.
    """

    of: Literal["solution", "base"]
    verified: Verified | None
    failure: str = ""

    @property
    def as_bad(self) -> str:
        """How it is said that the commands do no better here than with a trial's patch."""
        return (
            "the solution is not resolved here either" if self.of == "solution" else "it is the same without the change"
        )

    @property
    def expected(self) -> frozenset[str]:
        """Tests that pass in it, and so have to pass with a patch."""
        return self._having(passed=True)

    @property
    def excused(self) -> frozenset[str]:
        """Tests that the solution does not make pass either; without one nobody knows what a patch owes."""
        return self._having(passed=False) if self.of == "solution" else frozenset()

    def _having(self, *, passed: bool) -> frozenset[str]:
        states = self.verified.states.by_id if self.verified else {}
        return frozenset(one for one, state in states.items() if (state == "passed") is passed)


@dataclass
class References:
    """The references of a process: each is run once, whoever asks and how often, several at a time."""

    _known: dict[str, Reference] = field(default_factory=dict)
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)

    async def of(self, submission: Submission, verify: Verify, place: WorkContext, scored_sha256: str) -> Reference:
        """Return the reference of a trial's task.

        Args:
            submission: names the repository, the commit, the environment, the hidden files and the solution.
            verify: the commands.
            place: where to work.
            scored_sha256: of all that scores the trial; with the commit it decides what is prepared as well.

        Raises:
            CheckoutFailed: the repository or the commit cannot be had.
            SealError: the commands are not sealed as they have to be.
            SpaceError: no working folder can be had.
            OSError: the disk is full, or broken.
        """
        key = f"{scored_sha256} {submission.commit} {submission.repo}"
        async with self._locks.setdefault(key, anyio.Lock()):
            if key not in self._known:
                self._known[key] = await reference(submission, verify, place)
            return self._known[key]


async def reference(submission: Submission, verify: Verify, place: WorkContext) -> Reference:
    """Run a task's commands with its solution, or on the untouched checkout where it has none.

    Raises:
        CheckoutFailed: the repository or the commit cannot be had.
        SealError: the commands are not sealed as they have to be.
        SpaceError: no working folder can be had.
        OSError: the disk is full, or broken.
    """
    of: Literal["solution", "base"] = "base" if submission.solution is None else "solution"
    try:
        return Reference(of, await verify_patch(submission, verify, submission.solution or b"", place))
    except NotVerifiedError as error:
        return Reference(of, None, str(error))
