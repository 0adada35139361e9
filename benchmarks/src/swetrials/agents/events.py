"""The one vocabulary that every agent's stream is read into, and the tally over it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from swetrials.agents.responses import Responses
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage, UsageReport


@dataclass(frozen=True, slots=True)
class Session:
    """The agent introduced itself."""

    session_id: str | None
    model: str | None = None
    agent_version: str | None = None


@dataclass(frozen=True, slots=True)
class RequestUsage:
    """Tokens of one API response, in disjoint buckets. A later one of the same id replaces the earlier.

    ``subagent``, here and below, is the id of the tool call that a subagent works for; empty: it is the main agent.
    """

    message_id: str
    usage: Usage
    final: bool
    model: str | None = None
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Something the agent said."""

    text: str
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent asked for a tool."""

    call_id: str
    name: str
    arguments: dict[str, object]
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool answered. ``exit_code`` is there where the tool is a shell and the agent tells."""

    call_id: str
    text: str
    is_error: bool
    exit_code: int | None = None
    subagent: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """The agent is about to repeat a failed request."""

    attempt: int
    delay_seconds: float
    status: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Compaction:
    """The agent replaced the conversation so far by a summary, which it asked a model for.

    ``tokens_before`` is the size of the conversation that was replaced, where the agent tells.
    """

    reason: str
    tokens_before: int | None = None


@dataclass(frozen=True, slots=True)
class SubagentStart:
    """The agent set another one to work; ``call_id`` is that of the tool call which asked for it."""

    call_id: str
    kind: str
    task: str


@dataclass(frozen=True, slots=True)
class SubagentEnd:
    """A subagent is done, well or not."""

    call_id: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class PermissionDenied:
    """A tool call was refused by the agent's own rules."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Anything else that a person watching would want to see."""

    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The agent's own last word. ``usage`` is its total, when it gives one.

    ``responses_cut`` counts the API responses that are billed and in nobody's exact sum: those that began and never
    ended, those that failed without an error status, and those whose usage the agent does not tell. ``subagent_usage``
    is a part of ``usage``, where it is told apart. ``doubts`` says which of its counts cannot be.
    """

    outcome: Outcome
    subtype: str | None = None
    is_error: bool = False
    usage: Usage | None = None
    subagent_usage: Usage | None = None
    usage_by_model: dict[str, Usage] = field(default_factory=dict)
    cost_usd: float | None = None
    turns: int | None = None
    api_seconds: float | None = None
    api_error_status: int | None = None
    text: str = ""
    responses_cut: int = 0
    doubts: tuple[str, ...] = ()


Event = (
    Session
    | RequestUsage
    | Text
    | ToolCall
    | ToolResult
    | Retry
    | Compaction
    | SubagentStart
    | SubagentEnd
    | PermissionDenied
    | Notice
    | End
)


@dataclass
class Tally:
    """Everything the events so far come to, in next to constant memory: a few bytes for each API response."""

    session_id: str | None = None
    model: str | None = None
    agent_version: str | None = None
    end: End | None = None
    last_text: str = ""
    waiting_seconds: float = 0.0
    pending_retry: Retry | None = None
    retries: list[Retry] = field(default_factory=list)
    compactions: int = 0
    subagents: int = 0
    permission_denials: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    responses: Responses = field(default_factory=Responses)

    def add(self, events: Iterable[Event]) -> None:
        """Take in more events, in the order of the stream."""
        for event in events:
            self.pending_retry = event if isinstance(event, Retry) else None
            match event:  # what there is most of comes first
                case ToolResult():
                    pass
                case ToolCall():
                    self.tools[event.name] += 1
                case RequestUsage():
                    self.responses.add(event.message_id, event.usage, final=event.final, subagent=bool(event.subagent))
                case Text():
                    self.last_text = event.text
                case Session():
                    self.session_id = event.session_id or self.session_id
                    self.model = event.model or self.model
                    self.agent_version = event.agent_version or self.agent_version
                case Retry():
                    self.retries.append(event)
                    self.waiting_seconds += event.delay_seconds
                case Compaction():
                    self.compactions += 1
                case SubagentStart():
                    self.subagents += 1
                case PermissionDenied():
                    self.permission_denials += 1
                case End():
                    self.end = event
                case _:
                    pass

    @property
    def turns(self) -> int:
        """Model responses of the main agent; a call that failed is none.

        Where the stream shows no response, it is the agent's own count, of a total that is of any tokens.
        """
        if self.end is not None and self.end.usage is not None and self.end.usage.total and not self.responses.count:
            return self.end.turns or 0
        return self.responses.of_main_agent

    @property
    def turns_of_subagents(self) -> int:
        """Model responses of subagents, as far as the agent tells of them."""
        return self.responses.count - self.responses.of_main_agent

    @property
    def usage(self) -> UsageReport:
        """The agent's own total when it gave one, else the sum of its responses; its completeness is derived.

        It is complete where the stream has an ending with a total, shows no response that was cut, failed without an
        error status or told less than every bucket, and none of its responses has more than the total. Nothing but
        zeros is unknown, unless each call that the stream tells of was turned down with an error status.
        """
        requests = self.responses.count or None  # some agents tell of no single response
        shown = _unless_zero(self.responses.usage)
        if self.end is None or self.end.usage is None:
            return UsageReport.of(shown, whole=False, requests=requests)
        told = self.end.usage if self._all_turned_down else _unless_zero(self.end.usage)
        usage = _more_of_each(told, shown)
        whole = usage == told and not self.end.responses_cut
        return UsageReport.of(usage, whole=whole, requests=requests)

    @property
    def _all_turned_down(self) -> bool:
        ended_so = self.end is not None and self.end.api_error_status is not None
        return ended_so and not self.responses.count and all(retry.status is not None for retry in self.retries)

    @property
    def subagent_usage(self) -> Usage | None:
        """The part of the total that subagents used; ``None`` when none worked, or nobody told it apart."""
        if self.end is not None and self.end.subagent_usage is not None:
            return self.end.subagent_usage
        return self.responses.subagent_usage if self.responses.of_main_agent < self.responses.count else None

    @property
    def outcome(self) -> Outcome:
        """The agent's own ending; a stream without one is ``unfinished``."""
        if self.end is not None:
            return self.end.outcome
        return Outcome.of(OutcomeKind.UNFINISHED, "the stream ends without a final event")


def _unless_zero(usage: Usage) -> Usage:
    """Return a usage, or all unknown where it is nothing but zeros: no answer is made of no tokens."""
    return usage if usage.total else Usage()


def _more_of_each(one: Usage, other: Usage) -> Usage:
    """Return the larger figure of each bucket; what one of two does not know is the other's."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in Usage.model_fields}
    return Usage(**{name: max((n for n in pair if n is not None), default=None) for name, pair in pairs.items()})
