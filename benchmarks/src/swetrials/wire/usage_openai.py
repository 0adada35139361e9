"""Usage in the two OpenAI dialects: cached tokens are part of the input, reasoning is part of the output.

Chat Completions tells usage in a stream's last chunk, and only to a client that sends
``stream_options.include_usage``; Responses tells it with the last event. Source: the public API reference;
``cache_write_tokens`` as Codex 0.171 reads it.
"""

from swetrials.records.usage import Usage
from swetrials.wire.usage import JsonObject, Told, count, error_message, mapping, text

_LAST_EVENTS = {"response.completed", "response.incomplete", "response.failed"}


class OpenAIChat:
    """Reads chat.completion objects and their chunks."""

    silent: frozenset[bytes] = frozenset()

    def __init__(self) -> None:
        self.told = Told()

    def event(self, event: JsonObject) -> None:
        """Take in one chunk."""
        if event.get("error"):
            self.told.error = error_message(event) or "an error event"
        self.told.model = text(event.get("model")) or self.told.model
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            self.told.stop_reason = text(mapping(choice).get("finish_reason")) or self.told.stop_reason
        if reported := mapping(event.get("usage")):
            self.told.usage = _disjoint(reported, "prompt_tokens", "completion_tokens")

    def whole(self, body: JsonObject) -> None:
        """Take in a chat.completion object."""
        self.event(body)
        self.told.final = isinstance(body.get("choices"), list)


class OpenAIResponses:
    """Reads response objects and the events of their streams."""

    silent = frozenset(
        {
            b"response.output_item.added",
            b"response.output_item.done",
            b"response.output_text.delta",
            b"response.function_call_arguments.delta",
            b"response.reasoning_summary_text.delta",
        }
    )

    def __init__(self) -> None:
        self.told = Told()

    def event(self, event: JsonObject) -> None:
        """Take in one event."""
        kind = text(event.get("type"))
        if kind == "error":
            self.told.error = error_message(event) or "an error event"
        elif response := mapping(event.get("response")):
            self.told.model = text(response.get("model")) or self.told.model
            if kind in _LAST_EVENTS:
                self.whole(response)

    def whole(self, body: JsonObject) -> None:
        """Take in a response object."""
        status = text(body.get("status"))
        self.told.model = text(body.get("model")) or self.told.model
        self.told.stop_reason = text(mapping(body.get("incomplete_details")).get("reason")) or status
        self.told.final = status is not None
        self.told.error = error_message(body)
        if reported := mapping(body.get("usage")):
            self.told.usage = _disjoint(reported, "input_tokens", "output_tokens")


def _disjoint(reported: JsonObject, sent: str, made: str) -> Usage:
    details = mapping(reported.get(f"{sent}_details"))
    total = count(reported.get(sent))
    read, written = count(details.get("cached_tokens")), count(details.get("cache_write_tokens"))
    return Usage(
        fresh_input=None if total is None else max(total - (read or 0) - (written or 0), 0),
        cache_read=read,
        cache_write=written,
        output=count(reported.get(made)),
        reasoning=count(mapping(reported.get(f"{made}_details")).get("reasoning_tokens")),
    )
