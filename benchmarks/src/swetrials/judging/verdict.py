"""What a verification comes to: resolved or not and why, whose fault it is, and what is found on the way."""

from collections.abc import Iterator
from dataclasses import dataclass

from swetrials.judging.breakdown import breakdown
from swetrials.judging.reference import Reference
from swetrials.judging.runner_reports.resolution import Resolution, resolution
from swetrials.judging.verification import Verified, described
from swetrials.records.dataset import Verify
from swetrials.records.verification import CanaryTest, CommandResult, VerificationFinding


@dataclass(frozen=True)
class Verdict:
    """What a verification comes to.

    Attributes:
        resolved: whether the task is resolved.
        reasons: why not, and what the reader has to know beside.
        by_tests: what became of the tests; ``None``: none was told, and how the commands ended is all.
    """

    resolved: bool
    reasons: tuple[str, ...]
    by_tests: Resolution | None

    @property
    def reason(self) -> str:
        """Why it is not resolved, in one line."""
        return "; ".join(self.reasons)


def verdict(verify: Verify, verified: Verified, reference: Reference | None = None) -> Verdict:
    """Return what a verification comes to.

    Args:
        verify: what the task asks for.
        verified: what its commands have come to.
        reference: what they come to without the trial's patch, where that is known: which tests have to pass.
    """
    failed = tuple(described(result) for result in verified.verify_results if not result.passed)
    lost = (*map(_told, _lost(verified)), *map(_rewritten, verified.rewritten))
    if verify.report == "exit-code":
        return Verdict(not failed and not lost, (*lost, *failed), None)
    expected, excused = (reference.expected, reference.excused) if reference else ((), ())
    found = resolution(verify, verified.states, verified.faults, expected, excused)
    failed = tuple(described(result) for result in verified.verify_results if _tells(result, verified))
    return Verdict(found.resolved and not lost, (*lost, *found.reasons, *failed), found)


def void_reason(verify: Verify, verified: Verified, reference: Reference) -> str:
    """Return why a verification that resolves nothing says nothing of the patch; empty: it does.

    With a solution, that is where the solution is not resolved either. Without one nobody knows that the task can be
    resolved here, and what breaks down on the untouched checkout in the same way is not the patch's doing.
    """
    if reference.of == "solution":
        theirs = verdict(verify, reference.verified, reference) if reference.verified else None
        if theirs is None or not theirs.resolved:
            return f"{reference.as_bad}: {theirs.reason if theirs else reference.failure}"
    elif reference.verified is not None:
        there = set(_broken(reference.verified))
        same = [one for one in dict.fromkeys(_broken(verified)) if one in there]
        if same:
            return f"{reference.as_bad}: {'; '.join(same)}"
    return ""


def findings_of(verified: Verified, said: Verdict) -> Iterator[VerificationFinding]:
    """Yield what is found in a run of the commands: reports, tests that are missing, canary tests."""
    for fault in verified.faults:
        yield VerificationFinding(kind="report", told=fault)
    for told in _breakdowns(verified):
        yield VerificationFinding(kind="report", told=told)
    for path in verified.rewritten:
        yield VerificationFinding(kind="hidden-test", file=path, told="it was written to while the commands ran")
    for canary in _lost(verified):
        yield VerificationFinding(kind="canary", told=_told(canary))
    missing = said.by_tests.missing if said.by_tests else ()
    states = verified.states.by_id
    for one in missing:
        yield VerificationFinding(kind="missing-test", told=f"{states.get(one, 'missing')}: {one}")


def _tells(result: CommandResult, verified: Verified) -> bool:
    """Whether how a command ended says something: beside a canary test that has to fail, a failure is right."""
    guarded = {canary.command for canary in verified.canaries if canary.expected == "failed"}
    return not result.passed and (breakdown(result) is not None or " ".join(result.argv) not in guarded)


def _lost(verified: Verified) -> Iterator[CanaryTest]:
    return (canary for canary in verified.canaries if not canary.held)


def _rewritten(path: str) -> str:
    return f"the hidden file {path} was written to while the commands ran"


def _told(canary: CanaryTest) -> str:
    return (
        f"`{canary.command}`: a canary test that has to be {canary.expected} was {canary.state or 'not tried'}"
        f"{f': {canary.told}' if canary.told else ''}"
    )


def _broken(verified: Verified) -> Iterator[str]:
    """Yield what says that the commands, and not the tests, went wrong."""
    yield from _breakdowns(verified)
    yield from map(_told, _lost(verified))
    yield from map(_rewritten, verified.rewritten)


def _breakdowns(verified: Verified) -> Iterator[str]:
    for result in verified.verify_results:
        if how := breakdown(result):
            yield f"`{' '.join(result.argv)}` {how}"
