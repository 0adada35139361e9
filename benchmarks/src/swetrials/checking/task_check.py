"""The controls of one task: setup, with the solution, without any change, and the solution without a hunk."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import anyio

from swetrials import __version__
from swetrials.checking.control_runs import ControlRun, Controls, differing, last_printed
from swetrials.checking.file_kinds import kind_of_file
from swetrials.checking.hunks import MOST_HUNKS, SourceHunk, telling_hunks
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.tests import TestsJudge
from swetrials.records.checked import MOST_IDS_KEPT, CheckedHunk, CheckedTask, RefusalReason, pruned
from swetrials.records.dataset import Verify
from swetrials.records.verification import CommandResult
from swetrials.records.words import counted, listed
from swetrials.store.clock import utc_now
from swetrials.workspace.patch_sections import only

_TIMES_THE_SOLUTION, _LEAST_SECONDS = 3, 15.0
# A hunk's command may hang: it gets three times what the solution's longest one took, and never less than 15 s.


@dataclass(frozen=True)
class ControlTold:
    """A line on a control that came to its end.

    Attributes:
        task: its id.
        control: which one.
        result: what it came to, in words.
        seconds: of one run of it; ``None``: nothing was run.
    """

    task: str
    control: str
    result: str
    seconds: float | None = None


Tell = Callable[[ControlTold], None]


class _RefusedError(Exception):
    """A task is refused."""

    def __init__(self, reason: RefusalReason, told: str) -> None:
        super().__init__(told)
        self.reason = reason
        self.told = told


async def check_task(
    submission: Submission, place: WorkContext, limiter: anyio.CapacityLimiter, times: int, tell: Tell
) -> CheckedTask:
    """Run the controls of a task that has ``verify``.

    Args:
        submission: the task, without anybody's patch.
        place: where to work.
        limiter: how many runs of commands there may be at one time.
        times: how often the commands are run with the solution, and without, to find what is flaky.
        tell: takes in each control as it ends.

    Raises:
        CheckoutFailed: the repository or the commit cannot be had.
        SealError: the commands are not sealed as they have to be.
        SpaceError: no working folder can be had.
        OSError: the disk is full, or broken.
        ExceptionGroup: of these.
    """
    verify = submission.task.verify
    assert verify is not None
    checking = _Checking(Controls(submission, verify, place, limiter), times, tell)
    try:
        return await checking.checked()
    except _RefusedError as refused:
        update = {"verdict": "refused", "reason": refused.reason, "told": place.redactor.text(refused.told)}
        return checking.record().model_copy(update=update)


class _Checking:
    """The controls of a task under way, and what they have shown until now."""

    def __init__(self, controls: Controls, times: int, tell: Tell) -> None:
        self._controls, self._verify, self._times, self._tell = controls, controls.verify, times, tell
        self._task = controls.submission.task.id
        self._solved: list[ControlRun] = []
        self._bare: list[ControlRun] = []
        self._flaky: frozenset[str] = frozenset()
        self._hunks: tuple[CheckedHunk, ...] = ()
        self._warnings: list[str] = []

    async def checked(self) -> CheckedTask:
        """Run everything."""
        solution = self._controls.submission.solution
        if solution is None:
            self._bare = await self._first_then_others(b"")
            self._refuse_base()
            update = {"verdict": "unproven", "told": "no solution: nothing shows that the tests can be passed"}
            return self.record().model_copy(update=update)
        if not solution.strip():
            raise _RefusedError("solution-does-not-apply", "the solution is empty")
        self._solved = [await self._proved_to_start(solution)]
        self._refuse_stopped()
        others = await self._controls.run_each([solution] * (self._times - 1) + [b""] * self._times)
        self._solved += others[: self._times - 1]
        self._bare = others[self._times - 1 :]
        self._refuse_solution()
        self._refuse_base()
        await self._try_hunks(solution)
        return self.record()

    def record(self) -> CheckedTask:
        """Return what is known by now, as a task that holds."""
        submission, ran = self._controls.submission, next((one.verified for one in self._runs if one.verified), None)
        solved = self._solved[0] if self._solved else None
        kept = [one for one in self._pass_to_pass() if solved is not None and solved.state(one) == "passed"]
        seconds = {"solution": self._solved, "base": self._bare}
        return CheckedTask(
            scored_sha256=TestsJudge().scored_sha256(submission),
            commit=submission.commit,
            verdict="held",
            warnings=tuple(self._warnings),
            evidence="exit-code" if self._verify.report == "exit-code" else "tests",
            times=self._times,
            fail_to_pass=self._steady.fail_to_pass,
            pass_to_pass=tuple(kept[:MOST_IDS_KEPT]),
            pass_to_pass_total=len(kept),
            flaky=tuple(sorted(self._flaky)),
            hunks=self._hunks,
            seconds={name: _one_run(runs) for name, runs in seconds.items() if runs},
            environment=ran.environment.kind if ran and ran.environment else "",
            preparation_sha256=ran.preparation_sha256 if ran else None,
            harness_version=__version__,
            checked_on=utc_now()[:10],
        )

    @property
    def _runs(self) -> list[ControlRun]:
        return [*self._solved, *self._bare]

    @property
    def _steady(self) -> Verify:
        return pruned(self._verify, self._flaky)

    def _pass_to_pass(self) -> list[str]:
        if (listed := self._steady.pass_to_pass) != "all":
            return list(listed)
        told = self._solved[0].told if self._solved else frozenset()
        return sorted(told - self._flaky - {*self._verify.fail_to_pass})

    async def _first_then_others(self, patch: bytes) -> list[ControlRun]:
        first = await self._proved_to_start(patch)
        return [first, *await self._controls.run_each([patch] * (self._times - 1))]

    async def _proved_to_start(self, patch: bytes) -> ControlRun:
        """Run the commands once, which shows that they can be: setup works, and the patch applies."""
        run = await self._controls.run(patch)
        if run.failure is None:
            self._say("setup", "works", run.setup_seconds)
            return run
        reason: RefusalReason = "solution-does-not-apply" if run.failure.patch_applied is False else "setup-fails"
        self._say(*(("setup", "fails") if reason == "setup-fails" else ("solution", "does not apply")), run.seconds)
        raise _RefusedError(reason, _with_output(str(run.failure), run.failure.results))

    def _refuse_solution(self) -> None:
        """Find what is flaky, and refuse a task that is not resolved with its solution."""
        self._find_flaky()
        whys = [run.why_not(self._steady, self._flaky) for run in self._solved]
        resolved = whys.count("")
        self._say("solution", _times("resolved", "not resolved", resolved, len(whys)), _one_run(self._solved))
        why = next(filter(None, whys), "")
        if not why:
            self._refuse_canaries()
            return
        self._refuse_stopped()
        failure = next((run.failure for run in self._solved if run.failure), None)
        if failure is not None:
            raise _RefusedError("flaky", f"the first run worked, and a later one did not: {failure}")
        if self._verify.report == "exit-code" and resolved:
            raise _RefusedError("flaky", f"resolved {resolved} of {len(whys)} times with the solution: {why}")
        self._refuse_unknown_ids()
        raise _RefusedError("solution-fails", why)

    def _find_flaky(self) -> None:
        if self._verify.report == "exit-code":
            return
        self._flaky = differing(self._solved) | differing([run for run in self._bare if run.verified])
        if not self._flaky:
            return
        wanted = self._verify.fail_to_pass
        flaky = listed(sorted(self._flaky))
        if wanted and not self._steady.fail_to_pass:
            raise _RefusedError("flaky", f"every fail-to-pass test is: {flaky}")
        if self._steady.pass_to_pass == () and not self._steady.fail_to_pass:
            raise _RefusedError("flaky", flaky)
        self._warnings.append(f"flaky, and left out: {flaky}")
        self._say("flaky", f"left out: {flaky}", None)

    def _refuse_stopped(self) -> None:
        for run in self._solved:
            for stopped in run.stopped:
                told = f"`{' '.join(stopped.argv)}` was stopped after {stopped.duration_seconds:.0f} s"
                raise _RefusedError("times-out", _with_output(told, [stopped]))

    def _refuse_unknown_ids(self) -> None:
        told = frozenset[str]().union(*(run.told for run in self._runs))
        steady = self._verify.pass_to_pass if self._verify.pass_to_pass != "all" else ()
        unknown = [one for one in (*self._verify.fail_to_pass, *steady) if one not in told]
        if told and unknown:
            raise _RefusedError("no-test-ids", f"{listed(unknown)}; there are such as {listed(sorted(told)[:2])}")

    def _refuse_canaries(self) -> None:
        for run in self._solved:
            for canary in run.verified.canaries if run.verified else ():
                if not canary.held:
                    state = canary.state or "not tried"
                    told = f"`{canary.command}`: expected {canary.expected}, was {state}"
                    raise _RefusedError("canary", f"{told}{': ' if canary.told else ''}{canary.told}")

    def _refuse_base(self) -> None:
        """Refuse a task that is resolved without any change, or whose lists do not fit what fails there."""
        if not self._solved:
            self._find_flaky()
        failing = sum(bool(run.why_not(self._steady, self._flaky)) for run in self._bare)
        self._say("base", _times("fails", "passes", failing, len(self._bare)), _one_run(self._bare))
        passing = [one for one in self._steady.fail_to_pass if any(run.state(one) == "passed" for run in self._bare)]
        if passing:
            raise _RefusedError("passes-on-base", listed(passing))
        if failing < len(self._bare):
            if failing:
                raise _RefusedError(
                    "flaky", f"resolved {len(self._bare) - failing} of {len(self._bare)} times unchanged"
                )
            raise _RefusedError("passes-on-base", "every command and every test passes without the change")
        if failures := [run.failure for run in self._bare if run.failure]:
            self._warnings.append(
                f"setup fails without the change, so that no test says what fails there: {failures[0]}"
            )
        self._refuse_misplaced()
        if not self._steady.fail_to_pass and self._verify.report != "exit-code":
            self._warnings.append("no fail_to_pass: nothing but how the whole ends tells the change from none")

    def _refuse_misplaced(self) -> None:
        """Refuse where tests that are to stay green are red without the change; a file may not load there."""
        broken = {
            one: state
            for one in self._pass_to_pass()
            for state in [next((run.state(one) for run in self._bare if run.state(one) != "passed"), None)]
            if state in {"failed", "error"}
        }
        if not broken:
            return
        named = listed([f"{one} ({state})" for one, state in broken.items()])
        if self._verify.pass_to_pass != "all":
            raise _RefusedError("fails-on-base", named)
        if self._solved:
            self._warnings.append(
                f"also turned green by the change, and not in fail_to_pass: {named}; "
                "add them there: a trial that leaves them red has a regression"
            )

    async def _try_hunks(self, solution: bytes) -> None:
        """Leave out each hunk in turn; some absence has to be noticed."""
        hunks = telling_hunks(await self._without_own_tests(solution))
        limit = max(_LEAST_SECONDS, _TIMES_THE_SOLUTION * max(run.longest_seconds for run in self._solved))
        tried: dict[int, CheckedHunk] = {}

        async def one(number: int, hunk: SourceHunk) -> None:
            tried[number] = await self._without(hunk, limit)

        async with anyio.create_task_group() as group:
            for number, hunk in enumerate(hunks[:MOST_HUNKS]):
                group.start_soon(one, number, hunk)
        self._hunks = tuple(tried[number] for number in sorted(tried))
        powers = [hunk.power for hunk in self._hunks]
        if False in powers and True not in powers:
            raise _RefusedError(
                "no-power", listed([f"{one.file} {one.at}" for one in self._hunks if one.power is False])
            )
        self._warnings += [
            f"no test notices the absence of {one.file} {one.at}" for one in self._hunks if one.power is False
        ]
        if True not in powers:
            self._warnings.append("no part of the solution could be left out to see whether tests notice")
        if len(hunks) > MOST_HUNKS:
            self._warnings.append(f"{counted(len(hunks) - MOST_HUNKS, 'smaller hunk')} not tried")

    async def _without_own_tests(self, solution: bytes) -> bytes:
        """Return the solution without its own tests, which no candidate has and which must not notice for them."""
        bare = only(solution, lambda section: not any(kind_of_file(path) == "test" for path in section.paths))
        if bare == solution:
            return solution
        run = await self._controls.run(bare)
        why = run.why_not(self._steady, self._flaky)
        self._say("solution without its own tests", "not resolved" if why else "resolved", run.seconds)
        if not why:
            return bare
        self._warnings.append(f"not resolved without the solution's own tests, which no candidate has: {why}")
        return solution

    async def _without(self, hunk: SourceHunk, limit_seconds: float) -> CheckedHunk:
        run = await self._controls.run(hunk.without, limit_seconds)
        dropped = ""
        if run.failure is not None and run.failure.patch_applied is False and hunk.without_file != hunk.without:
            dropped = "the whole file was left out: without the hunk the rest does not apply"
            run = await self._controls.run(hunk.without_file, limit_seconds)
        name = f"without {hunk.file} {hunk.at}"
        if run.failure is not None and run.failure.patch_applied is False:
            self._say(name, "not tried: the rest does not apply", run.seconds)
            return CheckedHunk(file=hunk.file, at=hunk.at, power=None, told="the rest does not apply without it")
        why = run.why_not(self._steady, self._flaky)
        self._say(name, "fails, as it has to" if why else "resolved: no test notices", run.seconds)
        told = "; ".join(filter(None, (dropped, why.partition("; ")[0])))
        return CheckedHunk(file=hunk.file, at=hunk.at, power=bool(why), told=self._controls.place.redactor.text(told))

    def _say(self, control: str, result: str, seconds: float | None) -> None:
        self._tell(ControlTold(self._task, control, result, seconds))


def _with_output(told: str, results: Sequence[CommandResult]) -> str:
    return " | ".join(filter(None, (told, last_printed(results))))


def _times(as_it_has_to: str, else_: str, number: int, runs: int) -> str:
    """Return how often a control came out as it has to; never so: how it came out instead."""
    return f"{as_it_has_to}, {number} of {runs} times" if number else f"{else_}, {runs} of {runs} times"


def _one_run(runs: Sequence[ControlRun]) -> float:
    return round(median(run.seconds for run in runs), 1)
