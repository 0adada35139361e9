"""Whether a patch resolves a task: derived from what became of each test, and from nothing else."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from swetrials.judging.runner_reports.states import States
from swetrials.records.dataset import Verify
from swetrials.records.verification import RunnerTest, TestCount, TestState
from swetrials.records.words import listed

MOST_KEPT = 1000
"""Tests, and regressions, that a record keeps by name."""

_NAMED = 3
# Of each kind in a reason; the record has the others.


@dataclass(frozen=True)
class Resolution:
    """What the tests' states come to; the fields are those of ``TestsEvaluation``.

    Attributes:
        missing: tests that have to pass, of which no report tells, or that were skipped.
        reasons: why the task is not resolved, and what the reader has to know beside.
    """

    resolved: bool
    fail_to_pass: TestCount
    pass_to_pass: TestCount
    regressions: tuple[str, ...]
    tests: tuple[RunnerTest, ...]
    missing: tuple[str, ...]
    reasons: tuple[str, ...]


def resolution(
    verify: Verify,
    states: States,
    faults: Sequence[str],
    expected: Collection[str] = (),
    excused: Collection[str] = (),
) -> Resolution:
    """Return what the states of tests say of a patch.

    Missing is not passed. With ``pass_to_pass: all`` every other test has to pass that ran and was not skipped, or that
    is expected, save for those that are excused. A report that cannot be believed resolves nothing.

    Args:
        verify: what the task asks for.
        states: what was told.
        faults: why that is not to be believed, or is not all.
        expected: tests that pass without the trial's patch; asked for with ``pass_to_pass: all``.
        excused: tests that do not pass with the solution either; likewise.
    """

    def of(test_id: str) -> TestState:
        return states.by_id.get(test_id, "missing")

    wanted = verify.fail_to_pass
    if verify.pass_to_pass == "all":
        known = frozenset(wanted)
        ran = (one for one, state in states.by_id.items() if state != "skipped" and one not in excused)
        kept = tuple(one for one in dict.fromkeys((*ran, *expected)) if one not in known)
    else:
        kept = verify.pass_to_pass
    unmade = [one for one in wanted if of(one) != "passed"]
    regressions = [one for one in kept if of(one) != "passed"]
    passed = not unmade and not regressions and any(state == "passed" for state in states.by_id.values())
    reasons = [*faults]
    for what, ids in (("fail-to-pass", unmade), ("regression", regressions)):
        reasons.extend(f"{what} {of(one)}: {one}" for one in ids[:_NAMED])
        if len(ids) > _NAMED:
            reasons.append(f"and {len(ids) - _NAMED:,} more")
    if not states.by_id and not faults:
        reasons.append("no test ran")
    if states.differing:
        reasons.append(
            f"told twice with different results, of which the worse counts: {listed(sorted(states.differing), _NAMED)}"
        )
    return Resolution(
        resolved=passed and not faults,
        fail_to_pass=TestCount(passed=len(wanted) - len(unmade), total=len(wanted)),
        pass_to_pass=TestCount(passed=len(kept) - len(regressions), total=len(kept)),
        regressions=tuple(regressions[:MOST_KEPT]),
        tests=tuple(RunnerTest(id=one, state=of(one)) for one in _order(verify, states, regressions)),
        missing=tuple(one for one in (*unmade, *regressions) if of(one) in {"missing", "skipped"}),
        reasons=tuple(reasons),
    )


def _order(verify: Verify, states: States, regressions: Sequence[str]) -> list[str]:
    steady = () if verify.pass_to_pass == "all" else verify.pass_to_pass
    broken = (one for one, state in states.by_id.items() if state in {"failed", "error", "missing"})
    return list(dict.fromkeys((*verify.fail_to_pass, *steady, *broken, *regressions, *states.by_id)))[:MOST_KEPT]
