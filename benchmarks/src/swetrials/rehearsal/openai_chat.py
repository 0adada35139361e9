"""OpenAI Chat Completions: ``POST /v1/chat/completions``, as its public API reference and vLLM have it."""

import time
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from swetrials.records.usage import Usage
from swetrials.rehearsal import tokens
from swetrials.rehearsal.conversation import BadRequest, Call, Conversation, ScriptedReply, Stop, Tool, count_turns
from swetrials.rehearsal.openai_errors import refusal
from swetrials.rehearsal.speaker import Refusal, StreamFrame, items, texts
from swetrials.wire import sse
from swetrials.wire.route import Dialect

_FINISH = {
    Stop.END_TURN: "stop",
    Stop.TOOL_USE: "tool_calls",
    Stop.MAX_TOKENS: "length",
    Stop.REFUSAL: "content_filter",
}


class OpenAIChatSpeaker:
    """The dialect of most agents and of most self-hosted servers."""

    dialect: Dialect = "openai-chat"
    ends_with_usage = False
    stream_type = sse.MEDIA_TYPE
    garbage = sse.GARBAGE

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says."""
        messages = items(body.get("messages"))
        if not messages:
            raise BadRequest("messages: at least one message is required")
        first = takewhile(lambda message: message.get("role") != "assistant", messages)
        functions = [tool["function"] for tool in items(body.get("tools")) if isinstance(tool.get("function"), dict)]
        options = body.get("stream_options")
        parts = [tokens.part(tool) for tool in items(body.get("tools"))]
        parts += [tokens.part(message, message.get("role") == "assistant") for message in messages]
        return Conversation(
            model=str(body.get("model", "")),
            stream=body.get("stream") is True,
            opening="\n".join(text for message in first for text in texts(message.get("content"))),
            turn=count_turns(message.get("role") == "assistant" for message in messages),
            tools=tuple(Tool.from_schema(str(tool.get("name")), tool.get("parameters")) for tool in functions),
            prompt=tokens.unmarked_prompt(parts),
            stream_usage=isinstance(options, dict) and options.get("include_usage") is True,
        )

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return a chat.completion object."""
        refused = reply.stop is Stop.REFUSAL
        message: dict[str, object] = {
            "role": "assistant",
            "content": None if refused else reply.text,
            "refusal": reply.text if refused else None,
        }
        if reply.calls:
            message["tool_calls"] = [_tool_call(call, call.json) for call in reply.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _FINISH[reply.stop]}
        usage = reply.usage_told(_usage(reply.usage))
        body = {**_head(reply, "chat.completion"), "choices": [choice], "usage": usage}
        return body | reply.told_as.beside_usage

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return chat.completion.chunk objects; usage comes last, where the request asks for it."""
        head = _head(reply, "chat.completion.chunk")
        yield _chunk(head, {"role": "assistant", "content": ""})
        field = "refusal" if reply.stop is Stop.REFUSAL else "content"
        for piece, size in tokens.pieces(reply.text, piece_tokens):
            yield _chunk(head, {field: piece}, size)
        for index, call in enumerate(reply.calls):
            start = {"index": index, **_tool_call(call, "")}
            yield _chunk(head, {"tool_calls": [start]}, tokens.count(call.name))
            for piece, size in tokens.pieces(call.json, piece_tokens):
                more = {"index": index, "function": {"arguments": piece}}
                yield _chunk(head, {"tool_calls": [more]}, size)
        yield _chunk(head, {}, finish=_FINISH[reply.stop])
        if conversation.stream_usage:
            last = {**head, "choices": [], "usage": reply.usage_told(_usage(reply.usage))}
            yield StreamFrame(sse.frame(last | reply.told_as.beside_usage))
            if reply.tells_again:
                yield StreamFrame(sse.frame({**head, "choices": [], "usage": reply.told_as.usage_again_as}))
        yield StreamFrame(sse.DONE)

    def error(self, status: int, message: str) -> Refusal:
        """Return an error object."""
        return refusal(status, message)


def _tool_call(call: Call, arguments: str) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _head(reply: ScriptedReply, kind: str) -> dict[str, object]:
    return {"id": reply.id("chatcmpl"), "object": kind, "created": int(time.time()), "model": reply.model}


def _chunk(
    head: Mapping[str, object], delta: Mapping[str, object], size: int = 0, finish: str | None = None
) -> StreamFrame:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return StreamFrame(sse.frame({**head, "choices": [choice]}), size)


def _usage(usage: Usage) -> dict[str, object]:
    prompt = (usage.fresh_input or 0) + (usage.cache_read or 0)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + (usage.output or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
