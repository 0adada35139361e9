"""What each dialect has to offer: reading a request, and writing a reply, a stream or an error."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from swetrials.wire.rehearsal.conversation import Conversation, Reply
from swetrials.wire.route import Dialect


@dataclass(frozen=True)
class Frame:
    """Bytes that go out at once, and the output tokens that they carry."""

    data: bytes
    output_tokens: int = 0


class Speaker(Protocol):
    """One dialect. A stream's frames carry together exactly the output tokens of the reply's usage."""

    dialect: Dialect

    def read(self, body: Mapping[str, Any]) -> Conversation:
        """Return what a request says.

        Raises:
            BadRequest: the dialect does not allow such a request.
        """

    def whole(self, reply: Reply) -> dict[str, object]:
        """Return the body of a response that is not streamed."""

    def stream(self, reply: Reply, conversation: Conversation, piece_tokens: int) -> Iterator[Frame]:
        """Return the events of a streamed response, its text in pieces of about ``piece_tokens``."""

    def error(self, status: int, message: str) -> dict[str, object]:
        """Return the body of an error response."""


def items(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list of a request, passing over anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: object) -> list[str]:
    """Return the texts of a message, whose content is one text or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in items(content) if isinstance(block.get("text"), str)]
