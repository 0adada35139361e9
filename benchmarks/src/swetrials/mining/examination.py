"""A draft's way to its verdict: an environment, its tests, its controls."""

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from swetrials.checking.task_check import check_task
from swetrials.environments.base import PreparationError
from swetrials.environments.preparation import Preparations, Source
from swetrials.environments.toolchain import ToolMissingError
from swetrials.environments.work_context import WorkContext
from swetrials.judging.tests import TestsJudge
from swetrials.mining.discovery import TestsFound, Trying, discover
from swetrials.mining.drafts import Draft, MiningCandidate, Refused
from swetrials.mining.environment_of_day import EnvironmentWay, ways_to_prepare
from swetrials.mining.mirror_reader import MirrorReader
from swetrials.mining.project_files import ProjectFiles, project_files
from swetrials.mining.runners import Runner, runner_of
from swetrials.records.checked import CheckedTask, pruned
from swetrials.records.checked import RefusalReason as CheckRefusal
from swetrials.records.dataset import Complexity, Task
from swetrials.records.mined import MinedVerdict, MiningMark, MiningRefusal
from swetrials.workspace.patch import PatchError

_OF_CHECK: dict[CheckRefusal, MiningRefusal] = {
    "setup-fails": "environment-build",
    "solution-does-not-apply": "gold-fails",
    "times-out": "gold-hangs",
    "canary": "gold-no-report",
    "no-power": "no-power",
}
# All else contradicts what the same tests have shown on the same files a moment before: they are flaky.

_SMALL, _MIDDLE = 10, 60
# Changed lines of source: up to so many, a change is of the tier low, or medium.


@dataclass(frozen=True)
class Examiner:
    """What candidates are tried with.

    Attributes:
        repo: the repository's address.
        mirror: of it.
        place: where to work.
        limiter: how many runs of commands there may be at one time.
        runner: that a person has named; ``None``: it is found.
        times: how often tests are run on the same files.
        limit_seconds: longest time for a command of the tests that nobody has timed yet.
        preparing_seconds: longest time for one command of a setup.
        asked_sha256: of the options that a verdict depends on.
    """

    repo: str
    mirror: MirrorReader
    place: WorkContext
    limiter: anyio.CapacityLimiter
    runner: Runner | None
    times: int
    limit_seconds: float
    preparing_seconds: float
    asked_sha256: str

    async def verdict(self, draft: Draft) -> MinedVerdict:
        """Return what becomes of a draft.

        Raises:
            CheckoutFailed: the repository or the commit cannot be had.
            SealError: the commands are not sealed as they have to be.
            SpaceError: no working folder can be had.
            GitError: the repository is broken.
            OSError: the disk is full, or broken.
            ExceptionGroup: of these.
        """
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mine-", dir=self.place.work_root) as folder:
            hidden = await run_sync(draft.lay_out, Path(folder))
            outcome = await self._tried(draft, hidden)
        verdict = outcome if isinstance(outcome, MinedVerdict) else self.refused(draft.candidate, outcome)
        return verdict.model_copy(update={"seconds": round(time.monotonic() - began, 1)})

    def refused(self, candidate: MiningCandidate, refused: Refused) -> MinedVerdict:
        """Return the verdict of a candidate that is no task."""
        change = candidate.change
        return MinedVerdict(
            commit=change.commit,
            parent=candidate.parent,
            asked_sha256=self.asked_sha256,
            subject=change.subject,
            reason=refused.reason,
            told=self.place.redactor.text(refused.told),
        )

    async def _tried(self, draft: Draft, hidden: dict[str, Path]) -> MinedVerdict | Refused:
        touched = [file.path for file in (*draft.candidate.split.source, *draft.candidate.split.hidden)]
        project = await run_sync(project_files, self.mirror, draft.candidate.parent, touched)
        found_runner = runner_of(project, [(path, file.data) for path, file in draft.hidden.items()])
        runner = self.runner or (found_runner.inside(project.folder) if found_runner else None)
        if runner is None:
            return Refused("runner-unknown")
        found_way = await self._prepared(draft, project, runner)
        if isinstance(found_way, Refused):
            return found_way
        trying = Trying(draft, self.repo, runner, found_way.spec, hidden, self.place, self.limiter, self.limit_seconds)
        found = await discover(trying, self.times)
        if isinstance(found, Refused):
            return found
        return await self._checked(trying, found, found_way.marks)

    async def _prepared(self, draft: Draft, project: ProjectFiles, runner: Runner) -> EnvironmentWay | Refused:
        """Return the first way of making the environment that works, with the change and without it."""
        preparations = Preparations(self.place, limit_seconds=self.preparing_seconds)
        told: list[str] = []
        try:
            tests = "\n".join(file.data.decode(errors="replace") for file in draft.hidden.values())
            ways = list(ways_to_prepare(project, runner, draft.candidate.day, tests, self.place.project))
        except ToolMissingError as error:
            return Refused("environment-unavailable", str(error))
        for way in ways:
            try:
                for patch in (draft.solution, b"") if "manifest-touched" in draft.marks else (b"",):
                    async with preparations.holding(Source(way.spec, self.repo, draft.candidate.parent, patch)):
                        pass
            except PreparationError as error:
                told.append(str(error))
                continue
            except PatchError as error:
                return Refused("gold-fails", str(error))
            return way
        late = any(re.search(r"was stopped after \d+ s", one) for one in told)
        return Refused("environment-timeout" if late else "environment-build", told[-1])

    async def _checked(self, trying: Trying, found: TestsFound, marks: Sequence[MiningMark]) -> MinedVerdict | Refused:
        task = trying.task(trying.verify(found))
        submission = trying.submission(task)
        check = await check_task(submission, self.place, self.limiter, self.times, lambda told: None)
        if check.reason is not None:
            return Refused(_OF_CHECK.get(check.reason, "flaky"), check.told)
        seen = [*trying.draft.marks, *marks, *found.marks]
        if check.flaky:
            assert task.verify is not None
            task = trying.task(pruned(task.verify, frozenset(check.flaky)))
            scored = TestsJudge().scored_sha256(replace(submission, task=task))
            check = check.model_copy(update={"scored_sha256": scored, "flaky": ()})
            seen.append("flaky-tests")
        if any(hunk.power is False for hunk in check.hunks):
            seen.append("hunks-without-power")
        return self._kept(trying, task, check, tuple(dict.fromkeys(seen)))

    def _kept(self, trying: Trying, task: Task, check: CheckedTask, marks: tuple[MiningMark, ...]) -> MinedVerdict:
        change = trying.draft.candidate.change
        update = {"complexity": _tier(trying.draft, task), "tags": ("mined", "tier-estimated", *marks)}
        task = task.model_copy(update=update)
        scored = TestsJudge().scored_sha256(trying.submission(task))
        return MinedVerdict(
            commit=change.commit,
            parent=task.ref,
            asked_sha256=self.asked_sha256,
            subject=change.subject,
            marks=marks,
            task=task,
            check=check.model_copy(update={"scored_sha256": scored}),
        )


def _tier(draft: Draft, task: Task) -> Complexity:
    """Return a guess by how much a change changes, and in how many files."""
    source = draft.candidate.split.source
    lines = sum(file.changed_lines for file in source)
    tests = len(task.verify.fail_to_pass) if task.verify else 0
    if lines <= _SMALL and len(source) == 1:
        return "trivial" if lines <= _SMALL // 3 and tests <= 1 else "low"
    return "medium" if lines <= _MIDDLE and len(source) <= 3 else "high"
