"""What a run may spend, what it has spent, and what that means for what is under way."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

_COUNT_SECONDS = 2.0


@dataclass
class _Running:
    cost_so_far: Callable[[], float | None]
    stop: Callable[[], None]
    seen_usd: float = 0.0

    def count(self) -> None:
        self.seen_usd = max(self.seen_usd, self.cost_so_far() or 0.0)


@dataclass
class Budget:
    """The spending limit of a run, with a running total in US dollars. Without a limit it only adds up.

    Nothing new begins once what is spent and what the attempts under way are expected to take reach the limit.
    An attempt under way is stopped only when the money is really gone.

    Attributes:
        limit_usd: ``None``: there is no limit.
        settled_usd: what attempts that have ended cost, those of earlier sessions of the run among them.
        expected_usd: what an attempt is expected to cost; 0 where nothing is known.
        unpriced: how many attempts have ended at an unknown cost. With any, a limit cannot be kept.
    """

    limit_usd: float | None = None
    settled_usd: float = 0.0
    expected_usd: float = 0.0
    unpriced: int = 0
    _running: dict[str, _Running] = field(default_factory=dict)

    @property
    def spent_usd(self) -> float:
        """What has been spent so far, by attempts under way too."""
        return self.settled_usd + sum(running.seen_usd for running in self._running.values())

    @property
    def closed(self) -> bool:
        """Whether nothing new may begin."""
        bound = sum(max(running.seen_usd, self.expected_usd) for running in self._running.values())
        return self.limit_usd is not None and self.settled_usd + bound >= self.limit_usd

    @property
    def told(self) -> str:
        """The state of the budget in words."""
        limit = "no limit" if self.limit_usd is None else f"of ${self.limit_usd:,.2f}"
        if not self.unpriced:
            return f"${self.spent_usd:,.2f} spent, {limit}"
        broken = "" if self.limit_usd is None else ": the limit cannot be kept"
        unknown = "1 attempt has" if self.unpriced == 1 else f"{self.unpriced} attempts have"
        return f"at least ${self.spent_usd:,.2f} spent, {limit}; {unknown} no known cost{broken}"

    def begin(self, attempt_id: str, cost_so_far: Callable[[], float | None], stop: Callable[[], None]) -> None:
        """Take in that an attempt begins.

        Args:
            attempt_id: whose end will be told by it.
            cost_so_far: what it has cost by now in US dollars; ``None``: unknown.
            stop: ends it, when the money is gone.
        """
        self._running[attempt_id] = _Running(cost_so_far, stop)

    def end(self, attempt_id: str, cost_usd: float | None) -> None:
        """Take in that an attempt has ended, and its whole cost; ``None``: unknown."""
        seen_usd = self._running.pop(attempt_id).seen_usd
        self.settled_usd += max(seen_usd, cost_usd or 0.0)
        self.unpriced += cost_usd is None

    def count(self) -> None:
        """Look at what the attempts under way have cost by now, and stop them if that is too much."""
        for running in self._running.values():
            running.count()
        if self.limit_usd is not None and self.spent_usd >= self.limit_usd:
            for running in self._running.values():
                running.stop()

    async def keep_counting(self) -> None:
        """Count every two seconds, until cancelled."""
        while True:
            await anyio.sleep(_COUNT_SECONDS)
            self.count()
