"""All exchanges of an attempt, and their log on disk."""

from collections.abc import Callable
from pathlib import Path

from swetrials.records.requests import RequestRecord
from swetrials.store.redaction import Redactor
from swetrials.store.stream_log import StreamLog
from swetrials.wire.meter.block import failed
from swetrials.wire.meter.bodies import KeptBodies
from swetrials.wire.meter.exchange import Exchange
from swetrials.wire.route import Dialect

Observer = Callable[[RequestRecord], None]
"""Called with each request when it ends."""


class RequestLedger:
    """Numbers the exchanges by their starts, and logs each one as a line of JSON when it ends."""

    def __init__(
        self, log: Path, redactor: Redactor, began: float, keep_bodies: bool, observe: Observer | None = None
    ) -> None:
        """Take the file of the log, which is made anew; bodies are kept in ``requests/`` beside it.

        Raises:
            OSError: the file cannot be written.
        """
        self._path, self._redactor, self._began, self._keep_bodies = log, redactor, began, keep_bodies
        self._observe = observe
        self._log = StreamLog(log, redactor)
        self._log_fault: OSError | None = None
        self._under_way: dict[int, Exchange] = {}
        self._ended: dict[int, RequestRecord] = {}
        self._failed: set[bytes] = set()

    @property
    def records(self) -> list[RequestRecord]:
        """The requests in the order of their starts, those under way as they stand."""
        under_way = {number: exchange.record() for number, exchange in self._under_way.items()}
        return [record for _, record in sorted({**self._ended, **under_way}.items())]

    def open(self, method: str, path: str, dialect: Dialect | None) -> Exchange:
        """Return the place for what is seen of a request that has just come."""
        number = len(self._ended) + len(self._under_way) + 1
        bodies = KeptBodies(self._path, number, self._redactor) if self._keep_bodies else None
        exchange = Exchange(number, method, path, dialect, self._began, bodies)
        self._under_way[number] = exchange
        return exchange

    def end(self, exchange: Exchange) -> None:
        """Log an exchange of which nothing more comes."""
        exchange.end(retry=bool(self._failed) and exchange.digest in self._failed)
        record = exchange.record()
        if record.dialect is not None and failed(record):
            self._failed.add(exchange.digest)
        del self._under_way[record.number]
        self._ended[record.number] = record
        if self._observe is not None and not record.refused:
            self._observe(record)
        try:
            self._log.write(record.model_dump_json().encode() + b"\n")
        except OSError as error:
            self._log_fault = error

    def close(self) -> None:
        """End the log.

        Raises:
            OSError: not all of it could be written.
        """
        self._log.__exit__(None, None, None)
        if self._log_fault is not None:
            raise self._log_fault
