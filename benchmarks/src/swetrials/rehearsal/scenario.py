"""The scenario: what the scripted model does, as a person writes it in YAML."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from swetrials.records.record import Record


class FaultKind(StrEnum):
    """Every way in which the scripted model can misbehave."""

    STATUS_429 = "status_429"
    STATUS_500 = "status_500"
    STATUS_529 = "status_529"
    STATUS_401 = "status_401"
    STATUS_400 = "status_400"
    STATUS_402 = "status_402"
    HTML = "html"
    GARBAGE = "garbage"
    BROKEN_SSE = "broken_sse"
    CUT = "cut"
    CUT_MID_EVENT = "cut_mid_event"
    CUT_AFTER_USAGE = "cut_after_usage"
    RESET_BEFORE_ANSWER = "reset_before_answer"
    HANG_BEFORE_HEADERS = "hang_before_headers"
    HANG_MID_STREAM = "hang_mid_stream"
    EMPTY = "empty"
    REFUSAL = "refusal"
    MAX_TOKENS = "max_tokens"
    SLOW = "slow"


class Fault(Record):
    """A misbehaviour, and when it strikes.

    A fault whose response the agent keeps, whole or in part, uses up the step it strikes: the agent's next
    request is for the next step. ``empty``, ``refusal`` and ``max_tokens`` are of this kind, and Claude Code
    2.1 keeps what was said before a stream broke.
    """

    kind: FaultKind
    times: int | None = Field(None, ge=1, description="strikes per API key and script; null: always")
    at_step: int | None = Field(None, ge=0, description="the step it strikes, counted from 0; null: every step")
    message: str | None = Field(None, description="what an error status says; null: words of its own")
    retry_after_seconds: int | None = Field(None, ge=0, description="header of an error status; null: 1 s with 429")


class WriteFile(Record):
    """Create a file. To change one that is there use ``edit``: a tool may refuse to overwrite what was not read."""

    path: str = Field(min_length=1, description="absolute, or relative to the agent's working directory")
    content: str


class EditFile(Record):
    """Replace text that occurs exactly once in a file."""

    path: str = Field(min_length=1, description="absolute, or relative to the agent's working directory")
    old: str = Field(min_length=1)
    new: str


class CallTool(Record):
    """Call a tool of one agent by its own name, with arguments as it takes them."""

    name: str = Field(min_length=1)
    arguments: dict[str, JsonValue] = {}


class Action(Record):
    """One thing to do with a tool: exactly one of ``read``, ``write``, ``edit``, ``shell`` and ``tool``."""

    read: str | None = Field(None, min_length=1, description="a file's path, as for write")
    write: WriteFile | None = None
    edit: EditFile | None = None
    shell: str | None = Field(None, min_length=1, description="a command for the agent's shell")
    tool: CallTool | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if sum(thing is not None for thing in (self.read, self.write, self.edit, self.shell, self.tool)) != 1:
            raise ValueError("an action is exactly one of read, write, edit, shell and tool")
        return self


class ToldAs(Record):
    """What a response tells of itself in place of what it would: the shapes that servers in the field have.

    The server's own figures, which records are held against, stay those of the tokens that were sent.
    """

    usage_as: JsonValue = Field(None, description="sent as it stands in place of the usage; null is sent, too")
    usage_at_start_as: JsonValue = Field(None, description="Anthropic: the usage of message_start alone, likewise")
    usage_again_as: JsonValue = Field(None, description="a second usage in the stream, after the first")
    beside_usage: dict[str, JsonValue] = Field({}, description="laid over the object that carries the usage")
    model_as: str | None = Field(None, min_length=1, description="the model that the response names")
    id_as: str | None = Field(None, min_length=1, description="the id that the response has, be it one of another's")

    def retold(self, name: str, own: object) -> object:
        """Return what a key of the scenario says, a null included; ``own`` where it is not there."""
        return getattr(self, name) if name in self.model_fields_set else own


class ScriptStep(ToldAs):
    """One response of the model: something said, one tool call or several, or both."""

    say: str = ""
    read: str | None = Field(None, min_length=1, description="a file's path, as for write")
    write: WriteFile | None = None
    edit: EditFile | None = None
    shell: str | None = Field(None, min_length=1, description="a command for the agent's shell")
    tool: CallTool | None = None
    all: tuple[Action, ...] = Field((), description="several tool calls in one response")

    @model_validator(mode="after")
    def _is_one_response(self) -> Self:
        tools = sum(thing is not None for thing in self._things) + bool(self.all)
        if tools > 1:
            raise ValueError("a step has one of read, write, edit, shell, tool and all; put several calls under all")
        if not tools and not self.say:
            raise ValueError("a step needs at least one of say, read, write, edit, shell, tool and all")
        return self

    @property
    def _things(self) -> tuple[object, ...]:
        return self.read, self.write, self.edit, self.shell, self.tool

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the response does with tools, in order."""
        if all(thing is None for thing in self._things):
            return self.all
        return (Action(read=self.read, write=self.write, edit=self.edit, shell=self.shell, tool=self.tool),)


class Script(Record):
    """What to play in the conversations that open with a certain text."""

    when: str = Field(
        min_length=1,
        description="text that the opening (system prompt, first user message), or the name of the attempt, holds",
    )
    fault: Fault | None = None
    steps: tuple[ScriptStep, ...] = Field(min_length=1)


class Scenario(Record):
    """A set of scripts. The first whose ``when`` a conversation's opening holds is played in it."""

    schema_version: Literal["1.0"]
    name: str = Field(min_length=1)
    fault: Fault | None = Field(None, description="strikes in every script, in place of the script's own fault")
    scripts: tuple[Script, ...]
    seconds_per_token: float = Field(0.0, ge=0, description="what the model takes for a token of output; 0: no time")

    def with_fault(self, kind: FaultKind) -> Self:
        """Return a copy in which every scripted request meets the fault."""
        return self.model_copy(update={"fault": Fault(kind=kind)})
