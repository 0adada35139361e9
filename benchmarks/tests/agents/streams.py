"""An agent's recorded streams, and what its reader makes of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from swetrials.agents import AGENTS
from swetrials.agents.events import Event, Tally

RECORDED = Path(__file__).parents[1] / "conformance"


@dataclass(frozen=True)
class Streams:
    """The streams of one agent, by its name."""

    agent: str

    def recorded(self, name: str) -> bytes:
        """Return a stream as the agent's real program printed it."""
        return (RECORDED / self.agent / f"{name}.jsonl").read_bytes()

    def events_of(self, data: bytes, cuts: Iterable[int] = ()) -> list[Event]:
        """Return the events of a stream that arrives in pieces, cut at these places."""
        pieces = (data[start:end] for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True))
        return [event for piece in self.read(pieces) for event in piece]

    def tally_of(self, data: bytes) -> Tally:
        """Return what a stream comes to."""
        return self.tally_of_pieces([data])

    def tally_of_pieces(self, pieces: Iterable[bytes]) -> Tally:
        """Return what a stream comes to that arrives in pieces, and is never in memory as a whole."""
        tally = Tally()
        for events in self.read(pieces):
            tally.add(events)
        return tally

    def read(self, pieces: Iterable[bytes]) -> Iterable[Iterable[Event]]:
        """Yield the events of each piece, and those of a last line without an end."""
        reader = AGENTS[self.agent].reader()
        for piece in pieces:
            yield reader.feed(piece)
        yield reader.finish()
