"""What a program could reach beside its model, and what proves it."""

from collections.abc import Iterable, Sequence
from typing import Literal, Self

from swetrials.records.record import Record

NetworkAllowed = Literal["model", "registries", "open"]
"""What an environment lets a program reach: its model's route alone, that and package registries, or everything."""

SealState = Literal["proven", "declared", "open"]
"""``proven``: the canaries held in this very attempt. ``declared``: an engine was asked for no network and could not
be entered. ``open``: nothing keeps it."""

_STRENGTH: dict[SealState, int] = {"open": 0, "declared": 1, "proven": 2}
_CLOSENESS: dict[NetworkAllowed, int] = {"open": 0, "registries": 1, "model": 2}


def closest(networks: Iterable[NetworkAllowed]) -> NetworkAllowed:
    """Return the one that allows the least; ``model`` where there is none."""
    return max(networks, key=_CLOSENESS.__getitem__, default="model")


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

    @classmethod
    def weakest(cls, known: Sequence["Sealing"]) -> "Sealing | None":
        """Return the one that proves the least, the first of equals; ``None`` where there is none."""
        return min(known, key=lambda one: (_STRENGTH[one.state], _CLOSENESS[one.network]), default=None)

    @property
    def sealed(self) -> bool:
        """Whether it is proven that the model's route was reached and nothing else."""
        return self.state == "proven" and self.network == "model"

    def past_the_seal(self, why: str) -> Self:
        """Return the same for a program that reached further by a way that no seal stops: it is open, and why."""
        return self.model_copy(update={"state": "open", "why": "; ".join(part for part in (self.why, why) if part)})

    def refused(self, *, require_sealed: bool) -> str:
        """Return why nothing may be started behind it; empty where it may.

        Args:
            require_sealed: whether less than proven is refused. A canary that came out wrongly always is.
        """
        if self.broken or (require_sealed and not self.sealed):
            return self.why or f"{self.state}, network: {self.network}"
        return ""

    @property
    def broken(self) -> bool:
        """Whether a canary came out wrongly: what was to be sealed is not."""
        return any(canary.held is False for canary in self.canaries)
