"""The tests judge: the dataset's own commands, run on a fresh checkout with the patch applied."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import orjson
from anyio import to_thread

from swetrials.environments.bubblewrap import NOT_WANTED, Absence, Sandbox, probe
from swetrials.judging.base import JudgeContext, Submission
from swetrials.judging.checkout import CheckoutFailed, clean_checkout
from swetrials.judging.hidden import PlacementError, contents, place_hidden_files
from swetrials.records.argv import Argv
from swetrials.records.check import Check
from swetrials.records.dataset import Verify
from swetrials.records.evaluation import TESTS, CommandResult, TestsEvaluation
from swetrials.store.clock import utc_now
from swetrials.store.files import sha256_of
from swetrials.workspace.patch import PatchError, apply_patch
from swetrials.workspace.processes import Command, LaunchError, ProcessLimits, run_captured
from swetrials.workspace.space import Space, SpaceError, attempt_space_aside
from swetrials.workspace.variables import allowed_environment

_TAIL_BYTES = 4096
_MOST_OF_A_LINE = 300
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")
# Control sequences (ECMA-48: CSI), a terminal's own (OSC), and single control characters.
_NO_SUCH_PROGRAM = 127
# As a shell would say it.


@dataclass(frozen=True)
class TestsJudge:
    """The ``tests`` judge. Without a patch it runs the commands on the untouched checkout."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class
    name: ClassVar[str] = TESTS
    kind: ClassVar[Literal["rubric", "tests"]] = "tests"
    label: ClassVar[str] = TESTS

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of the commands, their limit, and the bytes of the hidden files.

        Raises:
            OSError: a hidden file cannot be read.
        """
        verify = submission.task.verify
        scoring = {
            "verify": verify.model_dump(mode="json", exclude={"hidden_files"}) if verify else None,
            "hidden_files": contents(submission.hidden_files),
        }
        return sha256_of(orjson.dumps(scoring, option=orjson.OPT_SORT_KEYS))

    def asks(self, submission: Submission) -> bool:
        """Return whether the commands are run."""
        return submission.task.verify is not None and submission.outcome.valid

    async def score(self, submission: Submission, context: JudgeContext, log: Path) -> TestsEvaluation:
        """Apply the patch, add the hidden files, run setup and commands; ``log`` is not used.

        A patch that does not apply fails. A checkout or a setup that fails says nothing about the patch and
        leaves the trial unscored, and so does an infrastructure failure of the trial itself.
        """
        verify = submission.task.verify
        if verify is None:
            return _unscored("the task has no verify commands")
        if not submission.outcome.valid:
            return _unscored(f"not run: the trial ended as {submission.outcome.kind}, which says nothing of the model")
        try:
            async with attempt_space_aside(context.work_root, f"tests-{secrets.token_hex(6)}") as space:
                return await _tested(submission, verify, space, context)
        except (CheckoutFailed, SpaceError, OSError) as error:
            return _unscored(context.redactor.text(str(error)))

    async def prove(self, context: JudgeContext) -> Check:
        """Tell whether the commands, which run a trial's code, will be confined."""
        name = "tests"
        if context.bwrap is None:
            found = probe()
            absent = found if isinstance(found, Absence) else NOT_WANTED
            return Check(name, "warning", f"commands run without a sandbox: {absent.why}; none was tried")
        return Check(name, "ok", "commands run in bubblewrap; none was tried, setup included")


async def _tested(submission: Submission, verify: Verify, space: Space, context: JudgeContext) -> TestsEvaluation:
    await clean_checkout(context.repositories, submission, space.checkout)
    try:
        if submission.patch:
            await to_thread.run_sync(apply_patch, space.checkout, submission.patch)
    except PatchError as error:
        return _failed(context.redactor.text(str(error)), patch_applied=False)
    try:
        await to_thread.run_sync(place_hidden_files, space.checkout, submission.hidden_files)
    except PlacementError as error:
        return _failed(str(error), patch_applied=True) if submission.patch else _unscored(str(error))
    evaluation = await _verified(verify, space, context)
    return evaluation.model_copy(update={"patch_applied": True if submission.patch else None})


async def _verified(verify: Verify, space: Space, context: JudgeContext) -> TestsEvaluation:
    results: list[CommandResult] = []
    for argv in verify.setup:
        results.append(await _run(argv, "setup", verify.timeout_seconds, space, context))
        if not results[-1].passed:
            return _unscored(f"setup failed: {_described(results[-1])}", results)
    for argv in verify.commands:
        results.append(await _run(argv, "verify", verify.timeout_seconds, space, context))
    verified = [result for result in results if result.stage == "verify"]
    failed = [result for result in verified if not result.passed]
    return TestsEvaluation(
        status="scored",
        reason="; ".join(map(_described, failed)),
        passed=not failed,
        fraction=(len(verified) - len(failed)) / len(verified),
        results=tuple(results),
        evaluated_at=utc_now(),
    )


async def _run(
    argv: Argv, stage: Literal["setup", "verify"], limit_seconds: float, space: Space, context: JudgeContext
) -> CommandResult:
    sandbox = Sandbox(context.bwrap, context.hidden, context.readable)
    words = sandbox.around(argv, (space.checkout, space.home, space.temporary))
    command = Command(words, space.checkout, allowed_environment(space.home, space.temporary))
    try:
        ended, tail = await run_captured(
            command, ProcessLimits(wall_seconds=limit_seconds), mark=space.root.name, tail_bytes=_TAIL_BYTES
        )
    except LaunchError as error:
        return CommandResult(
            argv=argv, stage=stage, exit_code=_NO_SUCH_PROGRAM, duration_seconds=0.0, output_tail=str(error)
        )
    return CommandResult(
        argv=argv,
        stage=stage,
        exit_code=ended.exit_code if ended.cause == "exited" else None,
        duration_seconds=round(ended.wall_seconds, 3),
        output_tail=context.redactor.text(tail.decode(errors="replace")),
    )


def _described(result: CommandResult) -> str:
    how = "was stopped at its limit" if result.exit_code is None else f"ended with exit code {result.exit_code}"
    said = last_line(result.output_tail)
    return f"`{' '.join(result.argv)}` {how}{': ' if said else ''}{said}"


def last_line(output: str) -> str:
    """Return the last line that says something, without a terminal's colours; at most 300 characters of it."""
    plain = (_CONTROL.sub("", line).strip() for line in reversed(output.splitlines()))
    return next((line for line in plain if line), "")[:_MOST_OF_A_LINE]


def _failed(reason: str, patch_applied: bool) -> TestsEvaluation:
    return TestsEvaluation(
        status="scored", reason=reason, passed=False, fraction=0.0, patch_applied=patch_applied, evaluated_at=utc_now()
    )


def _unscored(reason: str, results: Sequence[CommandResult] = ()) -> TestsEvaluation:
    return TestsEvaluation(status="unscored", reason=reason, results=tuple(results), evaluated_at=utc_now())
