"""What the requests of an attempt come to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from math import fsum
from statistics import median

from swetrials.records.requests import BilledPart, PriceTerms, RequestRecord, RequestsBlock
from swetrials.records.usage import Usage, UsageReport
from swetrials.records.usage_sum import UsageSum

_BAD_REQUEST = 400

Interval = tuple[float, float]


def requests_block(records: Sequence[RequestRecord], ended_seconds: float | None = None) -> RequestsBlock:
    """Return the sums, times and statuses of requests, refused ones apart.

    Usage is added up over every call of a model, for probes are billed like turns. It is complete when each call
    failed with an error status, never left, or was answered to its end with every bucket told and no check failed.
    A call that left and got no answer is unknown, and not 0. So is one of a kind that the meter does not know and of
    which the answer tells usage.

    Args:
        records: of one attempt.
        ended_seconds: when the attempt ended; a wait that lasted until then counts.
    """
    passed = [record for record in records if not record.refused]
    calls = [record for record in passed if record.dialect is not None]
    billed = [record for record in passed if record.dialect is not None or record.usage_doubts]
    answered = [record for record in calls if record.status is not None and record.status < _BAD_REQUEST]
    turns = [record for record in answered if record.complete and not record.probe]
    first_bytes = [
        record.first_byte_seconds - record.started_seconds for record in turns if record.first_byte_seconds is not None
    ]
    return RequestsBlock(
        count=len(passed),
        turns=len(turns),
        probes=sum(record.probe for record in calls),
        retries=sum(record.retry for record in calls),
        refused=len(records) - len(passed),
        statuses=dict(Counter(str(record.status or "none") for record in passed)),
        models_served=tuple(dict.fromkeys(record.model_served for record in answered if record.model_served)),
        api_seconds=_seconds_covered(_intervals(passed)) if passed else None,
        waiting_seconds=_waiting_seconds(calls, passed, ended_seconds) if calls else None,
        first_token_seconds_median=median(first_bytes) if first_bytes else None,
        usage=_usage(billed),
        usage_doubts=dict(Counter(doubt for record in billed for doubt in record.usage_doubts)),
        parts=_parts(billed),
    )


def failed(record: RequestRecord) -> bool:
    """Whether a call got no whole answer, so that an agent may well repeat it."""
    return record.status is None or record.status >= _BAD_REQUEST or not record.complete


def _usage(calls: Sequence[RequestRecord]) -> UsageReport:
    if calls and all(map(_cost_nothing, calls)):
        return UsageReport.of(Usage(fresh_input=0, cache_read=0, cache_write=0, output=0), requests=len(calls))
    return _sum(record for record in calls if not _cost_nothing(record)).report(len(calls) or None)


def _sum(calls: Iterable[RequestRecord]) -> UsageSum:
    total = UsageSum()
    for record in calls:
        total.add(record.usage or Usage(), whole=record.complete and not record.usage_doubts)
    return total


def _parts(calls: Sequence[RequestRecord]) -> tuple[BilledPart, ...]:
    """Return the usage by what has one price; uses of tools and prices that answers state are added up in each."""
    groups: dict[tuple[str | None, str | None, str | None, str | None, bool], list[RequestRecord]] = {}
    for record in calls:
        if not _cost_nothing(record):
            terms = record.price_terms or PriceTerms()
            model = record.model_served or record.model_asked
            same = (model, terms.service_tier, terms.speed, terms.inference_geo, terms.reported_usd is not None)
            groups.setdefault(same, []).append(record)
    return tuple(
        BilledPart(
            model=model,
            terms=_joined_terms([record.price_terms for record in group if record.price_terms is not None]),
            calls=len(group),
            usage=_sum(group).report(len(group)),
            longest_input=_longest_input(group),
        )
        for (model, *_), group in groups.items()
    )


def _longest_input(calls: Sequence[RequestRecord]) -> int | None:
    prompts = [record.usage.input if record.usage is not None else None for record in calls]
    known = [prompt for prompt in prompts if prompt is not None]
    return max(known) if known and len(known) == len(prompts) else None


def _joined_terms(terms: Sequence[PriceTerms]) -> PriceTerms:
    if not terms:
        return PriceTerms()
    tools: Counter[str] = Counter()
    for each in terms:
        tools.update(each.server_tools)
    stated = [each.reported_usd for each in terms if each.reported_usd is not None]
    return terms[0].model_copy(
        update={"server_tools": dict(sorted(tools.items())), "reported_usd": fsum(stated) if stated else None}
    )


def _cost_nothing(record: RequestRecord) -> bool:
    """Whether a call was turned down, or never reached the endpoint."""
    if record.status is None:
        return record.request_bytes == 0
    return record.status >= _BAD_REQUEST


def _intervals(records: Iterable[RequestRecord]) -> list[Interval]:
    return [(record.started_seconds, record.ended_seconds) for record in records]


def _waiting_seconds(
    calls: Sequence[RequestRecord], passed: Sequence[RequestRecord], ended_seconds: float | None
) -> float:
    """Return the time between a failed call and the next one's start, in which no other request was under way."""
    starts = sorted(record.started_seconds for record in calls)
    gaps = [
        (record.ended_seconds, later)
        for record in calls
        if failed(record)
        for later in [next((start for start in starts if start >= record.ended_seconds), ended_seconds)]
        if later is not None
    ]
    busy = _intervals(passed)
    return _seconds_covered(chain(busy, gaps)) - _seconds_covered(busy)


def _seconds_covered(intervals: Iterable[Interval]) -> float:
    """Return the length of the union of intervals."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered
