"""Anthropic Messages: ``POST /v1/messages``, as its public API reference and Claude Code 2.1 have it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from swetrials.records.usage import Usage
from swetrials.rehearsal import tokens
from swetrials.rehearsal.conversation import BadRequest, Call, Conversation, ScriptedReply, Tool, count_turns
from swetrials.rehearsal.speaker import Refusal, StreamFrame, items, retry_after, texts
from swetrials.wire import sse
from swetrials.wire.route import Dialect

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Event:
    """One event of a streamed message, and the output tokens that it carries."""

    data: dict[str, object]
    output_tokens: int = 0


class AnthropicSpeaker:
    """The dialect of Claude Code."""

    dialect: Dialect = "anthropic"
    ends_with_usage = False
    stream_type = sse.MEDIA_TYPE
    garbage = sse.GARBAGE

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says."""
        messages = items(body.get("messages"))
        if not messages:
            raise BadRequest("messages: at least one message is required")
        first = takewhile(lambda message: message.get("role") != "assistant", messages)
        opening = [text for message in first for text in texts(message.get("content"))] + texts(body.get("system"))
        return Conversation(
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            opening="\n".join(opening),
            turn=count_turns(message.get("role") == "assistant" for message in messages),
            tools=tuple(
                Tool.from_schema(str(tool.get("name")), tool.get("input_schema")) for tool in items(body.get("tools"))
            ),
            prompt=tokens.marked_prompt(_parts(body, messages)),
            max_tokens=limit if isinstance(limit := body.get("max_tokens"), int) else None,
        )

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return a message object."""
        content: list[dict[str, object]] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [_tool_use(call, dict(call.arguments)) for call in reply.calls]
        message = _message(reply, content, reply.stop.value, reply.usage_told(_usage(reply.usage)))
        return message | reply.told_as.beside_usage

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return the message's events as server-sent events."""
        for event in stream_events(reply, piece_tokens):
            yield StreamFrame(sse.frame(event.data, str(event.data["type"])), event.output_tokens)

    def error(self, status: int, message: str) -> Refusal:
        """Return an error object."""
        error = {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}
        return Refusal(status, {"type": "error", "error": error}, retry_after(status))


def stream_events(reply: ScriptedReply, piece_tokens: int) -> Iterator[Event]:
    """Return message_start, the content blocks, message_delta and message_stop."""
    usage = reply.usage_told(_usage(reply.usage))
    # The real service has sampled a token when it sends message_start, and says so.
    at_start = reply.told_as.retold("usage_at_start_as", _at_start(usage, reply.usage.output))
    yield _event("message_start", message=_message(reply, [], None, at_start))
    yield _event("ping")
    if reply.text:
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece, size in tokens.pieces(reply.text, piece_tokens):
            yield _event("content_block_delta", size, index=0, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=0)
    for index, call in enumerate(reply.calls, start=1 if reply.text else 0):
        yield from _stream_call(call, index, piece_tokens)
    stop = {"stop_reason": reply.stop.value, "stop_sequence": None}
    yield Event({"type": "message_delta", "delta": stop, "usage": usage, **reply.told_as.beside_usage})
    if reply.tells_again:
        yield _event("message_delta", delta={}, usage=reply.told_as.usage_again_as)
    yield _event("message_stop")


def _parts(body: Mapping[str, Any], messages: list[dict[str, Any]]) -> list[tokens.PromptPart]:
    system = body.get("system")
    parts = [tokens.part(tool) for tool in items(body.get("tools"))]
    parts += [tokens.part(block) for block in ([system] if isinstance(system, str) else items(system))]
    for message in messages:
        content, by_model = message.get("content"), message.get("role") == "assistant"
        blocks = items(content) if isinstance(content, list) else [content]
        parts += [tokens.part(block, by_model) for block in blocks or [""]]
    return parts


def _stream_call(call: Call, index: int, piece_tokens: int) -> Iterator[Event]:
    yield _event("content_block_start", tokens.count(call.name), index=index, content_block=_tool_use(call, {}))
    for piece, size in tokens.pieces(call.json, piece_tokens):
        delta = {"type": "input_json_delta", "partial_json": piece}
        yield _event("content_block_delta", size, index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _tool_use(call: Call, arguments: dict[str, object]) -> dict[str, object]:
    return {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": arguments}


def _message(
    reply: ScriptedReply, content: list[dict[str, object]], stop: str | None, usage: object
) -> dict[str, object]:
    return {
        "id": reply.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _at_start(usage: object, output: int | None) -> object:
    if isinstance(usage, dict) and "output_tokens" in usage:
        return {**usage, "output_tokens": min(1, output or 0)}
    return usage


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "input_tokens": usage.fresh_input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def _event(kind: str, output_tokens: int = 0, **data: object) -> Event:
    return Event({"type": kind, **data}, output_tokens)
