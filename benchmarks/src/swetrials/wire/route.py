"""The way to one model, as agents and providers both understand it."""

from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

Dialect = Literal["anthropic", "openai-chat", "openai-responses"]
"""``anthropic``: POST /v1/messages. ``openai-chat``: /v1/chat/completions. ``openai-responses``: /v1/responses."""


@dataclass(frozen=True)
class Route:
    """Everything an agent needs to reach one model.

    ``base_url`` is the origin (and path prefix) below which the dialect's own paths start: without ``/v1``.
    """

    dialects: frozenset[Dialect]
    base_url: str
    api_key: SecretStr
    model: str
    context_window: int | None = None
    region: str | None = None
