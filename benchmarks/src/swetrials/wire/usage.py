"""What a response tells of itself: the model that served it, why it stopped, and its tokens in disjoint buckets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import orjson

from swetrials.records.requests import PriceTerms
from swetrials.records.usage import Usage

JsonObject = Mapping[str, object]

_LONGEST_WORD = 100

MOST_TOKENS = 1_000_000_000_000
"""More than any answer has: a greater number is no count."""


@dataclass
class Told:
    """What a response has told so far.

    ``usage`` is what had been reported by then, so a lower bound until ``final``: the response has come to the
    end that its dialect gives it. ``doubts`` are the checks that its counts do not pass, ``lost`` is what was told and
    could not be read; either takes completeness away. ``broken_off``: an error ended the answer.
    """

    model: str | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    final: bool = False
    error: str = ""
    terms: PriceTerms | None = None
    doubts: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    broken_off: bool = False

    def lose(self, *what: str) -> None:
        """Take in what was told and could not be read."""
        self.lost = tuple(dict.fromkeys((*self.lost, *what)))

    def break_off(self, error: str) -> None:
        """Take in that an error ended the answer: what it told before is the least."""
        self.error, self.broken_off = error, True


class Interpreter(Protocol):
    """Understands the responses of one dialect; what it does not know it passes over."""

    told: Told
    silent: frozenset[bytes]
    """The names of server-sent events that tell nothing of this; most of a stream is made of them."""

    def event(self, event: JsonObject) -> None:
        """Take in one event of a streamed response."""

    def whole(self, body: JsonObject) -> None:
        """Take in the body of a response that is not streamed."""

    def finish(self) -> None:
        """Take in that the response came to its end."""


def parse(data: bytes | bytearray | str) -> JsonObject:
    """Return a JSON object; an empty one where the data is anything else."""
    try:
        return mapping(orjson.loads(data))
    except orjson.JSONDecodeError:
        return {}


def mapping(value: object) -> JsonObject:
    """Return ``value`` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count(value: object) -> int | None:
    """Return ``value`` when it is a number of tokens, else ``None``: not told.

    Some servers write a count as a float; one with a fraction, and one beyond every answer, is no count.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value) if value == int(value) else None


def amount(value: object) -> float | None:
    """Return ``value`` when it is an amount, else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS:
        return None
    return float(value)


def word(value: object) -> str | None:
    """Return what names a term of the price, as a text; ``None`` where nothing is named.

    A value of another shape is not the standard one: it is kept as it is written, or by the ``type`` it has.
    """
    if isinstance(value, str) or not value:
        return text(value)
    return text(mapping(value).get("type")) or orjson.dumps(value).decode()[:_LONGEST_WORD]


def text(value: object) -> str | None:
    """Return ``value`` when it is a text that says something, else ``None``."""
    return value if isinstance(value, str) and value else None


def error_message(body: JsonObject) -> str:
    """Return what an error says: in ``error.message`` (Anthropic, OpenAI), ``error`` or ``message`` (Bedrock)."""
    error = body.get("error")
    return text(mapping(error).get("message")) or text(error) or text(body.get("message")) or ""
