"""Bedrock's Converse: ``POST /model/{id}/converse`` and ``/converse-stream``, as the AWS API reference has them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, ClassVar, Literal

from swetrials.records.usage import Usage
from swetrials.rehearsal import tokens
from swetrials.rehearsal.bedrock import broken_frame, event_frame, refusal
from swetrials.rehearsal.conversation import BadRequest, Call, Conversation, ScriptedReply, Stop, Tool, count_turns
from swetrials.rehearsal.speaker import Refusal, StreamFrame, items, texts
from swetrials.wire import eventstream
from swetrials.wire.route import Dialect

_STOPS = {
    Stop.END_TURN: "end_turn",
    Stop.TOOL_USE: "tool_use",
    Stop.MAX_TOKENS: "max_tokens",
    Stop.REFUSAL: "content_filtered",
}
_METRICS = {"latencyMs": 2}


@dataclass(frozen=True)
class ConverseSpeaker:
    """One call: the path's model and whether it asks for a stream."""

    model: str
    streaming: bool

    dialect: ClassVar[Dialect] = "bedrock"
    ends_with_usage: ClassVar[bool] = True
    stream_type: ClassVar[str] = eventstream.CONTENT_TYPE
    garbage: ClassVar[bytes] = broken_frame()

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says."""
        messages = items(body.get("messages"))
        if not messages:
            raise BadRequest("1 validation error detected: Value at 'messages' failed to satisfy constraint")
        first = takewhile(lambda message: message.get("role") != "assistant", messages)
        opening = [text for message in first for text in texts(message.get("content"))] + texts(body.get("system"))
        offered = [tool["toolSpec"] for tool in _tools(body) if isinstance(tool.get("toolSpec"), dict)]
        limits = body.get("inferenceConfig")
        limit = limits.get("maxTokens") if isinstance(limits, dict) else None
        return Conversation(
            model=self.model,
            stream=self.streaming,
            opening="\n".join(opening),
            turn=count_turns(message.get("role") == "assistant" for message in messages),
            tools=tuple(Tool.from_schema(str(spec.get("name")), _schema(spec)) for spec in offered),
            prompt=tokens.marked_prompt(_parts(body, messages)),
            max_tokens=limit if isinstance(limit, int) else None,
        )

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return the output message with its usage."""
        content: list[dict[str, object]] = [{"text": reply.text}] if reply.text else []
        content += [{"toolUse": {**_tool_use(call), "input": dict(call.arguments)}} for call in reply.calls]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": _STOPS[reply.stop],
            "usage": reply.usage_told(_usage(reply.usage)),
            "metrics": _METRICS,
            **reply.told_as.beside_usage,
        }

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return messageStart, the content blocks, messageStop and the metadata with the usage."""
        yield event_frame("messageStart", {"role": "assistant"})
        if reply.text:
            for piece, size in tokens.pieces(reply.text, piece_tokens):
                yield event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}, size)
            yield event_frame("contentBlockStop", {"contentBlockIndex": 0})
        for index, call in enumerate(reply.calls, start=1 if reply.text else 0):
            yield from _stream_call(call, index, piece_tokens)
        yield event_frame("messageStop", {"stopReason": _STOPS[reply.stop]})
        metadata = {"usage": reply.usage_told(_usage(reply.usage)), "metrics": _METRICS}
        yield event_frame("metadata", metadata | reply.told_as.beside_usage)
        if reply.tells_again:
            yield event_frame("metadata", {"usage": reply.told_as.usage_again_as})

    def error(self, status: int, message: str) -> Refusal:
        """Return AWS's error object."""
        return refusal(status, message)


def _tools(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    config = body.get("toolConfig")
    return items(config.get("tools")) if isinstance(config, dict) else []


def _schema(spec: Mapping[str, Any]) -> object:
    schema = spec.get("inputSchema")
    return schema.get("json") if isinstance(schema, dict) else None


def _parts(body: Mapping[str, Any], messages: list[dict[str, Any]]) -> list[tokens.PromptPart]:
    blocks = [(block, False) for block in (*_tools(body), *items(body.get("system")))]
    for message in messages:
        by_model = message.get("role") == "assistant"
        blocks += [(block, by_model) for block in items(message.get("content"))]
    parts: list[tokens.PromptPart] = []
    for block, by_model in blocks:
        mark = block.get("cachePoint")
        if mark is None:
            parts.append(tokens.part(block, by_model))
        elif parts:
            # Here a cache mark is a block of its own, behind what it marks.
            parts[-1] = replace(parts[-1], cache_ttl=_ttl(mark))
    return parts


def _ttl(mark: object) -> Literal["5m", "1h"]:
    return "1h" if isinstance(mark, dict) and mark.get("ttl") == "1h" else "5m"


def _stream_call(call: Call, index: int, piece_tokens: int) -> Iterator[StreamFrame]:
    start = {"contentBlockIndex": index, "start": {"toolUse": _tool_use(call)}}
    yield event_frame("contentBlockStart", start, tokens.count(call.name))
    for piece, size in tokens.pieces(call.json, piece_tokens):
        delta = {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}
        yield event_frame("contentBlockDelta", delta, size)
    yield event_frame("contentBlockStop", {"contentBlockIndex": index})


def _tool_use(call: Call) -> dict[str, object]:
    return {"toolUseId": f"tooluse_{call.id}", "name": call.name}


def _usage(usage: Usage) -> dict[str, object]:
    written = (("5m", usage.cache_write_5m), ("1h", usage.cache_write_1h))
    return {
        "inputTokens": usage.fresh_input,
        "outputTokens": usage.output,
        "totalTokens": usage.total,
        "cacheReadInputTokens": usage.cache_read,
        "cacheWriteInputTokens": usage.cache_write,
        "cacheDetails": [{"ttl": ttl, "inputTokens": count} for ttl, count in written if count],
    }
