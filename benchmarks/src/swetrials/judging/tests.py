"""The tests judge: the dataset's own commands, run on a fresh checkout with the patch applied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

import orjson
from anyio import to_thread

from swetrials.environments.sealing import SealError
from swetrials.environments.work_context import WorkContext
from swetrials.judging.base import Submission
from swetrials.judging.checkout import CheckoutFailed
from swetrials.judging.guards.guarding import Guarded, guard
from swetrials.judging.hidden import contents
from swetrials.judging.reference import Reference, References
from swetrials.judging.verdict import Verdict, findings_of, verdict, void_reason
from swetrials.judging.verification import NotVerifiedError, Verified, verify_patch
from swetrials.records.check import Check
from swetrials.records.dataset import Verify
from swetrials.records.evaluation import TESTS
from swetrials.records.verification import (
    DOUBTFUL,
    CommandResult,
    FindingKind,
    TestsEvaluation,
    VerificationFinding,
)
from swetrials.store.clock import utc_now
from swetrials.store.files import sha256_of
from swetrials.workspace.git import GitError
from swetrials.workspace.space import SpaceError

_RULES = 2
# Raised where the harness comes to another verdict on the same tests: what was scored by other rules is scored anew.

_NOT_RUN = (CheckoutFailed, GitError, SealError, SpaceError, OSError)
# What says nothing of the patch, and nothing of the task either.

_KEPT = 20
# Findings of one kind.


@dataclass(frozen=True)
class TestsJudge:
    """The ``tests`` judge. Without a patch it runs the commands on the untouched checkout."""

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class
    name: ClassVar[str] = TESTS
    kind: ClassVar[Literal["rubric", "tests"]] = "tests"
    label: ClassVar[str] = TESTS

    references: References = field(default_factory=References, compare=False, repr=False)

    def scored_sha256(self, submission: Submission) -> str:
        """Return the hash of the commands, their limit, what they run in, the hidden files' bytes and the solution's.

        The harness's own rules are in it by a number.

        Raises:
            OSError: a hidden file cannot be read.
        """
        verify = submission.task.verify
        scoring: dict[str, object] = {
            "rules": _RULES,
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

        What the patch touches of its own verdict is as the solution has it, or is run both ways. A patch that does not
        apply fails. What does not work without the patch either, a checkout that cannot be had, and an infrastructure
        failure of the trial itself say nothing about the patch and leave the trial unscored.
        """
        verify = submission.task.verify
        if verify is None:
            return _unscored("the task has no verify commands")
        if not submission.outcome.valid:
            return _unscored(f"not run: the trial ended as {submission.outcome.kind}, which says nothing of the model")
        try:
            evaluation = await self._verified(submission, verify, place)
        except _NOT_RUN as error:
            return _unscored(place.redactor.text(str(error)))
        return evaluation.model_copy(update={"report": verify.report})

    async def prove(self, place: WorkContext) -> Check:
        """Tell what the commands, which run a trial's code, will be kept from."""
        kind = place.environment.kind
        if place.environment.seals:
            reached = "without a network unless the dataset allows one"
            return Check(self.name, "ok", f"commands run in {kind}, {reached}; none was tried, setup included")
        return Check(self.name, "warning", f"commands run on the {kind}, which keeps them from nothing; none was tried")

    async def _verified(self, submission: Submission, verify: Verify, place: WorkContext) -> TestsEvaluation:
        guarded = await to_thread.run_sync(guard, submission, verify, place.repositories)
        scoring = _Scoring(self, submission, verify, place, guarded)
        try:
            verified = await verify_patch(submission, verify, guarded.patch, place)
        except NotVerifiedError as error:
            return await scoring.not_verified(error)
        return await scoring.verified(verified)


@dataclass(frozen=True)
class _Scoring:
    """Makes an evaluation out of what the commands came to on a trial's patch."""

    judge: TestsJudge
    submission: Submission
    verify: Verify
    place: WorkContext
    guarded: Guarded

    async def verified(self, verified: Verified) -> TestsEvaluation:
        """Return the evaluation of a patch on which the commands ran."""
        said, reference = verdict(self.verify, verified), None
        if not said.resolved or self._tests_may_be_missing(verified):
            reference = await self._reference(verified)
            said = verdict(self.verify, verified, reference)
        if reference and not said.resolved and (why := void_reason(self.verify, verified, reference)):
            return _void(self._evaluation(verified, said), why)
        without = await self._without(reference) if said.resolved else None
        evaluation = self._evaluation(verified, said)
        if without is None:
            return self._with_findings(evaluation, "the task is not resolved with it" if not said.resolved else "")
        if without.resolved:
            return self._with_findings(evaluation, "without it the task is resolved as well")
        files = ", ".join(dict.fromkeys(one.file for one in self.guarded.touched))
        reason = f"resolved with what the patch makes of {files}, and not without: {without.reason}"
        weak = {"resolved": False, "passed": False, "evidence": "weak", "reason": reason}
        return self._with_findings(evaluation.model_copy(update=weak), "without it the task is not resolved")

    async def not_verified(self, error: NotVerifiedError) -> TestsEvaluation:
        """Return the evaluation of a patch on which they did not; a setup that fails with it alone is its doing."""
        if not error.of_patch:
            reference = await self._reference(None) if error.results and self.submission.patch else None
            if reference is None or reference.verified is None:
                either = "" if reference is None else f"{reference.as_bad}: "
                return _void(_unscored("", error.results), f"{either}{error}")
        finding = VerificationFinding(kind="report", told=f"{error}; that is the patch's doing")
        return self._with_findings(
            TestsEvaluation(
                status="scored",
                reason=str(error),
                passed=False,
                fraction=0.0,
                resolved=False,
                patch_applied=error.patch_applied if error.of_patch else True,
                findings=() if error.of_patch else (finding,),
                results=error.results,
                evaluated_at=utc_now(),
            ),
            "the task is not resolved with it",
        )

    def _tests_may_be_missing(self, verified: Verified) -> bool:
        """Whether tests that have to pass may not have run, of which a verdict of that run alone knows nothing."""
        if self.verify.report == "exit-code" or self.verify.pass_to_pass != "all":
            return False
        return self.guarded.tests_touched or "skipped" in verified.states.by_id.values()

    async def _reference(self, verified: Verified | None) -> Reference:
        if verified is not None and not self.submission.patch and self.submission.solution is None:
            return Reference("base", verified)
        scored = self.judge.scored_sha256(self.submission)
        return await self.judge.references.of(self.submission, self.verify, self.place, scored)

    async def _without(self, reference: Reference | None) -> Verdict | None:
        """Return what the patch comes to without the files that decide its verdict; ``None``: it has none."""
        if self.guarded.without is None:
            return None
        try:
            verified = await verify_patch(self.submission, self.verify, self.guarded.without, self.place)
        except NotVerifiedError as error:
            return Verdict(False, (str(error),), None)
        return verdict(self.verify, verified, reference)

    def _evaluation(self, verified: Verified, said: Verdict) -> TestsEvaluation:
        evaluation = TestsEvaluation(
            status="scored",
            reason=said.reason,
            passed=said.resolved,
            fraction=_fraction(verified, said),
            resolved=said.resolved,
            evidence="weak" if self.guarded.weak else "exit-code" if self.verify.report == "exit-code" else "tests",
            findings=tuple(findings_of(verified, said)),
            canaries=verified.canaries,
            patch_applied=True if self.submission.patch else None,
            results=verified.results,
            environment=verified.environment,
            sealing=verified.sealing,
            registries=verified.registries,
            evaluated_at=utc_now(),
        )
        if (found := said.by_tests) is None:
            return evaluation
        counts = {"fail_to_pass": found.fail_to_pass, "pass_to_pass": found.pass_to_pass}
        return evaluation.model_copy(update={**counts, "regressions": found.regressions, "tests": found.tests})

    def _with_findings(self, evaluation: TestsEvaluation, fate: str) -> TestsEvaluation:
        touched = (one.finding(fate) for one in self.guarded.touched)
        findings = _at_most((*touched, *self.guarded.doubts, *evaluation.findings))
        doubtful = any(one.kind in DOUBTFUL for one in findings)
        return evaluation.model_copy(update={"findings": findings, "doubtful": doubtful})


def _at_most(findings: Iterable[VerificationFinding]) -> tuple[VerificationFinding, ...]:
    """Return the first findings of each kind, and how many more there are: a patch may hold a folder of packages."""
    by_kind: dict[FindingKind, list[VerificationFinding]] = {}
    for one in dict.fromkeys(findings):
        by_kind.setdefault(one.kind, []).append(one)
    kept: list[VerificationFinding] = []
    for kind, found in by_kind.items():
        kept += found[:_KEPT]
        if len(found) > _KEPT:
            kept.append(VerificationFinding(kind=kind, told=f"and {len(found) - _KEPT:,} more"))
    return tuple(kept)


def _fraction(verified: Verified, said: Verdict) -> float:
    """Return the share of the tests that have to pass, or of the commands where nothing tells of tests."""
    if said.by_tests is None:
        commands = verified.verify_results
        return sum(result.passed for result in commands) / len(commands)
    counts = (said.by_tests.fail_to_pass, said.by_tests.pass_to_pass)
    total = sum(count.total for count in counts)
    return sum(count.passed for count in counts) / total if total else 0.0


def _void(evaluation: TestsEvaluation, why: str) -> TestsEvaluation:
    """Return a verification that says nothing of the patch, with all that was seen of it."""
    nothing = {"status": "unscored", "passed": None, "fraction": None, "resolved": None, "evidence": None}
    return evaluation.model_copy(update={**nothing, "reason": why, "void_reason": why})


def _unscored(reason: str, results: Sequence[CommandResult] = ()) -> TestsEvaluation:
    return TestsEvaluation(status="unscored", reason=reason, results=tuple(results), evaluated_at=utc_now())
