"""Figures as people read them: unknown is a dash, a lower bound says so."""

from collections.abc import Callable

from swetrials.records.cost import Cost
from swetrials.records.leaderboard import Estimate
from swetrials.records.usage import Completeness, UsageReport
from swetrials.records.verification import TestsEvaluation
from swetrials.records.words import counted as counted
from swetrials.records.words import listed

UNKNOWN = "-"

_FINDINGS_NAMED = 3


def tokens(count: int | None, completeness: Completeness = "complete") -> str:
    """Return a token count with thousands separators; ``>=`` in front of a lower bound."""
    if count is None:
        return UNKNOWN
    return f"{'>= ' if completeness == 'lower_bound' else ''}{count:,}"


def total_tokens(report: UsageReport) -> str:
    """Return the sum of the buckets."""
    return tokens(report.usage.total, report.completeness)


def dollars(cost: Cost) -> str:
    """Return an amount in dollars with what it stands on, ``unknown`` when there is no price."""
    if cost.amount_usd is None:
        return "unknown"
    if cost.basis == "free" and cost.status == "complete":
        return "free"
    return f"{'>= ' if cost.status == 'lower_bound' else ''}${cost.amount_usd:,.4f}"


def amount(usd: float | None) -> str:
    """Return an amount in dollars to a hundredth of a cent."""
    return UNKNOWN if usd is None else f"${usd:,.4f}"


def seconds(value: float | None) -> str:
    """Return a duration: seconds below two minutes, else minutes and seconds."""
    if value is None:
        return UNKNOWN
    if round(value, 1) < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"


def score(value: float | None) -> str:
    """Return a score out of 100 with one decimal."""
    return UNKNOWN if value is None else f"{value:.1f}"


def estimate(value: Estimate, form: Callable[[float | None], str]) -> str:
    """Return a mean with its interval and the tasks it stands on, each figure written by ``form``."""
    if value.value is None:
        return UNKNOWN
    over = f"over {counted(value.tasks, 'task')}"
    if value.low is None:
        return f"{form(value.value)} {over}"
    return f"{form(value.value)} ({value.level * 100:.0f} % interval {form(value.low)} to {form(value.high)}) {over}"


def dominant(estimate: Estimate) -> str:
    """Return what has to be said after a figure of which one task is a large part; empty where none is."""
    if estimate.largest_share is None:
        return ""
    return f"one task is {estimate.largest_share:.0%} of it, so that the interval holds 84 to 90 %, not 95 %"


def verdict(passed: bool | None, resolved: bool | None = None, report: str | None = None) -> str:
    """Return the tests' word on a patch: whether it resolves the task, or how commands ended where that is all."""
    if report in {None, "exit-code"} or resolved is None:
        return UNKNOWN if passed is None else "passed" if passed else "failed"
    return "resolved" if resolved else "not resolved"


def findings_in_short(tests: TestsEvaluation) -> str:
    """Return what a patch touches of its own verdict: the kinds, and the files by name; empty: nothing."""
    if not tests.findings:
        return ""
    told = list(dict.fromkeys(f"{one.kind} {one.file}" if one.file else one.kind for one in tests.findings))
    return f"{'doubtful: ' if tests.doubtful else 'found: '}{listed(told, _FINDINGS_NAMED)}"


def verdict_with_counts(tests: TestsEvaluation) -> str:
    """Return the tests' word with what keeps the task from being resolved."""
    said = verdict(tests.passed, tests.resolved, tests.report)
    made, kept = tests.fail_to_pass, tests.pass_to_pass
    if tests.resolved is not False or made is None or kept is None:
        return said
    parts = [f"{made.passed:,} of {made.total:,} fail-to-pass"] if made.total else []
    if broken := kept.total - kept.passed:
        parts.append(counted(broken, "regression"))
    if made.passed == made.total and not broken and tests.reason:
        parts.append(tests.reason)
    return f"{said} ({', '.join(parts)})" if parts else said
