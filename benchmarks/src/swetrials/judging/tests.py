"""The tests judge: the dataset's own commands, run on a fresh checkout with the patch applied."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import orjson

from swetrials.environments.sealing import SealError
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.checkout import CheckoutFailed
from swetrials.judging.hidden import contents
from swetrials.judging.runner_reports.resolution import resolution
from swetrials.judging.verification import NotVerifiedError, Verified, described, verify_patch
from swetrials.records.check import Check
from swetrials.records.dataset import Verify
from swetrials.records.evaluation import TESTS, CommandResult, TestsEvaluation
from swetrials.store.clock import utc_now
from swetrials.store.files import sha256_of
from swetrials.workspace.space import SpaceError


@dataclass(frozen=True)
class TestsJudge:
    """The ``tests`` judge. Without a patch it runs the commands on the untouched checkout."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class
    name: ClassVar[str] = TESTS
    kind: ClassVar[Literal["rubric", "tests"]] = "tests"
    label: ClassVar[str] = TESTS

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of the commands, their limit, what they run in, the hidden files' bytes and the solution's.

        Raises:
            OSError: a hidden file cannot be read.
        """
        verify = submission.task.verify
        scoring: dict[str, object] = {
            "verify": verify.model_dump(mode="json", exclude={"hidden_files", "solution"}) if verify else None,
            "hidden_files": contents(submission.hidden_files),
        }
        if submission.solution is not None:
            scoring["solution"] = sha256_of(submission.solution)
        if submission.flaky:
            scoring["flaky"] = sorted(submission.flaky)
        if asked := submission.environment.sha256:
            scoring["environment"] = asked
        return sha256_of(orjson.dumps(scoring, option=orjson.OPT_SORT_KEYS))

    def asks(self, submission: Submission) -> bool:
        """Return whether the commands are run."""
        return submission.task.verify is not None and submission.outcome.valid

    async def score(self, submission: Submission, place: WorkContext, log: Path) -> TestsEvaluation:
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
            verified = await verify_patch(submission, verify, submission.patch or b"", place)
        except NotVerifiedError as error:
            word = _not_verified(error)
        except (CheckoutFailed, SealError, SpaceError, OSError) as error:
            return _unscored(place.redactor.text(str(error)))
        else:
            word = _evaluation(verify, verified, patched=bool(submission.patch))
        return word.model_copy(update={"report": verify.report})

    async def prove(self, place: WorkContext) -> Check:
        """Tell what the commands, which run a trial's code, will be kept from."""
        kind = place.environment.kind
        if place.environment.seals:
            reached = "without a network unless the dataset allows one"
            return Check(self.name, "ok", f"commands run in {kind}, {reached}; none was tried, setup included")
        return Check(self.name, "warning", f"commands run on the {kind}, which keeps them from nothing; none was tried")


def _evaluation(verify: Verify, verified: Verified, *, patched: bool) -> TestsEvaluation:
    failed = [result for result in verified.verified if not result.passed]
    commands = verified.verified
    evaluation = TestsEvaluation(
        status="scored",
        reason="; ".join(map(described, failed)),
        passed=not failed,
        fraction=(len(commands) - len(failed)) / len(commands),
        resolved=not failed,
        evidence="exit-code" if verify.report == "exit-code" else "tests",
        canaries=verified.canaries,
        patch_applied=True if patched else None,
        results=verified.results,
        environment=verified.environment,
        sealing=verified.sealing,
        registries=verified.registries,
        evaluated_at=utc_now(),
    )
    return evaluation if verify.report == "exit-code" else _by_tests(evaluation, verify, verified)


def _by_tests(evaluation: TestsEvaluation, verify: Verify, verified: Verified) -> TestsEvaluation:
    """Return an evaluation that is resolved by what became of each test, however the commands ended."""
    found = resolution(verify, verified.states, verified.faults)
    return evaluation.model_copy(
        update={
            "resolved": found.resolved,
            "reason": "; ".join((*found.reasons, *filter(None, [evaluation.reason]))),
            "fail_to_pass": found.fail_to_pass,
            "pass_to_pass": found.pass_to_pass,
            "regressions": found.regressions,
            "tests": found.tests,
        }
    )


def _not_verified(error: NotVerifiedError) -> TestsEvaluation:
    if not error.of_patch:
        return _unscored(str(error), error.results)
    return TestsEvaluation(
        status="scored",
        reason=str(error),
        passed=False,
        fraction=0.0,
        resolved=False,
        patch_applied=error.patch_applied,
        results=error.results,
        evaluated_at=utc_now(),
    )


def _unscored(reason: str, results: Sequence[CommandResult] = ()) -> TestsEvaluation:
    return TestsEvaluation(status="unscored", reason=reason, results=tuple(results), evaluated_at=utc_now())
