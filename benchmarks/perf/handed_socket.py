"""What it costs that the meter's socket lies in a network namespace of its own: the same requests, from inside."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from swetrials.store.redaction import Redactor
from swetrials.wire.meter import metered
from swetrials.wire.route import Route

PORT = 4711

_INSIDE = """
import fcntl, json, socket, struct, sys
import meter
with socket.socket() as any_socket:
    up = struct.pack("16sh", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
    fcntl.ioctl(any_socket, 0x8914, up)  # SIOCSIFFLAGS
made = socket.create_server(("127.0.0.1", int(sys.argv[1])))
with socket.socket(fileno=int(sys.argv[2])) as home:
    socket.send_fds(home, [b"s"], [made.fileno()])
made.close()
for line in sys.stdin:
    base_url, times = json.loads(line)
    print(json.dumps(meter.ask(base_url, times)), flush=True)
"""


class Inside:
    """A client in a network namespace that has loopback alone, and the socket that listens there."""

    def __init__(self, process: "subprocess.Popen[bytes]", listening: socket.socket) -> None:
        self.listening = listening
        self._process = process

    def ask(self, base_url: str, times: int) -> list[float]:
        """Return how many milliseconds each of some requests took there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([base_url, times]).encode() + b"\n")
        self._process.stdin.flush()
        took: list[float] = json.loads(self._process.stdout.readline())
        return took


@contextmanager
def namespace() -> Iterator[Inside]:
    """Make a network namespace with a client in it."""
    ours, theirs = socket.socketpair()
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    argv = [*unshare, sys.executable, "-c", _INSIDE, str(PORT), str(theirs.fileno())]
    process = subprocess.Popen(
        argv, cwd=Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(theirs.fileno(),)
    )
    theirs.close()
    try:
        with ours:
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        if not descriptors:
            raise SystemExit("this machine makes no network namespaces")
        with socket.socket(fileno=descriptors[0]) as listening:
            yield Inside(process, listening)
    finally:
        process.kill()
        process.communicate()


async def serve_handed(tell: Callable[[str], None], endpoint: str, log: str, listening: socket.socket) -> None:
    """Stand before an endpoint, on a socket of a namespace."""
    route = Route(frozenset({"anthropic"}), endpoint, SecretStr("key-of-the-measurement"), "m")
    async with metered(route, Path(log), Redactor(), port=PORT) as meter:
        await meter.serve(listening)
        tell(meter.route.base_url)
        await asyncio.Event().wait()
