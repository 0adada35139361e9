"""What the requests of an attempt come to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import median

from swetrials.records.requests import RequestRecord, RequestsBlock
from swetrials.records.usage import Usage, UsageReport

_BAD_REQUEST = 400

Interval = tuple[float, float]


def requests_block(records: Sequence[RequestRecord]) -> RequestsBlock:
    """Return the sums, times and statuses of requests, refused ones apart.

    Usage is added up over every call of a model, for probes are billed like turns. A call that was answered but
    not read to its end, or did not tell its usage, makes the sum a lower bound; a call that failed cost nothing.
    """
    passed = [record for record in records if not record.refused]
    calls = [record for record in passed if record.dialect is not None]
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
        waiting_seconds=_waiting_seconds(calls, passed) if calls else None,
        first_token_seconds_median=median(first_bytes) if first_bytes else None,
        usage=_usage(calls),
    )


def failed(record: RequestRecord) -> bool:
    """Whether a call got no whole answer, so that an agent may well repeat it."""
    return record.status is None or record.status >= _BAD_REQUEST or not record.complete


def _usage(calls: Sequence[RequestRecord]) -> UsageReport:
    if not calls:
        return UsageReport()
    told = [record.usage for record in calls if record.usage is not None]
    if not told and all(map(_cost_nothing, calls)):
        told = [Usage(fresh_input=0, cache_read=0, cache_write=0, output=0)]
    whole = all(_cost_nothing(record) or (record.complete and record.usage is not None) for record in calls)
    return UsageReport(usage=Usage.sum(told), completeness="complete" if whole else "lower_bound", requests=len(calls))


def _cost_nothing(record: RequestRecord) -> bool:
    """Whether a call was turned down, or never reached the endpoint."""
    if record.status is None:
        return record.request_bytes == 0
    return record.status >= _BAD_REQUEST


def _intervals(records: Iterable[RequestRecord]) -> list[Interval]:
    return [(record.started_seconds, record.ended_seconds) for record in records]


def _waiting_seconds(calls: Sequence[RequestRecord], passed: Sequence[RequestRecord]) -> float:
    """Return the time between a failed call and the next one's start, in which no other request was under way."""
    starts = sorted(record.started_seconds for record in calls)
    gaps = [
        (record.ended_seconds, later)
        for record in calls
        if failed(record)
        for later in [next((start for start in starts if start >= record.ended_seconds), None)]
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
