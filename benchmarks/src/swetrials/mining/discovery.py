"""What the tests of a candidate show: which of them its change turns green, and which stay green.

The runs are: the change; its tests without it; and where those do not load, the parent with its own tests, which tells
what passed there all along and was only not loaded ("masked").
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio

from swetrials.checking.control_runs import ControlRun, Controls, differing, last_printed
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.mining.drafts import GOLD, HIDDEN, Draft, Refused
from swetrials.mining.runners import Runner
from swetrials.records.dataset import Task, Verify, runner_test_id
from swetrials.records.environment import EnvironmentSpec
from swetrials.records.mined import MiningMark
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.verification import TestState
from swetrials.records.words import listed

_LEAST_SECONDS, _TIMES_THE_SOLUTION = 15.0, 6.0
_LIMITS_SECONDS = (15.0, 60.0, 300.0, 900.0, 3600.0)
# A task's limit is one of these, so that it does not follow the second that a run took.

_RED: frozenset[TestState] = frozenset({"failed", "error", "missing"})


@dataclass(frozen=True)
class TestsFound:
    """The tests of a candidate by what the change does to them.

    Attributes:
        fail_to_pass: ids of those that it turns green.
        pass_to_pass: ids of those that are green with it, and were before.
        timeout_seconds: for each command.
        marks: what one should know of it.
    """

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    timeout_seconds: float
    marks: tuple[MiningMark, ...] = ()


@dataclass(frozen=True)
class Trying:
    """A draft, and all that its tests are run with.

    Attributes:
        draft: the candidate.
        repo: the repository's address.
        runner: of its tests.
        spec: what they run in.
        hidden: where its hidden files lie, by path in the repository.
        place: where to work.
        limiter: how many runs of commands there may be at one time.
        limit_seconds: longest time for one command that nobody has timed yet.
    """

    draft: Draft
    repo: str
    runner: Runner
    spec: EnvironmentSpec
    hidden: Mapping[str, Path]
    place: WorkContext
    limiter: anyio.CapacityLimiter
    limit_seconds: float

    def verify(self, found: TestsFound | None = None) -> Verify:
        """Return what decides the task, as far as it is known; the sources of its files count from the dataset."""
        name = self.draft.candidate.task_id
        return Verify(
            setup=self.runner.setup,
            commands=self.runner.commands,
            report=self.runner.report,
            fail_to_pass=found.fail_to_pass if found else (),
            pass_to_pass=found.pass_to_pass if found else "all",
            hidden_files={path: f"{HIDDEN}/{name}/{path}" for path in sorted(self.hidden)},
            solution=f"{GOLD}/{name}.patch",
            timeout_seconds=found.timeout_seconds if found else self.limit_seconds,
        )

    def submission(self, task: Task) -> Submission:
        """Return a task as its tests are given it."""
        return Submission(
            task=task,
            trial_id="mine",
            outcome=Outcome.of(OutcomeKind.COMPLETED),
            repo=self.repo,
            commit=task.ref,
            artifacts={},
            patch=None,
            hidden_files=self.hidden,
            solution=self.draft.solution,
            environment=self.spec,
        )

    def task(self, verify: Verify) -> Task:
        """Return the task, with what decides it."""
        candidate = self.draft.candidate
        return Task(
            id=candidate.task_id,
            repo=self.repo,
            ref=candidate.parent,
            complexity="medium",
            problem_statement=self.draft.statement,
            verify=verify,
            environment=self.spec,
        )


async def discover(trying: Trying, times: int) -> TestsFound | Refused:
    """Run a candidate's tests with its change, without it, and where needed those of its parent.

    Args:
        trying: the candidate.
        times: how often tests are run on the same files before they count as red.

    Raises:
        CheckoutFailed: the repository or the commit cannot be had.
        SealError: the commands are not sealed as they have to be.
        SpaceError: no working folder can be had.
        OSError: the disk is full, or broken.
    """
    verify = trying.verify()
    submission = trying.submission(trying.task(verify))
    controls = Controls(submission, verify, trying.place, trying.limiter)
    gold = await controls.run(trying.draft.solution)
    if refused := _why_not_gold(gold):
        return refused
    limit = _limit(gold.longest_seconds)
    base = await controls.run(b"", limit)
    if base.stopped:
        return Refused("base-hangs", last_printed(base.stopped))
    red = [one for one in _passed(gold) if base.state(one) in _RED]
    missing = [one for one in red if base.state(one) == "missing"]
    parents = replace(submission, hidden_files={})
    own = Controls(parents, verify, trying.place, trying.limiter)
    masked: frozenset[str] = frozenset()
    if missing and any(not file.is_new for file in trying.draft.candidate.split.hidden):
        parent = await own.run(b"", limit)
        if parent.verified is None or not parent.told:
            return Refused("parent-fails", _words_of(parent))
        masked = frozenset(one for one in missing if parent.state(one) == "passed")
    fail_to_pass = [one for one in red if one not in masked]
    if not fail_to_pass:
        if masked:
            return Refused("only-masked", listed(sorted(masked)))
        return await _why_none(trying, gold, own, times)
    pass_to_pass = [one for one in _passed(gold) if base.state(one) == "passed" or one in masked]
    marks: list[MiningMark] = ["masked-names"] if masked else []
    if missing:
        marks.append("base-does-not-load")
    return TestsFound(tuple(fail_to_pass), tuple(pass_to_pass), limit, tuple(marks))


def _limit(gold_seconds: float) -> float:
    least = max(_LEAST_SECONDS, _TIMES_THE_SOLUTION * gold_seconds)
    return next((limit for limit in _LIMITS_SECONDS if limit >= least), least)


def _why_not_gold(gold: ControlRun) -> Refused | None:
    if gold.verified is None:
        return Refused("environment-build", _words_of(gold))
    if gold.stopped:
        return Refused("gold-hangs", last_printed(gold.stopped))
    if gold.verified.faults or not gold.told:
        faults = "; ".join(gold.verified.faults) or "no test is told of"
        return Refused("gold-no-report", f"{faults}: {last_printed(gold.results)}")
    return None


async def _why_none(trying: Trying, gold: ControlRun, own: Controls, times: int) -> Refused:
    """Return why a change turns no test green: its tests stay red, or there was nothing to turn."""
    broken = [one for one in gold.told if gold.state(one) in _RED]
    if broken:
        parent = await own.run(b"", _limit(gold.longest_seconds))
        broken = sorted(one for one in broken if parent.state(one) not in {"failed", "error"})
    if not broken:
        return Refused("base-passes", f"{len(gold.told)} tests, none of which the change turns green")
    again = await replace(own, submission=trying.submission(own.submission.task)).run_each(
        [trying.draft.solution] * (times - 1)
    )
    if varying := differing([gold, *again]):
        return Refused("flaky", listed(sorted(varying)))
    return Refused("gold-fails", f"{listed(broken)}: {last_printed(gold.results)}")


def _passed(run: ControlRun) -> list[str]:
    """Return the tests that passed, without those that a report tells twice and not alike."""
    unclear = run.verified.states.differing if run.verified else set()
    return sorted(one for one in run.told if run.state(one) == "passed" and one not in unclear and _is_an_id(one))


def _is_an_id(test_id: str) -> bool:
    """Whether a dataset can name a test so."""
    try:
        runner_test_id(test_id)
    except ValueError:
        return False
    return True


def _words_of(run: ControlRun) -> str:
    return str(run.failure) if run.failure else last_printed(run.results)
