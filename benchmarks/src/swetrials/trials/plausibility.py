"""Doubting token counts that cannot be: most faults of accounting show themselves here."""

from swetrials.agents.events import Tally
from swetrials.records.metrics import Finding
from swetrials.records.requests import RequestsBlock
from swetrials.records.usage import UsageReport
from swetrials.trials.seen import Seen
from swetrials.trials.usage_reconciliation import DISAGREEMENT

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


def stream_doubts(tally: Tally, seen: Seen | None, turns: int | None) -> list[Finding]:
    """Return what a stream tells that cannot be, and a count of responses that is not that of the wire.

    A stream may well show fewer: where subagents work whose responses it does not tell, where a conversation was
    summed up, and by the last one where it was stopped. It may show more by the answers that broke off.

    Args:
        tally: what the stream came to.
        seen: what the meter saw; ``None`` without one.
        turns: answered calls, those of subagents apart.
    """
    findings = [_implausible(doubt) for doubt in tally.end.doubts] if tally.end is not None else []
    told = tally.turns
    if seen is None or turns is None or not told or (tally.subagents and not tally.turns_of_subagents):
        return findings
    fewest = turns - tally.compactions - (tally.end is None)
    if not fewest <= told <= turns + seen.cut:
        message = f"the agent shows {told} model responses, the meter saw {turns} answered calls"
        findings.append(Finding(code="turns_disagree", severity="warning", message=message))
    return findings


def call_doubts(requests: RequestsBlock, seen: Seen | None) -> list[Finding]:
    """Return why the meter's own sum is not complete, and which counts of the answers cannot be."""
    findings = [
        _implausible(f"{doubt} ({count} answer{'s' if count > 1 else ''} on the wire)")
        for doubt, count in requests.usage_doubts.items()
    ]
    if seen is None or not seen.requests or requests.usage.completeness == "complete":
        return findings
    reasons = {
        "broke off or could not be read": seen.cut,
        "never came": seen.lost,
        "did not tell all of their tokens": seen.untold,
    }
    said = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
    if said:
        answers = "answer" if seen.requests == 1 else "answers"
        message = f"not all tokens are known: of {seen.requests} {answers} {said}"
        findings.append(Finding(code="usage_incomplete", severity="warning", message=message))
    return findings


def _implausible(message: str) -> Finding:
    return Finding(code="implausible_usage", severity="warning", message=message)
