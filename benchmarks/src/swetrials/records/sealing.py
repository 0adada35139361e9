"""What a program could reach beside its model, and what proves it."""

from collections.abc import Sequence
from typing import Literal, Self

from swetrials.records.record import Record

NetworkAllowed = Literal["model", "registries", "open"]
"""What an environment lets a program reach: its model's route alone, that and package registries, or everything."""

SealState = Literal["proven", "declared", "open"]
"""``proven``: the canaries held in this very attempt. ``declared``: an engine was asked for no network and could not
be entered. ``open``: nothing keeps it."""


class Canary(Record):
    """A request whose right outcome is known beforehand, made where the program is about to start.

    Attributes:
        name: what was tried, such as ``route answers`` or ``host loopback refused``.
        held: whether it came out as it had to; ``None``: it could not be tried.
        detail: what came of it, where that says more.
    """

    name: str
    held: bool | None
    detail: str = ""


class Sealing(Record):
    """Whether a program could reach its model's route and nothing else.

    Attributes:
        state: what is known of it.
        network: what it was allowed.
        why: why nothing more is known, where the state is not ``proven``.
        canaries: what was tried, in the order of the trying.
    """

    state: SealState
    network: NetworkAllowed
    why: str = ""
    canaries: tuple[Canary, ...] = ()

    @classmethod
    def of(cls, network: NetworkAllowed, canaries: Sequence[Canary]) -> Self:
        """Return what canaries prove: one that did not hold, or could not be tried, leaves it open."""
        failed = [canary for canary in canaries if canary.held is not True]
        if not canaries or failed:
            why = "; ".join(f"{canary.name}: {canary.detail or 'did not hold'}" for canary in failed)
            return cls(state="open", network=network, why=why or "no canary was tried", canaries=tuple(canaries))
        return cls(state="proven", network=network, canaries=tuple(canaries))

    @property
    def broken(self) -> bool:
        """Whether a canary came out wrongly: what was to be sealed is not."""
        return any(canary.held is False for canary in self.canaries)
