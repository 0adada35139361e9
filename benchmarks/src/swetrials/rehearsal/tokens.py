"""Token counts that are plausible, deterministic and add up: about four bytes of text make a token."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from swetrials.records.usage import Usage

BYTES_PER_TOKEN = 4
FRAME_TOKENS = 3
"""What the dialect wraps around a prompt; it is in every request and no cache holds it."""


def count(text: str) -> int:
    """Return the number of tokens in a text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def pieces(text: str, tokens_each: int) -> Iterator[tuple[str, int]]:
    """Cut a text for streaming: pieces of about ``tokens_each`` tokens, each with the tokens that it adds.

    The tokens of all pieces add up to those of the text.
    """
    size = tokens_each * BYTES_PER_TOKEN
    seen_bytes = seen_tokens = 0
    for start in range(0, len(text), size):
        piece = text[start : start + size]
        seen_bytes += len(piece.encode("utf-8", "surrogatepass"))
        total = -(-seen_bytes // BYTES_PER_TOKEN)
        yield piece, total - seen_tokens
        seen_tokens = total


@dataclass(frozen=True)
class PromptPart:
    """One block of a prompt: its size, whether the model made it, and the cache mark it carries."""

    tokens: int
    by_model: bool = False
    cache_ttl: Literal["5m", "1h"] | None = None


def part(value: object, by_model: bool = False) -> PromptPart:
    """Return the part that a block of a request makes.

    A cache mark has no size, and a text has the same size bare and as a block: agents change both between
    requests, and what was sent once must keep its size.
    """
    ttl: Literal["5m", "1h"] | None = None
    if isinstance(value, dict):
        mark = value.get("cache_control")
        if mark:
            ttl = "1h" if isinstance(mark, dict) and mark.get("ttl") == "1h" else "5m"
        value = {name: item for name, item in value.items() if name != "cache_control"}
        value = value.get("text") if value.get("type") == "text" else value
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return PromptPart(count(text), by_model, ttl)


def marked_prompt(parts: Sequence[PromptPart]) -> Usage:
    """Return the input buckets of a prompt whose cached prefix ends at the last cache mark (Anthropic).

    The cache holds what was marked up to the previous response; what is marked beyond that is written, for
    an hour where a one-hour mark stands behind it, else for five minutes; what no mark covers is fresh.
    """
    total = marked = marked_1h = 0
    for item in parts:
        total += item.tokens
        marked = total if item.cache_ttl else marked
        marked_1h = total if item.cache_ttl == "1h" else marked_1h
    read = min(_known(parts), marked)
    written_1h = max(0, marked_1h - read)
    return Usage(
        fresh_input=total - marked + FRAME_TOKENS,
        cache_read=read,
        cache_write=marked - read,
        cache_write_5m=marked - read - written_1h,
        cache_write_1h=written_1h,
    )


def unmarked_prompt(parts: Sequence[PromptPart]) -> Usage:
    """Return the input buckets of a prompt that the server caches unasked, writing for free (OpenAI)."""
    total = sum(item.tokens for item in parts)
    read = _known(parts)
    return Usage(
        fresh_input=total - read + FRAME_TOKENS, cache_read=read, cache_write=0, cache_write_5m=0, cache_write_1h=0
    )


def _known(parts: Sequence[PromptPart]) -> int:
    """Return the size of the prompt that the previous response was made from; none before the first."""
    last = max((place for place, item in enumerate(parts) if item.by_model), default=0)
    while last > 0 and parts[last - 1].by_model:
        last -= 1
    return sum(item.tokens for item in parts[:last])
