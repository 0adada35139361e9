"""The one way that leads out of a sealed sandbox, and starting a command behind it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from swetrials.environments.base import Environment, Held, Network
from swetrials.environments.sealing import Serve, held_start
from swetrials.records.sealing import NetworkAllowed, Sealing
from swetrials.wire.meter import open_meters
from swetrials.workspace.processes import Command, Started


@dataclass(frozen=True)
class Door:
    """How the route of a sealed command is opened to it.

    Attributes:
        serve: begins to serve the socket that listens inside for the route.
        allowed: what the command may reach.
        admit: called with what it can reach, before it begins; what it raises keeps it from that.
    """

    serve: Serve
    allowed: NetworkAllowed
    admit: Callable[[Sealing], None]


def open_because(environment: Environment, network: NetworkAllowed, *, meter: bool = True) -> str:
    """Return why nothing will keep a command from the network; empty where it will be sealed.

    Args:
        environment: what it runs in.
        network: what the dataset allows it.
        meter: whether there is one, without which no way leads out of a seal.
    """
    if network == "open":
        return "the dataset asks for network: open"
    if not environment.seals:
        return f"on the {environment.kind} nothing keeps a program from the network"
    return "" if meter else "without the meter there is no other way to the model than the network"


@asynccontextmanager
async def behind(
    door: Door | None,
    command: Callable[[Network, Held | None], Command],
    *,
    otherwise: Network = "open",
    stderr: Path | None = None,
) -> AsyncIterator[tuple[Command, Started | None]]:
    """Give a command as it is started, and what has to be awaited before its time begins.

    Args:
        door: seals it; ``None``: nothing leads out of its network, or that is the machine's.
        command: makes it, for a network.
        otherwise: the network that it has without a door.
        stderr: where its standard error goes, for what a sandbox says that does not start.
    """
    if door is None:
        yield command(otherwise, None), None
        return
    async with held_start() as start:

        async def seal(pid: int) -> None:
            meters = open_meters()
            door.admit(await start.seal(door.serve, network=door.allowed, meters=meters, stderr=stderr))
            start.release()

        yield command("none", start.held), seal
