"""OpenAI Responses: ``POST /v1/responses``, as its public API reference and Codex 0.171 have it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from swetrials.records.usage import Usage
from swetrials.rehearsal import tokens
from swetrials.rehearsal.conversation import (
    BadRequest,
    Call,
    Conversation,
    ScriptedReply,
    Stop,
    Tool,
    count_turns,
    unique,
)
from swetrials.rehearsal.openai_errors import refusal
from swetrials.rehearsal.speaker import Refusal, StreamFrame, items, texts
from swetrials.wire import sse
from swetrials.wire.route import Dialect

_INCOMPLETE = {Stop.MAX_TOKENS: "max_output_tokens", Stop.REFUSAL: "content_filter"}


class OpenAIResponsesSpeaker:
    """The dialect of Codex."""

    dialect: Dialect = "openai-responses"
    ends_with_usage = True
    stream_type = sse.MEDIA_TYPE
    garbage = sse.GARBAGE

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says."""
        asked = body.get("input")
        history = [{"role": "user", "content": asked}] if isinstance(asked, str) else items(asked)
        if not history:
            raise BadRequest("input: a text or at least one item is required")
        opening = [
            text for item in takewhile(lambda item: not _by_model(item), history) for text in texts(item.get("content"))
        ]
        functions = [tool for tool in _offered(body, history) if tool.get("type") == "function"]
        instructions = texts(body.get("instructions"))
        parts = [tokens.part(tool) for tool in items(body.get("tools"))]
        parts += [tokens.part(text) for text in instructions]
        parts += [tokens.part(item, _by_model(item)) for item in history]
        return Conversation(
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            opening="\n".join(opening + instructions),
            turn=count_turns(_by_model(item) for item in history),
            tools=tuple(Tool.from_schema(str(tool.get("name")), tool.get("parameters")) for tool in functions),
            prompt=tokens.unmarked_prompt(parts),
        )

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return a response object."""
        return _finished(_response(reply), reply, [item for item, _ in _output(reply)])

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return response.created, the output items and response.completed (or response.incomplete)."""
        for number, (event, size, data) in enumerate(_events(reply, piece_tokens)):
            yield StreamFrame(sse.frame({"type": event, "sequence_number": number, **data}, event), size)

    def error(self, status: int, message: str) -> Refusal:
        """Return an error object."""
        return refusal(status, message)


Named = tuple[str, int, dict[str, object]]
"""An event's name, the output tokens it carries, and its data."""


def _offered(body: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Give the tools of a request. To Bedrock, Codex names them in an item of the input, grouped in namespaces."""
    waiting = items(body.get("tools"))
    for item in history:
        waiting += items(item.get("tools")) if item.get("type") == "additional_tools" else []
    for tool in waiting:
        yield from items(tool.get("tools")) if tool.get("type") == "namespace" else [tool]


def _by_model(item: Mapping[str, Any]) -> bool:
    # An item without a type is a message. The model makes its messages, its reasoning and its calls of any
    # kind; what answers a call is named <kind>_call_output.
    kind = item.get("type", "message")
    if kind == "message":
        return item.get("role") == "assistant"
    return kind == "reasoning" or str(kind).endswith("_call")


def _events(reply: ScriptedReply, piece_tokens: int) -> Iterator[Named]:
    response = _response(reply)
    yield "response.created", 0, {"response": response}
    yield "response.in_progress", 0, {"response": response}
    output = []
    for index, (item, call) in enumerate(_output(reply)):
        output.append(item)
        if call is None:
            yield from _message_events(reply, item, index, piece_tokens)
        else:
            yield from _call_events(call, item, index, piece_tokens)
        yield "response.output_item.done", 0, {"output_index": index, "item": item}
    final = _finished(response, reply, output)
    yield f"response.{final['status']}", 0, {"response": final}


def _message_events(reply: ScriptedReply, item: dict[str, object], index: int, piece_tokens: int) -> Iterator[Named]:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    kind, field = ("refusal", "refusal") if reply.stop is Stop.REFUSAL else ("output_text", "text")
    yield (
        "response.output_item.added",
        0,
        {"output_index": index, "item": {**item, "status": "in_progress", "content": []}},
    )
    yield "response.content_part.added", 0, {**place, "part": _text_part(reply, "")}
    for piece, size in tokens.pieces(reply.text, piece_tokens):
        yield f"response.{kind}.delta", size, {**place, "delta": piece}
    yield f"response.{kind}.done", 0, {**place, field: reply.text}
    yield "response.content_part.done", 0, {**place, "part": _text_part(reply, reply.text)}


def _call_events(call: Call, item: dict[str, object], index: int, piece_tokens: int) -> Iterator[Named]:
    place = {"item_id": item["id"], "output_index": index}
    started = {**item, "status": "in_progress", "arguments": ""}
    yield "response.output_item.added", tokens.count(call.name), {"output_index": index, "item": started}
    for piece, size in tokens.pieces(call.json, piece_tokens):
        yield "response.function_call_arguments.delta", size, {**place, "delta": piece}
    yield "response.function_call_arguments.done", 0, {**place, "arguments": call.json}


def _output(reply: ScriptedReply) -> list[tuple[dict[str, object], Call | None]]:
    """Return the finished output items, each with the call that it is, if it is one."""
    output: list[tuple[dict[str, object], Call | None]] = []
    if reply.text:
        message: dict[str, object] = {
            "id": unique("msg"),
            "type": "message",
            "role": "assistant",
            "status": "incomplete" if reply.stop in _INCOMPLETE else "completed",
            "content": [_text_part(reply, reply.text)],
        }
        output.append((message, None))
    for call in reply.calls:
        item: dict[str, object] = {
            "id": unique("fc"),
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.json,
        }
        output.append((item, call))
    return output


def _text_part(reply: ScriptedReply, text: str) -> dict[str, object]:
    if reply.stop is Stop.REFUSAL:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(reply: ScriptedReply) -> dict[str, object]:
    return {
        "id": reply.id("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "model": reply.model,
        "output": [],
        "error": None,
        "incomplete_details": None,
        "parallel_tool_calls": True,
        "store": False,
        "usage": None,
    }


def _finished(response: dict[str, object], reply: ScriptedReply, output: list[dict[str, object]]) -> dict[str, object]:
    reason = _INCOMPLETE.get(reply.stop)
    return {
        **response,
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": output,
        "usage": reply.usage_told(_usage(reply.usage)),
        **reply.told_as.beside_usage,
    }


def _usage(usage: Usage) -> dict[str, object]:
    prompt = (usage.fresh_input or 0) + (usage.cache_read or 0)
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": prompt + (usage.output or 0),
    }
