"""Server-sent events as the three dialects frame them."""

from collections.abc import Mapping

import orjson

MEDIA_TYPE = "text/event-stream"

DONE = b"data: [DONE]\n\n"
"""The last frame of an OpenAI Chat stream."""


def frame(data: Mapping[str, object], event: str | None = None) -> bytes:
    """Return one event: its name, where the dialect names events, and its data as JSON on one line."""
    head = b"" if event is None else b"event: " + event.encode() + b"\n"
    return head + b"data: " + orjson.dumps(data) + b"\n\n"


GARBAGE = b'data: {"type": "content_bl\xff\xfe<<garbage>>\n\n'
"""An event that is cut in the middle of its JSON, and no UTF-8."""
