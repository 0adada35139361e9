"""Counting each API response of a stream once, however often it is told, in bounded memory."""

from dataclasses import dataclass, field

from swetrials.records.usage import Usage
from swetrials.records.usage_sum import UsageSum

_MOST_OPEN = 512
# Responses that may still be told again; an agent tells of one, or of a few that run side by side.


@dataclass
class Responses:
    """The responses so far. Of those that are long past, only the sum is kept and who they were, by a number."""

    _open: dict[str, tuple[Usage, bool, bool]] = field(default_factory=dict)
    _past: set[int] = field(default_factory=set)
    _main: UsageSum = field(default_factory=UsageSum)
    _apart: UsageSum = field(default_factory=UsageSum)

    def add(self, response_id: str, usage: Usage, *, final: bool, subagent: bool) -> None:
        """Take in a response, or more of one that is known: a snapshot never takes back a final count."""
        known = self._open.get(response_id)
        if known is None and hash(response_id) in self._past:
            return
        if final or known is None or not known[1]:
            self._open[response_id] = (usage, final, subagent)
        if len(self._open) > _MOST_OPEN:
            self._settle()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._open) + self._main.count + self._apart.count

    @property
    def of_main_agent(self) -> int:
        """How many of them are no subagent's."""
        return self._main.count + sum(not subagent for _, _, subagent in self._open.values())

    @property
    def usage(self) -> Usage:
        """What they come to."""
        return self._summed(self._main, subagent=False) + self.subagent_usage

    @property
    def subagent_usage(self) -> Usage:
        """What those of subagents come to; all unknown when there is none."""
        return self._summed(self._apart, subagent=True)

    def _summed(self, past: UsageSum, *, subagent: bool) -> Usage:
        total = past.copy()
        for usage, _, of_subagent in self._open.values():
            if of_subagent is subagent:
                total.add(usage)
        return total.usage

    def _settle(self) -> None:
        for response_id in list(self._open)[: _MOST_OPEN // 2]:
            usage, _, subagent = self._open.pop(response_id)
            self._past.add(hash(response_id))
            (self._apart if subagent else self._main).add(usage)
