"""What an independent witness saw of an attempt's calls: what blame asks before it believes an agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Self

from swetrials.records.requests import RequestRecord, RequestsBlock

_BAD_REQUEST = 400


@dataclass(frozen=True)
class Seen:
    """What an independent witness saw of an attempt.

    Attributes:
        requests: calls of a model that reached the endpoint.
        input: input tokens that their answers told.
        answered: calls that were answered to their end, probes apart; ``None``: nobody counted.
        cut: calls whose answer began and was not whole, be it that nobody could read it.
        lost: calls that left and got no answer.
        untold: calls whose answer was whole and did not tell every bucket of its tokens.
        last: the call that began last, probes apart; ``None``: there was none, or the witness tells none apart.
        failing_since: when calls began to get no whole answer, up to the last one, in seconds since the attempt began:
            the first of them; of a single one, the last byte that came of its answer. ``None``: the last got one.
        nothing_came: there were calls, and none was ever answered, be it in part; nor any of several to its end.
    """

    requests: int
    input: int | None
    answered: int | None = None
    cut: int = 0
    lost: int = 0
    untold: int = 0
    last: RequestRecord | None = None
    failing_since: float | None = None
    nothing_came: bool = False

    @classmethod
    def of(cls, block: RequestsBlock, records: Sequence[RequestRecord]) -> Self:
        """Return what the meter saw: the requests of an attempt, and what they come to."""
        calls = [record for record in records if record.dialect is not None and not (record.refused or record.probe)]
        return cls(
            requests=block.usage.requests or 0,
            input=block.usage.usage.input,
            answered=block.turns,
            cut=sum(_began(record) and not record.complete for record in calls),
            lost=sum(record.status is None and record.request_bytes > 0 for record in calls),
            untold=sum(not _unanswered(record) and not (record.usage and record.usage.is_whole) for record in calls),
            last=calls[-1] if calls else None,
            failing_since=_failing_since(calls),
            nothing_came=bool(calls) and not block.turns and (len(calls) > 1 or calls[0].last_byte_seconds is None),
        )

    @property
    def status(self) -> int | None:
        """The HTTP status of the last call, where that is an error."""
        status = self.last.status if self.last is not None else None
        return status if status is not None and status >= _BAD_REQUEST else None

    @property
    def unanswered(self) -> bool:
        """Whether the last call got no whole answer."""
        return self.last is not None and _unanswered(self.last)


def _failing_since(calls: Sequence[RequestRecord]) -> float | None:
    failing = list(takewhile(_unanswered, reversed(calls)))
    if not failing:
        return None
    first = failing[-1]
    heard = first.last_byte_seconds if len(failing) == 1 and _began(first) else None
    return first.started_seconds if heard is None else heard


def _unanswered(record: RequestRecord) -> bool:
    return not (_began(record) and record.complete)


def _began(record: RequestRecord) -> bool:
    return record.status is not None and record.status < _BAD_REQUEST
