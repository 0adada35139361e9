"""Telling which agent printed a stream."""

from collections.abc import Iterable, Mapping

from swetrials.agents.base import Agent
from swetrials.agents.jsonl import JsonLines

_LONGEST_PREFACE_BYTES = 8 << 20
# Of banners and unknown events before anything that says whose stream it is: also a long first line fits.


class Recogniser:
    """Looks at the beginning of a stream until one of the agents knows it for its own."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents
        self._lines = JsonLines()
        self._seen_bytes = 0

    @property
    def hopeless(self) -> bool:
        """Whether so much has been seen in vain that looking on makes no sense."""
        return self._seen_bytes > _LONGEST_PREFACE_BYTES

    def feed(self, data: bytes) -> Agent | None:
        """Take the next bytes, cut anywhere, and return the agent, once one is found."""
        self._seen_bytes += len(data)
        return self._first(self._lines.feed(data))

    def finish(self) -> Agent | None:
        """Return the agent that a last line without a newline is of."""
        return self._first(self._lines.finish())

    def _first(self, objects: Iterable[dict[str, object]]) -> Agent | None:
        known = (agent for line in objects for agent in self._agents.values() if agent.recognises(line))
        return next(known, None)
