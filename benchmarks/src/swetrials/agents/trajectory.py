"""Recording an agent's trajectory from its events, while the stream passes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from swetrials.agents.events import (
    Compaction,
    End,
    Event,
    Notice,
    PermissionDenied,
    RequestUsage,
    Retry,
    SubagentStart,
    Text,
    ToolCall,
    ToolResult,
)
from swetrials.agents.shortening import Shortener
from swetrials.records.known import known_sum
from swetrials.records.trajectory import (
    FinalMetrics,
    Observation,
    ObservationResult,
    Step,
    StepMetrics,
    SubagentReference,
    ToolUse,
    Trajectory,
    TrajectoryAgent,
)
from swetrials.records.usage import Usage, UsageReport
from swetrials.store.redaction import Redactor

MOST_STEPS = 10_000
"""Steps that are kept; later ones are only counted."""

END = "end"
"""``extra.event`` of the step that tells of an agent's own ending."""

_MAIN = ""
_MOST_PARTS = 100
# Words, calls or answers of one step; a stream without any order in it must not end up in a single one.

_LAST_STEPS = 3 * _MOST_PARTS
_MOST_OPEN_CALLS = 1_000


@dataclass
class _Step:
    source: Literal["system", "user", "agent"]
    said: list[str] = field(default_factory=list)
    calls: list[ToolUse] = field(default_factory=list)
    results: list[ObservationResult] = field(default_factory=list)
    request: RequestUsage | None = None
    extra: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return max(len(self.said), len(self.calls), len(self.results)) >= _MOST_PARTS

    def record(self, number: int) -> Step:
        return Step(
            step_id=number,
            source=self.source,
            model_name=self.request.model if self.request else None,
            message="\n".join(self.said),
            tool_calls=tuple(self.calls),
            observation=Observation(results=tuple(self.results)) if self.results else None,
            metrics=_metrics(self.request) if self.request else None,
            extra=self.extra,
        )


@dataclass
class _Thread:
    """The conversation of one agent.

    ``current`` is the response that further words and calls belong to; ``untold`` are the steps of which it is not
    known yet whether they are one response or several.
    """

    steps: list[_Step] = field(default_factory=list)
    current: _Step | None = None
    untold: list[_Step] = field(default_factory=list)
    responses: dict[str, _Step] = field(default_factory=dict)

    def records(self) -> tuple[Step, ...]:
        return tuple(step.record(number) for number, step in enumerate(self.steps, 1))


class TrajectoryRecorder:
    """Takes in events and gives the trajectory that they make.

    A step of the agent is one model response with the answers to its tool calls. Agents that tell of no responses
    have one step for all that lies between two answers. What a subagent did is a trajectory of its own inside
    the other. Memory is bounded, whatever the stream: texts are shortened, and the number of steps has a limit.
    """

    def __init__(self, prompt: str, redactor: Redactor) -> None:
        """Take what the agent was asked, and what masks secrets."""
        self._shortener = Shortener(redactor)
        self._count = 0
        self._threads: dict[str, _Thread] = {}
        self._callers: dict[str, _Step] = {}
        self._kinds: dict[str, str] = {}
        self._append(_MAIN, _Step("user", [self._shortener.text(prompt)]))

    def add(self, events: Iterable[Event]) -> None:
        """Take in more events, in the order of the stream."""
        for event in events:
            match event:
                case RequestUsage():
                    self._request(event)
                case Text():
                    self._open(event.subagent).said.append(self._shortener.text(event.text))
                case ToolCall():
                    self._call(event)
                case ToolResult():
                    self._result(event)
                case SubagentStart():
                    self._kinds[event.call_id] = event.kind
                    self._append(event.call_id, _Step("user", [self._shortener.text(event.task)]))
                case Retry() | Compaction() | PermissionDenied() | Notice() | End():
                    self._append(_MAIN, self._around(event))

    def trajectory(
        self,
        agent: TrajectoryAgent,
        *,
        session_id: str | None,
        usage: UsageReport,
        cost_usd: float | None,
        notes: str,
        extra: dict[str, JsonValue],
    ) -> Trajectory:
        """Return the trajectory so far.

        Args:
            agent: whose it is.
            session_id: the agent's own id for the conversation.
            usage: the tokens of the whole, subagents included.
            cost_usd: what these cost; ``None`` when no price is known.
            notes: what a reader has to know of the file.
            extra: what belongs to the whole and has no field of its own.
        """
        kept = sum(len(thread.steps) for thread in self._threads.values())
        if self._count > kept:
            notes += f" Of {self._count:,} steps the first {kept:,} are here."
        tokens = usage.usage
        apart = {name: thread for name, thread in self._threads.items() if name != _MAIN and thread.steps}
        return Trajectory(
            session_id=session_id,
            agent=agent,
            steps=self._threads[_MAIN].records(),
            notes=notes,
            final_metrics=FinalMetrics(
                total_prompt_tokens=_prompt(tokens),
                total_completion_tokens=tokens.output,
                total_cached_tokens=tokens.cache_read,
                total_cost_usd=cost_usd,
                total_steps=self._count,
                extra={"completeness": usage.completeness},
            ),
            extra=extra,
            subagent_trajectories=tuple(
                Trajectory(
                    trajectory_id=name,
                    agent=agent.model_copy(update={"extra": {"kind": self._kinds.get(name, "")}}),
                    steps=thread.records(),
                )
                for name, thread in apart.items()
            ),
        )

    def _append(self, name: str, step: _Step) -> _Step:
        self._count += 1
        if self._count <= MOST_STEPS:
            self._threads.setdefault(name, _Thread()).steps.append(step)
        return step

    def _open(self, name: str) -> _Step:
        """Return the response that the next words or calls belong to."""
        thread = self._threads.setdefault(name, _Thread())
        current = thread.current
        if current is None or current.full or (current.request is None and current.results):
            current = thread.current = self._append(name, _Step("agent"))
            if len(thread.untold) < _MOST_PARTS:
                thread.untold.append(current)
        return current

    def _request(self, event: RequestUsage) -> None:
        thread = self._threads.setdefault(event.subagent, _Thread())
        known, current = thread.responses.get(event.message_id), thread.current
        if known is not None:
            thread.current = known
            if event.final or known.request is None or not known.request.final:
                known.request = event
        elif current is not None and current.request is None:
            # This agent tells of a response after what it said: whatever comes now is of the next one.
            self._remember(thread, event.message_id, self._joined(thread, event))
            thread.current = None
        else:
            thread.current = self._append(event.subagent, _Step("agent", request=event))
            self._remember(thread, event.message_id, thread.current)

    def _joined(self, thread: _Thread, request: RequestUsage) -> _Step:
        """Make one step of all that has turned out to be one response."""
        first, *more = thread.untold
        for step in more:
            first.said += step.said
            first.calls += step.calls
            first.results += step.results
            for call in step.calls:
                if call.tool_call_id in self._callers:
                    self._callers[call.tool_call_id] = first
        if more:
            apart = {id(step) for step in more}
            self._count -= len(more)
            # They are among the last, with hardly a step of the system in between.
            thread.steps[-_LAST_STEPS:] = [step for step in thread.steps[-_LAST_STEPS:] if id(step) not in apart]
        thread.untold = []
        first.request = request
        return first

    def _remember(self, thread: _Thread, message_id: str, step: _Step) -> None:
        if self._count <= MOST_STEPS:
            thread.responses[message_id] = step

    def _call(self, event: ToolCall) -> None:
        step = self._open(event.subagent)
        step.calls.append(
            ToolUse(
                tool_call_id=event.call_id,
                function_name=event.name,
                arguments=self._shortener.arguments(event.arguments),
            )
        )
        if len(self._callers) < _MOST_OPEN_CALLS:
            self._callers[event.call_id] = step

    def _result(self, event: ToolResult) -> None:
        asked = self._callers.pop(event.call_id, None)
        thread = self._threads.get(event.subagent)
        step = asked or (thread.steps[-1] if thread and thread.steps else self._threads[_MAIN].steps[-1])
        if step.full:
            return
        extra: dict[str, JsonValue] = {"is_error": True} if event.is_error else {}
        if event.exit_code is not None:
            extra["exit_code"] = event.exit_code
        step.results.append(
            ObservationResult(
                source_call_id=event.call_id if asked else None,
                content=self._shortener.text(event.text),
                subagent_trajectory_ref=(SubagentReference(trajectory_id=event.call_id),)
                if asked and event.call_id in self._threads
                else (),
                extra=extra,
            )
        )

    def _around(self, event: Retry | Compaction | PermissionDenied | Notice | End) -> _Step:
        match event:
            case Retry():
                said = f"retry {event.attempt} in {event.delay_seconds:g} s after status {event.status}: {event.reason}"
                kind = "retry"
            case Compaction():
                said = f"the conversation was compacted ({event.reason})"
                kind = "compaction"
            case PermissionDenied():
                said = f"{event.tool} was refused: {event.reason}"
                kind = "permission_denied"
            case Notice():
                said, kind = event.text, "notice"
            case End():
                said, kind = f"{event.outcome.kind}: {event.outcome.detail}".removesuffix(": "), END
        extra: dict[str, JsonValue] = {"event": kind}
        if isinstance(event, End):
            extra["outcome"] = event.outcome.kind.value
        return _Step("system", [self._shortener.text(said)], extra=extra)


def _prompt(usage: Usage) -> int | None:
    return known_sum((usage.fresh_input, usage.cache_read, usage.cache_write))


def _metrics(request: RequestUsage) -> StepMetrics:
    usage = request.usage
    apart = {"cache_write_tokens": usage.cache_write, "reasoning_tokens": usage.reasoning}
    return StepMetrics(
        prompt_tokens=_prompt(usage),
        # Until a response is over its output is unknown, whatever its beginning says.
        completion_tokens=usage.output if request.final else None,
        cached_tokens=usage.cache_read,
        extra={name: value for name, value in apart.items() if value is not None},
    )
