"""What each dialect has to offer: reading a request, and writing a reply, a stream or an error."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from swetrials.rehearsal.conversation import Conversation, ScriptedReply
from swetrials.wire.route import Dialect


@dataclass(frozen=True)
class StreamFrame:
    """Bytes that go out at once, and the output tokens that they carry."""

    data: bytes
    output_tokens: int = 0


@dataclass(frozen=True)
class Refusal:
    """An error response. Its status may be another than the one asked for: not every dialect has them all."""

    status: int
    body: Mapping[str, object]
    headers: tuple[tuple[str, str], ...] = ()


class Speaker(Protocol):
    """One dialect. A stream's frames carry together exactly the output tokens of the reply's usage."""

    @property
    def dialect(self) -> Dialect:
        """The dialect's name."""

    @property
    def stream_type(self) -> str:
        """Media type of a streamed response."""

    @property
    def ends_with_usage(self) -> bool:
        """Whether a stream's last frame is the one that carries the usage."""

    @property
    def garbage(self) -> bytes:
        """What no client can make sense of in the middle of a stream."""

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says.

        Raises:
            BadRequest: the dialect does not allow such a request.
        """

    def whole(self, reply: ScriptedReply) -> dict[str, object]:
        """Return the body of a response that is not streamed."""

    def stream(self, reply: ScriptedReply, conversation: Conversation, piece_tokens: int) -> Iterator[StreamFrame]:
        """Return the events of a streamed response, its text in pieces of about ``piece_tokens``."""

    def error(self, status: int, message: str) -> Refusal:
        """Return an error response."""


def retry_after(status: int) -> tuple[tuple[str, str], ...]:
    """Return the headers with which Anthropic's and OpenAI's APIs put a client off."""
    return (("retry-after", "1"),) if status == 429 else ()


def items(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of a request, passing over anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: object) -> list[str]:
    """Return the texts of a message, whose content is one text or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in items(content) if isinstance(block.get("text"), str)]
