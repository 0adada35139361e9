"""The frame of every reader of JSON lines: bytes into lines, each line into events."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from swetrials.agents.events import Event
from swetrials.agents.jsonl import JsonLines


class LineReader(ABC):
    """Reads a stream line by line; what a line means is the CLI's own."""

    def __init__(self, lines: JsonLines) -> None:
        """Take what cuts the stream into its objects."""
        self._lines = lines

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take the next bytes, cut anywhere, and yield the events they complete."""
        for line in self._lines.feed(data):
            yield from self._events(line)

    def finish(self) -> Iterator[Event]:
        """Yield what a last line without a newline still holds."""
        for line in self._lines.finish():
            yield from self._events(line)

    @abstractmethod
    def _events(self, line: dict[str, object]) -> Iterable[Event]:
        """Return what one object of the stream says."""
