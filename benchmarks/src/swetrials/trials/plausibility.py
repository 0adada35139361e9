"""Doubting token counts that cannot be: most faults of accounting show themselves here."""

from swetrials.records.metrics import Finding
from swetrials.records.usage import UsageReport
from swetrials.trials.witnesses import DISAGREEMENT

LEAST_OUTPUT_PER_TURN = 10
"""An agent that edits files cannot say less in a response, on average."""

LEAST_TURNS = 5
"""Fewer responses prove nothing: a short answer or two is all that some tasks need."""


def output_doubts(witness: str, report: UsageReport | None, turns: int | None) -> list[Finding]:
    """Return a finding when a witness counts single-digit output tokens per turn.

    Args:
        witness: who says so, as the beginning of a sentence: ``the agent reports``.
        report: what it says.
        turns: model responses of the main agent.
    """
    output = report.usage.output if report is not None else None
    if output is None or not turns or turns < LEAST_TURNS or output >= LEAST_OUTPUT_PER_TURN * turns:
        return []
    return [_implausible(f"{witness} {output:,} output tokens over {turns} turns")]


def usage_doubts(reported: UsageReport | None, metered: UsageReport | None, turns: int | None) -> list[Finding]:
    """Return what cannot be in an attempt's counts: too little output, or less than went over the wire.

    What the meter saw is there at least, even when it could not read everything.
    """
    findings = output_doubts("the agent reports", reported, turns) + output_doubts("the meter saw", metered, turns)
    if reported is None or metered is None or reported.completeness != "complete":
        return findings
    told, seen = reported.usage.total, metered.usage.total
    if told is not None and seen is not None and seen - told > DISAGREEMENT * seen:
        findings.append(_implausible(f"the agent reports {told:,} tokens in all, fewer than the {seen:,} of the meter"))
    return findings


def _implausible(message: str) -> Finding:
    return Finding(code="implausible_usage", severity="warning", message=message)
