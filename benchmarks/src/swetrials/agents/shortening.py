"""Keeping what goes into a trajectory short and free of secrets."""

import orjson
from pydantic import JsonValue

from swetrials.store.redaction import Redactor

LONGEST = 10_000
"""Characters of one text that are kept: the larger part from its beginning, the rest from its end."""

_SHORTEST = 200
_BUDGET = 16_000_000
# Characters in all. After these a text keeps its outlines alone, so that no stream, however long, fills the memory.

_MOST_ARGUMENTS = 50


class Shortener:
    """Masks secrets in texts, and cuts those that are too long, leaving a mark that says how much is gone."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = _BUDGET

    def text(self, text: str) -> str:
        """Return a text as it may be kept."""
        return self._cut(self._redactor.text(text))

    def arguments(self, arguments: dict[str, object]) -> dict[str, JsonValue]:
        """Return a tool call's arguments; of very many or very long ones only what fits."""
        plain = self._redactor.text(orjson.dumps(arguments).decode())
        clean: dict[str, JsonValue] = orjson.loads(plain)
        if len(plain) <= self._limit:
            self._left -= len(plain)
            return clean
        return {name[:_SHORTEST]: self._value(clean[name]) for name in list(clean)[:_MOST_ARGUMENTS]}

    def _value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._cut(value)
        plain = orjson.dumps(value).decode()
        return value if len(plain) <= _SHORTEST else self._cut(plain)

    @property
    def _limit(self) -> int:
        return LONGEST if self._left > 0 else _SHORTEST

    def _cut(self, text: str) -> str:
        limit = self._limit
        self._left -= min(len(text), limit)
        if len(text) <= limit:
            return text
        tail = limit // 4
        return f"{text[: limit - tail]}\n[... {len(text) - limit:,} characters cut ...]\n{text[-tail:]}"
