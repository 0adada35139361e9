"""Weighing what agent, meter and server say of the same tokens, and doubting what cannot be."""

from collections.abc import Mapping, Sequence
from typing import Literal

from swetrials.agents.events import Tally
from swetrials.records.metrics import Finding
from swetrials.records.requests import RequestsBlock
from swetrials.records.slug import another_answered
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import Usage, UsageBlock, UsageReport
from swetrials.trials.seen import Seen

DISAGREEMENT = 0.02
"""Two complete witnesses of the same tokens that differ by more than this share are a finding."""

LEAST_OUTPUT_PER_TURN = 10
"""An agent that edits files cannot say less in a response, on average."""

LEAST_TURNS = 5
"""Fewer responses prove nothing: a short answer or two is all that some tasks need."""

Source = Literal["metered", "reported", "served", "mixed", "none"]

_BUCKETS = Usage().at_least().known
# All that add to the total.


def usage_block(
    reported: UsageReport,
    metered: UsageReport | None,
    served: UsageReport | None,
    by_model: Mapping[str, Usage],
) -> UsageBlock:
    """Set the witnesses side by side and choose the headline. What is complete is derived, never asserted.

    - With a meter that saw calls the headline is complete where, and only where, the meter's report is. Its buckets
      are the meter's, which saw the responses themselves: also those of subagents, and all that an agent which was
      stopped did not live to tell. Only the server's own count, where it is nowhere below, says more.
    - A bucket that the meter does not know and nothing on the wire bounds may have the agent's figure, unless that is
      0: a 0 that nobody saw is unknown. Such a headline is never complete, and its source is ``mixed``.
    - Without a meter it is the agent's own word, or the server's where the agent's is not complete: the one that knows
      more buckets, then the one that saw more.
    """
    headline, source = _headline(reported, metered, served)
    return UsageBlock(
        headline=headline,
        source=source if headline.usage.total is not None else "none",
        reported=reported,
        metered=metered,
        served=served,
        by_model=dict(by_model),
    )


def cut_usage_block(reported: UsageReport, metered: UsageReport | None, served: UsageReport | None) -> UsageBlock:
    """Return the usage of an attempt that nobody saw to its end: a call may have been under way, so all are bounds."""
    return usage_block(_at_least(reported), _at_least(metered) if metered is not None else None, served, {})


def _at_least(report: UsageReport) -> UsageReport:
    return UsageReport.of(report.usage, whole=False, requests=report.requests)


def _headline(
    reported: UsageReport, metered: UsageReport | None, served: UsageReport | None
) -> tuple[UsageReport, Source]:
    if metered is None or not metered.requests:
        headline, source = _unmetered(reported, served)
        # Tokens without a call on the wire went past the meter: nothing tells that they are all.
        return (_as_bound(headline) if metered is not None and headline.usage.total else headline), source
    if metered.completeness == "complete":
        return metered, "metered"
    if served is not None and served.usage.total and _covers(served.usage, metered.usage):
        return _as_bound(served), "served"
    told = _told_alone(reported.usage, metered.usage)
    if not told:
        return metered, "metered"
    # The bounds stay those of the wire: what one witness alone says bounds nothing.
    filled = metered.usage.model_copy(update=told)
    return metered.model_copy(update={"usage": filled, "completeness": "lower_bound"}), "mixed"


def _unmetered(reported: UsageReport, served: UsageReport | None) -> tuple[UsageReport, Source]:
    if reported.completeness == "complete" or served is None or not served.usage.total:
        return reported, "reported"
    witnesses: list[tuple[Source, UsageReport]] = [("reported", reported), ("served", served)]
    source, fullest = max(witnesses, key=lambda witness: (len(witness[1].usage.known), witness[1].usage.total or 0))
    return _as_bound(fullest), source


def _as_bound(report: UsageReport) -> UsageReport:
    if report.completeness == "unknown":
        return report
    return report.model_copy(update={"completeness": "lower_bound"})


def _covers(whole: Usage, part: Usage) -> bool:
    """Whether one usage knows every bucket that another knows, and has no less in any."""
    counts = [(getattr(whole, name), getattr(part, name)) for name in (*part.known, "input", "output")]
    return all(more is not None and more >= least for more, least in counts if least is not None)


def _told_alone(reported: Usage, metered: Usage) -> dict[str, int]:
    """Return the buckets of which only the agent tells, and tells more than nothing."""
    open_to_it = [name for name in _BUCKETS if getattr(metered, name) is None]
    if metered.input_total is not None:
        open_to_it = [name for name in open_to_it if name == "output"]
    return {name: told for name in open_to_it if (told := getattr(reported, name))}


def unconfirmed(block: UsageBlock) -> list[Finding]:
    """Return a finding for figures of a headline that the agent alone tells, and the wire does not confirm."""
    if block.source != "mixed" or block.metered is None or block.reported is None:
        return []
    told = _told_alone(block.reported.usage, block.metered.usage)
    message = f"the wire does not confirm what the agent reports: {_list(told)}"
    return [Finding(code="usage_unconfirmed", severity="warning", message=message)]


def _list(told: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in told.items())


def joined(blocks: Sequence[UsageBlock]) -> UsageBlock:
    """Add up the attempts of a trial, witness by witness; no attempts are no usage."""
    if not blocks:
        return UsageBlock()
    by_model: dict[str, Usage] = {}
    for block in blocks:
        for model, usage in block.by_model.items():
            by_model[model] = by_model.get(model, Usage()) + usage
    headline = UsageReport.sum(block.headline for block in blocks)
    sources = {block.source for block in blocks}
    return UsageBlock(
        headline=headline,
        source=sources.pop() if len(sources) == 1 else "mixed",
        reported=_sum([block.reported for block in blocks]),
        metered=_sum([block.metered for block in blocks]),
        served=_sum([block.served for block in blocks]),
        by_model=by_model,
    )


def _sum(reports: Sequence[UsageReport | None]) -> UsageReport | None:
    known = [report for report in reports if report is not None]
    return UsageReport.sum(known) if len(known) == len(reports) else None


def disagreements(block: UsageBlock) -> list[Finding]:
    """Return a finding for each pair of witnesses that differ in a bucket by more than :data:`DISAGREEMENT`.

    Compared is what both know of the same answers: a report with an answer that broke off says less than there was,
    and disagrees with nobody.
    """
    known = {"the agent reports": block.reported, "the meter saw": block.metered, "the server counted": block.served}
    witnesses = [(name, report.usage) for name, report in known.items() if report is not None and _is_whole(report)]
    findings = []
    for index, (first, one) in enumerate(witnesses):
        for second, other in witnesses[index + 1 :]:
            both = [name for name in one.known if name in other.known]
            differ = [name for name in both if _differ(getattr(one, name), getattr(other, name))]
            if differ:
                ours, theirs = ({name: getattr(usage, name) for name in differ} for usage in (one, other))
                message = f"{first} {_list(ours)} tokens, {second} {_list(theirs)}"
                findings.append(Finding(code="usage_disagrees", severity="warning", message=message))
    return findings


def _is_whole(report: UsageReport) -> bool:
    """Whether every answer behind a report came to its end, be it that some did not tell all."""
    return report.completeness == "complete" or report.at_most is not None


def counter_disagreements(headline: UsageReport, counters: VllmPrometheus) -> list[Finding]:
    """Return a finding where a vLLM server counted other numbers of tokens than the headline has.

    Nothing is found where the two are not about the same: other trials used the server, its counters were not seen
    to the end (which their note tells), or the headline is a lower bound.
    """
    if not counters.available or not counters.single_tenant or counters.note or headline.completeness != "complete":
        return []
    pairs = {
        "prompt": (headline.usage.input, counters.counters.get("vllm:prompt_tokens_total")),
        "generated": (headline.usage.output, counters.counters.get("vllm:generation_tokens_total")),
    }
    return [
        Finding(
            code="usage_disagrees",
            severity="warning",
            message=f"the record has {ours:,} {kind} tokens, the server's own counters {theirs:,.0f}",
        )
        for kind, (ours, theirs) in pairs.items()
        if ours is not None and theirs is not None and _differ(ours, theirs)
    ]


def other_models(asked: str, served: Sequence[str]) -> list[Finding]:
    """Return a finding when another model than the one asked for has answered."""
    told = another_answered(asked, served)
    return [Finding(code="model_differs", severity="warning", message=told)] if told else []


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > DISAGREEMENT * max(one, other, 1)


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
