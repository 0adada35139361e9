"""``trajectory.json``: what an agent said and did, in the Agent Trajectory Interchange Format (ATIF) 1.7.

The format is read by viewers and by training pipelines. These models hold the part of it that is written here; what the
format has no field for stands in its ``extra`` objects. Absent fields are left out.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, JsonValue

from swetrials.records.record import Record

T = TypeVar("T")


def _is_absent(value: object) -> bool:
    return value is None or value in ((), {})


Optional = Annotated[T | None, Field(exclude_if=_is_absent)]
Extra = Annotated[dict[str, JsonValue], Field(exclude_if=_is_absent)]


class ToolUse(Record):
    """A tool call."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class SubagentReference(Record):
    """Which of the embedded trajectories a tool call has led to."""

    trajectory_id: str


class ObservationResult(Record):
    """What one tool call gave; ``source_call_id`` is absent when the agent does not say which call it was."""

    source_call_id: Optional[str] = None
    content: Optional[str] = None
    subagent_trajectory_ref: Annotated[tuple[SubagentReference, ...], Field(exclude_if=_is_absent)] = ()
    extra: Extra = {}


class Observation(Record):
    """What came back for the calls of a step."""

    results: tuple[ObservationResult, ...]


class StepMetrics(Record):
    """Tokens of one model response. Here, unlike in our own records, cached tokens are part of the prompt."""

    prompt_tokens: Optional[int] = Field(None, description="fresh, cache read and cache write together")
    completion_tokens: Optional[int] = None
    cached_tokens: Optional[int] = Field(None, description="part of prompt_tokens read from a cache")
    extra: Extra = {}


class Step(Record):
    """One turn of the conversation: of the user, of the agent, or an event of the system around them."""

    step_id: int = Field(ge=1)
    source: Literal["system", "user", "agent"]
    model_name: Optional[str] = None
    message: str
    tool_calls: Annotated[tuple[ToolUse, ...], Field(exclude_if=_is_absent)] = ()
    observation: Optional[Observation] = None
    metrics: Optional[StepMetrics] = None
    extra: Extra = {}


class TrajectoryAgent(Record):
    """The agent whose trajectory it is."""

    name: str
    version: str
    model_name: Optional[str] = None
    extra: Extra = {}


class FinalMetrics(Record):
    """What the whole trajectory comes to, subagents included."""

    total_prompt_tokens: Optional[int] = None
    total_completion_tokens: Optional[int] = None
    total_cached_tokens: Optional[int] = None
    total_cost_usd: Optional[float] = None
    total_steps: int = Field(ge=0)
    extra: Extra = {}


class Trajectory(Record):
    """One attempt of an agent, or the part of it that a subagent did."""

    schema_version: Literal["ATIF-v1.7"] = "ATIF-v1.7"
    session_id: Optional[str] = None
    trajectory_id: Optional[str] = None
    agent: TrajectoryAgent
    steps: tuple[Step, ...] = Field(min_length=1)
    notes: Optional[str] = None
    final_metrics: Optional[FinalMetrics] = None
    extra: Extra = {}
    subagent_trajectories: "Annotated[tuple[Trajectory, ...], Field(exclude_if=_is_absent)]" = ()
