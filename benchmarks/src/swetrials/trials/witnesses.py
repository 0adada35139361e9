"""Weighing what agent, meter and server say of the same tokens."""

from collections.abc import Mapping, Sequence
from typing import Literal

from swetrials.records.metrics import Finding
from swetrials.records.slug import model_slug
from swetrials.records.telemetry import VllmPrometheus
from swetrials.records.usage import Usage, UsageBlock, UsageReport

DISAGREEMENT = 0.02
"""Two complete witnesses of the same tokens that differ by more than this share are a finding."""

Source = Literal["metered", "reported", "served", "none"]


def usage_block(
    reported: UsageReport,
    metered: UsageReport | None,
    served: UsageReport | None,
    by_model: Mapping[str, Usage],
) -> UsageBlock:
    """Set the witnesses side by side and choose the headline.

    The meter comes first, since it saw the responses themselves: also those of subagents, and all that an agent
    which was stopped did not live to tell. Where it could not read every response to its end, the agent's own total
    counts; and where that is not complete either, the witness that saw most, as a lower bound.
    """
    headline, source = _headline(reported, metered, served)
    return UsageBlock(
        headline=headline,
        source=source,
        reported=reported,
        metered=metered,
        served=served,
        by_model=dict(by_model),
    )


def _headline(
    reported: UsageReport, metered: UsageReport | None, served: UsageReport | None
) -> tuple[UsageReport, Source]:
    if metered is not None and metered.completeness == "complete" and metered.usage.total is not None:
        return metered, "metered"
    if reported.completeness == "complete":
        return reported, "reported"
    witnesses: list[tuple[Source, UsageReport]] = [("reported", reported)]
    witnesses += [("metered", metered)] if metered is not None else []
    witnesses += [("served", served)] if served is not None else []
    source, fullest = max(witnesses, key=lambda witness: witness[1].usage.total or 0)
    if fullest.usage.total is None:
        return fullest, "none"
    return fullest.model_copy(update={"completeness": "lower_bound"}), source


def joined(blocks: Sequence[UsageBlock]) -> UsageBlock:
    """Add up the attempts of a trial, witness by witness; no attempts are no usage."""
    if not blocks:
        return UsageBlock()
    by_model: dict[str, Usage] = {}
    for block in blocks:
        for model, usage in block.by_model.items():
            by_model[model] = by_model.get(model, Usage()) + usage
    headline = _sum([block.headline for block in blocks]) or UsageReport()
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
    total: UsageReport | None = None
    for report in reports:
        if report is None:
            return None
        total = report if total is None else total + report
    return total


def disagreements(block: UsageBlock) -> list[Finding]:
    """Return a finding for each pair of complete witnesses that differ by more than :data:`DISAGREEMENT`."""
    known = {"the agent reports": block.reported, "the meter saw": block.metered, "the server counted": block.served}
    complete = {name: r.usage.total for name, r in known.items() if r is not None and r.completeness == "complete"}
    totals = [(name, total) for name, total in complete.items() if total is not None]
    findings = []
    for index, (first, one) in enumerate(totals):
        for second, other in totals[index + 1 :]:
            if _differ(one, other):
                message = f"{first} {one:,} tokens, {second} {other:,}"
                findings.append(Finding(code="usage_disagrees", severity="warning", message=message))
    return findings


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
    """Return a finding when another model than the one asked for has answered; an ARN does not tell which it is."""
    others = [] if asked.startswith("arn:") else [model for model in served if not _same_model(model, asked)]
    if not others:
        return []
    message = f"{asked} was asked for, and the answers are from {', '.join(others)}"
    return [Finding(code="model_differs", severity="warning", message=message)]


def _same_model(first: str, second: str) -> bool:
    try:
        return model_slug(first) == model_slug(second)
    except ValueError:
        return first == second


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > DISAGREEMENT * max(one, other, 1)
