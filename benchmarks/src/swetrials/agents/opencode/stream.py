"""Reading what ``opencode run --format json`` prints.

Facts it rests on (opencode 1.18.33):

- Each model response of the main agent is a step: ``step_start`` with its first byte, a ``text`` for each whole
  text, a ``tool_use`` for each tool that is done, ``step_finish`` with the tokens. The buckets are disjoint; output
  excludes reasoning. ``total`` is the provider's own. opencode takes what was cached from the prompt and writes 0 for
  the rest where that would be less.
- There is no last event. A step that ends for another reason than tool calls (or an unknown one) ends the run,
  unless the conversation has outgrown its window: then a step follows that writes a summary, and a ``text`` by
  opencode itself that asks to go on.
- ``error`` is the end as well, but for a context overflow that a summary can mend. Retries are not told: a response
  that broke off is a step that begins and never finishes, before it begins again.
- Nothing but the ``task`` tool's call is told of a subagent; its tokens are in no step.
- An answer that is not of the wire's kind, such as an HTML page, is a step without tokens, content and reason, in
  Anthropic Messages without a start as well. opencode then asks again, without a pause and without end.
"""

from collections.abc import Iterator, Mapping

from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    PermissionDenied,
    RequestUsage,
    Session,
    SubagentEnd,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.failures import failure
from swetrials.agents.jsonl import JsonLines, count, mapping, text
from swetrials.agents.line_reader import LineReader
from swetrials.agents.prompt_check import checked
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage
from swetrials.records.usage_sum import UsageSum

SUBAGENT = "task"
"""The tool that sets a subagent to work."""

_GOING_ON = frozenset({"", "tool-calls", "unknown"})
_LAST_STEPS = {
    "length": (OutcomeKind.OUTPUT_LIMIT, "the last response reached its limit of output tokens"),
    "content-filter": (OutcomeKind.REFUSED, "the model refused"),
    "error": (OutcomeKind.PROVIDER_ERROR, "the last response ended in an error"),
}
_ERRORS = {
    "ContentFilterError": OutcomeKind.REFUSED,
    "ContextOverflowError": OutcomeKind.CONTEXT_OVERFLOW,
    "MessageOutputLengthError": OutcomeKind.OUTPUT_LIMIT,
    "ProviderAuthError": OutcomeKind.AUTH_FAILED,
}
_FORBIDDEN = "a rule which prevents you from using this specific tool call"

_LARGEST_RUN_OF_NOTHING = 10
# Steps in a row that hold nothing at all, after which no other is worth waiting for.


class OpenCodeReader(LineReader):
    """One stream of ``opencode run --format json``, turned into events."""

    def __init__(self) -> None:
        super().__init__(JsonLines())
        self._introduced = False
        self._step_open = False
        self._step_holds_something = False
        self._did_anything = False
        self._nothings = 0
        self._untold = 0
        self._total = UsageSum()
        self._doubts: tuple[str, ...] = ()
        self._counted: set[str] = set()
        self._text = ""
        self._reason = ""
        self._error: dict[str, object] = {}
        self._over = False

    def finish(self) -> Iterator[Event]:
        """Yield what a last line without a newline still holds, and the end when the last step or an error is one."""
        yield from super().finish()
        if not self._over and (self._error or self._reason not in _GOING_ON):
            yield self._end(self._outcome())

    def _events(self, line: dict[str, object]) -> Iterator[Event]:
        if not recognised(line):
            return
        if not self._introduced:
            self._introduced = True
            yield Session(text(line.get("sessionID")))
        part = mapping(line.get("part"))
        match line.get("type"):
            case "step_start":
                self._close_step(told=False)
                self._step_open, self._reason, self._error = True, "", {}
            case "step_finish":
                yield from self._step(part)
            case "text":
                yield self._said(part)
            case "tool_use":
                self._did_anything = self._step_holds_something = True
                yield from self._tool(part)
            case "error":
                self._error = mapping(line.get("error"))
                yield Notice(_message(self._error))

    def _close_step(self, *, told: bool) -> None:
        if self._step_open and not told:
            self._untold += 1
        self._step_open = self._step_holds_something = False

    def _step(self, part: dict[str, object]) -> Iterator[Event]:
        usage, doubts = _checked(mapping(part.get("tokens")))
        self._reason = text(part.get("reason"))
        self._step_open = True
        if usage.total is None and not self._step_holds_something:
            self._close_step(told=False)
            yield from self._nothing()
            return
        self._nothings = 0
        if usage.output == 0 and self._step_holds_something:
            usage = usage.model_copy(update={"output": None})  # an answer with content is of some tokens
        self._close_step(told=usage.is_whole)
        step_id = text(part.get("id"))
        if step_id not in self._counted:
            self._counted.add(step_id)
            self._total.add(usage)
            self._doubts += doubts
        yield RequestUsage(step_id, usage, final=True)

    def _nothing(self) -> Iterator[Event]:
        """Take a step that holds nothing, which is no turn; whether it is billed is unknown."""
        self._nothings += 1
        if self._nothings == _LARGEST_RUN_OF_NOTHING:
            self._over = True
            detail = f"{self._nothings} answers of the endpoint in a row held nothing that opencode can read"
            yield self._end(Outcome.of(OutcomeKind.PROVIDER_ERROR, detail))

    def _said(self, part: dict[str, object]) -> Event:
        if mapping(part.get("metadata")).get("compaction_continue"):
            return Compaction("the conversation reached its limit")
        self._did_anything = self._step_holds_something = True
        self._text = text(part.get("text"))
        return Text(self._text)

    def _tool(self, part: dict[str, object]) -> list[Event]:
        call_id, name, state = text(part.get("callID")), text(part.get("tool")), mapping(part.get("state"))
        arguments = mapping(state.get("input"))
        failed = state.get("status") != "completed"
        said = text(state.get("error" if failed else "output"))
        events: list[Event] = [ToolCall(call_id, name, arguments)]
        if name == SUBAGENT:
            self._untold += 1
            kind, task = text(arguments.get("subagent_type")), text(arguments.get("prompt"))
            events += [SubagentStart(call_id, kind, task), SubagentEnd(call_id, is_error=failed)]
        if failed and _FORBIDDEN in said:
            events.append(PermissionDenied(name, said))
        exit_code = mapping(state.get("metadata")).get("exit")
        code = exit_code if isinstance(exit_code, int) else None
        return [*events, ToolResult(call_id, said, is_error=failed or bool(code), exit_code=code)]

    def _end(self, outcome: Outcome) -> End:
        self._close_step(told=False)
        return End(
            outcome,
            subtype=text(self._error.get("name")) or self._reason or None,
            is_error=outcome.kind is not OutcomeKind.COMPLETED,
            usage=self._total.usage if self._total.buckets else None,
            api_error_status=count(mapping(self._error.get("data")).get("statusCode")),
            text=self._text,
            responses_cut=self._untold,
            doubts=tuple(dict.fromkeys(self._doubts)),
        )

    def _outcome(self) -> Outcome:
        if self._error:
            return _failure(self._error)
        if (ending := _LAST_STEPS.get(self._reason)) is not None:
            return Outcome.of(*ending)
        if not self._did_anything and not self._total.usage.output:
            return Outcome.of(OutcomeKind.EMPTY_SUCCESS, "the agent ended well without a single output token")
        return Outcome.of(OutcomeKind.COMPLETED)


def recognised(line: Mapping[str, object]) -> bool:
    """Say whether an object is a line of such a stream."""
    return isinstance(line.get("sessionID"), str) and isinstance(line.get("timestamp"), int)


def disjoint_usage(tokens: dict[str, object]) -> Usage:
    """Return a step's tokens with reasoning in the output; all zero means that the response told none."""
    return _checked(tokens)[0]


def _checked(tokens: dict[str, object]) -> tuple[Usage, tuple[str, ...]]:
    cache = mapping(tokens.get("cache"))
    said, thought = count(tokens.get("output")), count(tokens.get("reasoning"))
    buckets = Usage(
        fresh_input=count(tokens.get("input")),
        cache_read=count(cache.get("read")),
        cache_write=count(cache.get("write")),
        output=None if said is None else said + (thought or 0),
        reasoning=thought,
    )
    if not buckets.total:
        return Usage(), ()
    total = count(tokens.get("total"))
    return checked(buckets, None if total is None or buckets.output is None else total - buckets.output)


def _message(error: dict[str, object]) -> str:
    return text(mapping(error.get("data")).get("message")) or text(error.get("name"))


def _failure(error: dict[str, object]) -> Outcome:
    kind = _ERRORS.get(text(error.get("name")))
    if kind is not None:
        return Outcome.of(kind, _message(error))
    return failure(count(mapping(error.get("data")).get("statusCode")), _message(error))
