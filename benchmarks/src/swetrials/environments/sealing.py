"""Sealing a sandbox: its own network with the model's route in it and nothing else, tried before the command begins.

No relay runs inside. The listening socket is made in the sandbox's network by a program from outside
(:mod:`swetrials.environments.namespace_probe`), which hands it over to be served here, where all else is reached. So
nothing has to exist inside, and nothing in there can take the port. The command waits until then, and for the canaries.
"""

import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from subprocess import DEVNULL

import anyio
import anyio.abc

from swetrials.environments.base import Held
from swetrials.environments.sockets_of_others import local_sockets
from swetrials.errors import KnownError
from swetrials.records.sealing import Canary, NetworkAllowed, Sealing

SEALED_PORT = 24117
"""Where the route listens on the loopback of each sandbox: none of the ports that Linux picks at random (those from
32768 on), and none that agents try."""

_PROBE = str(Path(__file__).with_name("namespace_probe.py"))
_START_SECONDS = 30.0
"""Until the command waits: its folders are looked through before, which takes long where they hold many files. Who dies
meanwhile is told of at once."""

_PROBE_SECONDS = 15.0
_LONGEST_MESSAGE_BYTES = 1 << 20

_HOLD = 'echo ready >"$1"; read -r go <"$2" && [ "$go" = go ] || exit 125; shift 2; exec "$@"'
# Opened by their names in /proc: dash knows no numbers of open files beyond 9.

Serve = Callable[[socket.socket], Awaitable[None]]
"""Begins to serve a listening socket, which is the callee's from then on."""


class SealError(KnownError):
    """Whether a sandbox is sealed cannot be told, so that nothing may run in it; the message is one line."""

    exit_code = 3


def require_sealed_enough(sealing: Sealing, told: str = "not sealed", *, require_sealed: bool = False) -> None:
    """Keep a command from beginning behind a seal that is broken, or weaker than what is asked for.

    Args:
        sealing: what it can reach.
        told: who is concerned, in the message.
        require_sealed: whether less than proven is refused.

    Raises:
        SealError: it may not begin.
    """
    if why := sealing.refused(require_sealed=require_sealed):
        raise SealError(f"{told}: {why}")


def hold_words(held: Held, argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words that run a command when it is told to, and exit with 125 when nobody is left to tell it."""
    return ("/bin/sh", "-c", _HOLD, "sh", f"/proc/self/fd/{held.ready_fd}", f"/proc/self/fd/{held.go_fd}", *argv)


class HeldStart:
    """The start of one command that waits: ``held`` is what its environment needs for that."""

    def __init__(self, held: Held, theirs: ExitStack, go: int, control: socket.socket) -> None:
        self.held = held
        self._theirs = theirs
        self._go = go
        self._control = control

    async def seal(
        self,
        serve: Serve,
        *,
        network: NetworkAllowed = "model",
        meters: Iterable[tuple[str, int]] = (),
        stderr: Path | None = None,
    ) -> Sealing:
        """Have the route served inside, and try what can be reached from there beside it.

        To be called when the sandbox has been started (``started`` of
        :func:`swetrials.workspace.processes.run_group`).

        Args:
            serve: gets the socket that listens inside at :data:`SEALED_PORT`.
            network: what the command is allowed.
            meters: where others' meters listen now, host and port.
            stderr: where the sandbox's standard error goes, for what it says when it does not start.

        Raises:
            SealError: the sandbox did not start, or cannot be looked into.
        """
        self._theirs.close()
        with socket.create_server(("127.0.0.1", 0)) as host:
            try:
                return await self._sealed(serve, network, [*_order(host.getsockname()[1], meters)])
            except (OSError, TimeoutError, _FailedError) as error:
                said = _last_line(stderr)
                raise SealError(f"the sandbox cannot be sealed: {error}{f': {said}' if said else ''}") from None

    def release(self) -> None:
        """Let the command begin."""
        with suppress(BrokenPipeError):  # it is gone, which shows in how it ended
            os.write(self._go, b"go\n")

    async def _sealed(self, serve: Serve, network: NetworkAllowed, order: Sequence[str]) -> Sealing:
        self._control.send("\n".join(order).encode(errors="surrogateescape"))
        _, listener = await self._next_message(_START_SECONDS)
        if listener is None:
            raise _FailedError("the probe sent no socket")
        await serve(listener)
        told, _ = await self._next_message(_PROBE_SECONDS)
        return Sealing.of(network, [_canary(line) for line in told.splitlines()])

    async def _next_message(self, seconds: float) -> tuple[str, socket.socket | None]:
        try:
            with anyio.fail_after(seconds):
                await anyio.wait_readable(self._control)
        except TimeoutError:
            raise TimeoutError(f"no answer within {seconds:g} seconds") from None
        data, fds, _, _ = socket.recv_fds(self._control, _LONGEST_MESSAGE_BYTES, 1)
        listener = socket.socket(fileno=fds[0]) if fds else None
        told = data.decode(errors="replace")
        kind, _, reason = told.partition("\t")
        if not told or kind == "failed":
            raise _FailedError(reason or "the probe died")
        return told, listener


@asynccontextmanager
async def held_start() -> AsyncIterator[HeldStart]:
    """Prepare for one command that waits for its word; at the end what was opened for it is closed.

    A command that was not released by then ends with 125.
    """
    with ExitStack() as ours, ExitStack() as theirs:
        info, info_fd = _pipe(ours, theirs)
        ready, ready_fd = _pipe(ours, theirs)
        go_fd, go = _pipe(theirs, ours)
        # The command opens them once more, as whoever it is by then.
        os.fchmod(ready_fd, 0o222)
        os.fchmod(go_fd, 0o444)
        control, probes = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control = ours.enter_context(control)
        control.setblocking(False)
        with probes:
            probe = await _start_probe(probes.fileno(), info, ready)
        try:
            yield HeldStart(Held(info_fd, ready_fd, go_fd), theirs, go, control)
        finally:
            with anyio.CancelScope(shield=True):
                # Its own `kill` looks first whether it has ended, and takes the word of that from whoever waits for it.
                if probe.returncode is None:
                    with suppress(ProcessLookupError):
                        os.kill(probe.pid, SIGKILL)
                await probe.wait()


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe()
    reader.callback(os.close, reading)
    writer.callback(os.close, writing)
    return reading, writing


async def _start_probe(*fds: int) -> anyio.abc.Process:
    # It is started beside the sandbox, and is there when it is.
    words = [sys.executable, "-I", "-S", _PROBE, *map(str, fds)]
    # A cancellation here would lose hold of it.
    with anyio.CancelScope(shield=True):
        probe = await anyio.open_process(
            words, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env={}, pass_fds=fds, start_new_session=True
        )
    return probe


def _order(host_port: int, meters: Iterable[tuple[str, int]]) -> Iterable[str]:
    yield f"port\t{SEALED_PORT}"
    yield f"host\t127.0.0.1:{host_port}"
    yield from (f"meter\t{host}:{port}" for host, port in meters)
    for found in local_sockets():
        yield f"{'abstract' if found.is_abstract else 'socket'}\t{found.kind} {found.name}"


def _canary(line: str) -> Canary:
    state, name, detail = line.split("\t", 2)
    return Canary(name=name, held={"held": True, "open": False}.get(state), detail=detail)


def _last_line(file: Path | None) -> str:
    if file is None:
        return ""
    lines = file.read_bytes()[-2000:].decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class _FailedError(Exception):
    """What the probe says, or that it does not say anything."""
