"""Bedrock's InvokeModel: ``POST /model/{id}/invoke`` and ``/invoke-with-response-stream``.

As the AWS API reference of ``bedrock-runtime`` has them, and as boto3 1.44 and Claude Code 2.1 call them: the bodies
are Anthropic Messages without ``model`` and ``stream``, which the path tells instead.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import orjson

from swetrials.records.usage import Usage
from swetrials.rehearsal.anthropic import AnthropicSpeaker, stream_events
from swetrials.rehearsal.conversation import BadRequest, Conversation, ScriptedReply, unique
from swetrials.rehearsal.speaker import Refusal, StreamFrame
from swetrials.wire import eventstream
from swetrials.wire.route import Dialect

_MESSAGES = AnthropicSpeaker()
_MODEL_NAME = re.compile(r"anthropic\.(.+?)(?:-v\d+(?::\d+)?)?(?:\[.*\])?$")
_ERRORS = {
    400: (400, "ValidationException"),
    401: (403, "UnrecognizedClientException"),
    404: (404, "ResourceNotFoundException"),
    429: (429, "ThrottlingException"),
    529: (503, "ServiceUnavailableException"),
}
"""What AWS has in place of a status: it knows no 401 and no 529."""


def event_frame(name: str, payload: Mapping[str, object], output_tokens: int = 0) -> StreamFrame:
    """Return one event of a streamed response."""
    return StreamFrame(eventstream.encode_event(name, orjson.dumps(payload)), output_tokens)


def broken_frame() -> bytes:
    """Return an event whose checksum is wrong."""
    sound = eventstream.encode_event("chunk", b'{"bytes":""}')
    return sound[:-1] + bytes([sound[-1] ^ 0xFF])


def refusal(status: int, message: str) -> Refusal:
    """Return an error response of AWS: its kind is in a header, the body holds the message alone."""
    status, kind = _ERRORS.get(status, (500, "InternalServerException"))
    return Refusal(status, {"message": message}, (("x-amzn-errortype", kind), ("x-amzn-requestid", unique("req"))))


@dataclass(frozen=True)
class InvokeModel:
    """One call: the path's model and whether it asks for a stream."""

    model: str
    streaming: bool

    dialect: ClassVar[Dialect] = "bedrock"
    ends_with_usage: ClassVar[bool] = False
    stream_type: ClassVar[str] = eventstream.CONTENT_TYPE
    garbage: ClassVar[bytes] = broken_frame()

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says."""
        if "anthropic_version" not in body:
            raise BadRequest("Malformed input request: #: required key [anthropic_version] not found")
        return replace(_MESSAGES.read(body), model=self.model, stream=self.streaming)

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return a message object."""
        return _MESSAGES.whole(_as_answered(reply))

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return a message's events, each as the base64 of its JSON; the last has Bedrock's own count as well."""
        for event in stream_events(_as_answered(reply), piece_tokens):
            data = event.data
            if data["type"] == "message_stop":
                data = {**data, "amazon-bedrock-invocationMetrics": _metrics(reply.usage)}
            encoded = base64.b64encode(orjson.dumps(data)).decode()
            yield event_frame("chunk", {"bytes": encoded}, event.output_tokens)

    def error(self, status: int, message: str) -> Refusal:
        """Return AWS's error object."""
        return refusal(status, message)


def _as_answered(reply: ScriptedReply) -> ScriptedReply:
    # The model's own name stands in the response: "claude-opus-5" for "us.anthropic.claude-opus-5".
    found = _MODEL_NAME.search(reply.model)
    return replace(reply, model=found[1]) if found else reply


def _metrics(usage: Usage) -> dict[str, object]:
    return {
        "inputTokenCount": usage.fresh_input,
        "outputTokenCount": usage.output,
        "cacheReadInputTokenCount": usage.cache_read,
        "cacheWriteInputTokenCount": usage.cache_write,
        "invocationLatency": 2,
        "firstByteLatency": 1,
    }
