"""What the server really sent, request by request: the figures that a trial's own are held against."""

from dataclasses import dataclass

from swetrials.records.usage import Usage, UsageReport
from swetrials.wire.route import Dialect

NOTHING = Usage(fresh_input=0, cache_read=0, cache_write=0, cache_write_5m=0, cache_write_1h=0, output=0, reasoning=0)
"""The usage of a request to which no model answered."""


@dataclass(frozen=True)
class ServedRequest:
    """One request for a model response and what became of it. ``status`` is ``None`` before any header went out."""

    api_key: str
    path: str
    dialect: Dialect
    status: int | None
    model: str
    stream: bool
    usage: Usage
    script: str | None
    step: int | None
    complete: bool
    max_tokens: int | None = None

    @property
    def probe(self) -> bool:
        """Whether the request only looks whether the model is there: Claude Code asks for one token, on Bedrock."""
        return self.max_tokens == 1


@dataclass
class Entry:
    """A request in the ledger, from its arrival on. ``bill`` is its usage once everything is sent."""

    api_key: str
    path: str
    dialect: Dialect
    model: str = ""
    stream: bool = False
    max_tokens: int | None = None
    script: str | None = None
    step: int | None = None
    bill: Usage = NOTHING
    status: int | None = None
    output_sent: int = 0
    finished: bool = False

    def start(self, status: int) -> None:
        """Note that the headers went out: from here on the prompt is paid for."""
        self.status = status

    def sent(self, output_tokens: int) -> None:
        """Note that output went out."""
        self.output_sent += output_tokens

    def finish(self) -> None:
        """Note that the response went out to its end."""
        self.finished = True

    @property
    def usage(self) -> Usage:
        """What was sent so far. The first output token is made before anything goes out."""
        if self.status is None:
            return NOTHING
        output = self.bill.output or 0
        return self.bill.model_copy(update={"output": min(output, max(1, self.output_sent))})

    @property
    def complete(self) -> bool:
        """Whether the usage is all there is: nothing was sent, or everything."""
        return self.finished or self.status is None

    def record(self) -> ServedRequest:
        """Return the request as it stands."""
        return ServedRequest(
            api_key=self.api_key,
            path=self.path,
            dialect=self.dialect,
            status=self.status,
            model=self.model,
            stream=self.stream,
            usage=self.usage,
            script=self.script,
            step=self.step,
            complete=self.complete,
            max_tokens=self.max_tokens,
        )


class ServedLedger:
    """All requests for model responses, in the order of their arrival."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Take in a request that has arrived."""
        self._entries.append(entry)

    @property
    def requests(self) -> list[ServedRequest]:
        """The requests as they stand."""
        return [entry.record() for entry in self._entries]

    def report(self, api_key: str) -> UsageReport:
        """Return what one key was served; a response that was cut or is under way makes it a lower bound."""
        entries = [entry for entry in self._entries if entry.api_key == api_key]
        return UsageReport(
            usage=Usage.sum((NOTHING, *(entry.usage for entry in entries))),
            completeness="complete" if all(entry.complete for entry in entries) else "lower_bound",
            requests=len(entries),
        )
