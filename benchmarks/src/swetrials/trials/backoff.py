"""Holding back while a provider throttles: one pause for a whole run, however many trials met the limit."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

THROTTLED = frozenset({429, 529})
"""Statuses by which a provider says that it gets too much: too many requests, overloaded."""

_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0
_LONGEST_ASKED_SECONDS = 3600.0


@dataclass
class Backoff:
    """When the next attempt of a run may begin.

    Pauses double as long as nothing but refusals comes, up to five minutes, and are spread by chance, so that
    what waited together does not come back together. What the provider itself says (``retry-after``) is
    waited for in full, up to an hour. Agents that are at work repeat their requests by themselves; only what has
    not begun waits here.
    """

    spread: Callable[[], float] = field(default=lambda: random.uniform(0.5, 1.0))
    _until: float = 0.0
    _in_a_row: int = 0

    def saw(self, status: int | None, retry_after_seconds: float | None) -> None:
        """Take in the status of a response, with how long the provider asks to be left alone."""
        if status in THROTTLED:
            self.throttled(retry_after_seconds)
        elif status is not None and status < 400 and not self.seconds_left:
            self._in_a_row = 0

    @property
    def seconds_left(self) -> float:
        """How long the pause still lasts."""
        return max(0.0, self._until - anyio.current_time())

    async def over(self) -> float:
        """Return once no pause lasts any more, and how many seconds that took."""
        began = anyio.current_time()
        while seconds := self.seconds_left:
            await anyio.sleep(seconds)
        return anyio.current_time() - began

    def throttled(self, retry_after_seconds: float | None = None) -> None:
        """Begin a pause, or make sure that the one that lasts is long enough."""
        if not self.seconds_left:
            # Refusals of requests that were on their way already say nothing new.
            self._in_a_row += 1
        pause = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2 ** min(self._in_a_row - 1, 10)) * self.spread()
        asked = min(_LONGEST_ASKED_SECONDS, retry_after_seconds or 0.0)
        self._until = max(self._until, anyio.current_time() + max(pause, asked))
