"""A request and its reply, as they are before and after any dialect."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from uuid import uuid4

import orjson

from swetrials.records.usage import Usage
from swetrials.rehearsal import tokens
from swetrials.rehearsal.scenario import ToldAs


class BadRequest(ValueError):
    """A request that the dialect does not allow; the message says what is missing."""


@dataclass(frozen=True)
class Tool:
    """A tool that the agent offers: its name and the JSON Schema of its arguments."""

    name: str
    properties: Mapping[str, Mapping[str, object]]
    required: frozenset[str] = frozenset()

    @classmethod
    def from_schema(cls, name: str, schema: object) -> "Tool":
        """Return the tool that a request describes; a schema of any other shape counts as no arguments."""
        fields = schema if isinstance(schema, dict) else {}
        properties = fields.get("properties")
        return cls(
            name=name,
            properties=properties if isinstance(properties, dict) else {},
            required=frozenset(fields.get("required") or ()),
        )


@dataclass(frozen=True)
class Conversation:
    """What a request says: who is asked, what for, and how far the conversation is.

    ``turn`` is the number of model responses the request holds: the request asks for the one after them.
    ``prompt`` holds the input buckets alone. ``max_tokens`` is the limit that the request sets on the output, in
    the dialects of Anthropic's models.
    """

    model: str
    stream: bool
    opening: str
    turn: int
    tools: tuple[Tool, ...]
    prompt: Usage
    stream_usage: bool = True
    max_tokens: int | None = None


class Stop(StrEnum):
    """Why the model stopped."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


def unique(prefix: str) -> str:
    """Return a fresh id. Agents count usage once per id, so no two responses may share one."""
    return f"{prefix}_{uuid4().hex[:24]}"


@dataclass(frozen=True)
class Call:
    """One tool call."""

    name: str
    arguments: Mapping[str, object]
    id: str = field(default_factory=lambda: unique("call"))

    @property
    def json(self) -> str:
        """The arguments as JSON text."""
        return orjson.dumps(self.arguments).decode()


@dataclass(frozen=True)
class ScriptedReply:
    """One model response: text first, then tool calls."""

    model: str
    prompt: Usage
    text: str
    calls: tuple[Call, ...] = ()
    stop: Stop = Stop.END_TURN
    told_as: ToldAs = field(default_factory=ToldAs)

    def usage_told(self, own: Mapping[str, object]) -> object:
        """Return the usage as the response tells it, where it would be ``own``."""
        return self.told_as.retold("usage_as", own)

    def id(self, prefix: str) -> str:
        """Return a fresh id for the response, or the one that the script gives it."""
        return self.told_as.id_as or unique(prefix)

    @property
    def tells_again(self) -> bool:
        """Whether a stream tells a usage a second time."""
        return "usage_again_as" in self.told_as.model_fields_set

    @property
    def usage(self) -> Usage:
        """What the response costs: the prompt's buckets, and the output counted from its text and calls."""
        called = sum(tokens.count(call.name) + tokens.count(call.json) for call in self.calls)
        return self.prompt.model_copy(update={"output": tokens.count(self.text) + called, "reasoning": 0})


def count_turns(by_model: Iterable[bool]) -> int:
    """Return the number of model responses in a history.

    ``by_model`` says of each item, in order, whether the model made it. One response can be several items
    (text, reasoning, tool calls); between two responses there is always an item that the model did not make.
    """
    return sum(made for made, _ in groupby(by_model))
