"""Sealing, with real sandboxes: who serves the route, what each canary tells, and what is left behind."""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from environments.sandboxes import WAYS, sandboxed
from swetrials.environments.sealing import SEALED_PORT, held_start
from swetrials.records.sealing import Sealing
from swetrials.workspace.processes import Ended, ProcessLimits, run_group

LIMITS = ProcessLimits(20, drain_seconds=1)
NAMES = [
    "no interface but loopback",
    "the route answers",
    "the host's loopback is not reached",
    "no other meter is reached",
    "no daemon's socket is reached",
    "no abstract socket is reached",
    "no name resolves",
    "no name server is reached",
    "no datagram leaves",
]

ways = pytest.mark.parametrize("way", sorted(WAYS))


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = await reader.readline()
    writer.write(b"HTTP/1.1 %d said\r\nContent-Length: 5\r\n\r\nhello" % (200 if asked.startswith(b"GET ") else 400))
    await writer.drain()
    writer.close()


async def serve(listener: socket.socket) -> None:
    await asyncio.start_server(answer, sock=listener)


class Trying:
    """One command that is held, sealed and released; what came of it."""

    def __init__(self, way: str, folder: Path, **sandbox: object) -> None:
        self.way = way
        self.folder = folder
        self.sandbox = sandbox
        self.output = b""
        self.sealing: Sealing | None = None
        self.released = True

    async def run(
        self, script: str, serving: Callable[[socket.socket], Awaitable[None]] = serve, **seal: object
    ) -> Ended:
        async with held_start() as start:

            async def started(pid: int) -> None:
                self.sealing = await start.seal(serving, stderr=self.folder / "stderr", **seal)
                assert self.output == b""
                if self.released:
                    start.release()

            command = sandboxed(["bash", "-c", script], self.way, self.folder, held=start.held, **self.sandbox)
            return await run_group(
                command,
                LIMITS,
                mark=f"test-{secrets.token_hex(8)}",
                on_output=self._take,
                stderr=self.folder / "stderr",
                started=started,
            )

    def _take(self, data: bytes) -> bool:
        self.output += data
        return False


@ways
def test_a_sandbox_is_proven_to_be_sealed_and_its_route_is_served_from_outside(way: str, tmp_path: Path) -> None:
    trying = Trying(way, tmp_path)
    ask = f"exec 3<>/dev/tcp/127.0.0.1/{SEALED_PORT}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    ended = anyio.run(trying.run, f"{ask}; exit 7")
    print(trying.sealing)
    assert trying.sealing is not None
    assert trying.output.endswith(b"hello")
    assert (ended.cause, ended.exit_code) == ("exited", 7)
    assert trying.sealing.state == "proven"
