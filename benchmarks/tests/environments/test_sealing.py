"""Sealing, with real sandboxes: who serves the route, what each canary tells, and what is left behind."""

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from environments.sandboxes import WAYS, sandboxed
from swetrials.environments.base import Held
from swetrials.environments.sealing import SEALED_PORT, SealError, held_start, hold_words
from swetrials.environments.sockets_of_others import LocalSocket, local_sockets
from swetrials.records.sealing import Sealing
from swetrials.store.redaction import Redactor
from swetrials.wire.meter import metered
from swetrials.wire.route import Route
from swetrials.workspace.processes import Command, Ended, ProcessLimits, run_group
from workspace.marked import living

LIMITS = ProcessLimits(20, drain_seconds=1)
NEVER_RELEASED = ProcessLimits(0.2, drain_seconds=1)
"""For a command that waits for a word that does not come."""
INTERFACES = "no interface but loopback"
ALWAYS = {
    INTERFACES,
    "the route answers",
    "the host's loopback is not reached",
    "no name resolves",
    "no name server is reached",
    "no datagram leaves",
}

Serve = Callable[[socket.socket], Awaitable[None]]

ways = pytest.mark.parametrize("way", sorted(WAYS))


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    asked = await reader.readline()
    writer.write(b"HTTP/1.1 %d said\r\n\r\nfrom outside" % (200 if asked.startswith(b"GET ") else 400))
    await writer.drain()
    writer.close()


async def serve(listener: socket.socket) -> None:
    await asyncio.start_server(_answer, sock=listener)


class Trial:
    """One command in a sandbox: it is held, sealed, and released when nothing is broken."""

    def __init__(self, folder: Path, held: Callable[[Held], Command]) -> None:
        self.mark = f"test-{secrets.token_hex(8)}"
        self.output = b""
        self.sealing: Sealing | None = None
        self.stderr = folder / "stderr"
        self._command = held

    def run(self, serving: Serve = serve, meters: tuple[tuple[str, int], ...] = (), *, release: bool = True) -> Ended:
        return anyio.run(partial(self._run, serving, meters, release))

    async def _run(self, serving: Serve, meters: tuple[tuple[str, int], ...], release: bool) -> Ended:
        async with held_start() as start:

            async def started(pid: int) -> None:
                self.sealing = await start.seal(serving, meters=meters, stderr=self.stderr)
                assert self.output == b"", "it began before it was told to"
                if release:
                    start.release()

            limits = LIMITS if release else NEVER_RELEASED
            run = partial(run_group, self._command(start.held), limits, mark=self.mark, stderr=self.stderr)
            return await run(on_output=self._take, started=started)

    def _take(self, data: bytes) -> bool:
        self.output += data
        return False

    @property
    def canaries(self) -> dict[str, bool | None]:
        assert self.sealing is not None
        return {canary.name: canary.held for canary in self.sealing.canaries}

    def detail(self, name: str) -> str:
        assert self.sealing is not None
        return next(canary.detail for canary in self.sealing.canaries if canary.name == name)


def trial(way: str, folder: Path, script: str, more: tuple[str, ...] = (), network: str = "none") -> Trial:
    command = partial(sandboxed, ["bash", "-c", script], way, folder, more=more, network=network)
    return Trial(folder, lambda held: command(held=held))


@ways
def test_a_sandbox_is_proven_to_be_sealed_and_its_route_is_served_from_outside(way: str, tmp_path: Path) -> None:
    ask = f"exec 3<>/dev/tcp/127.0.0.1/{SEALED_PORT}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
    trying = trial(way, tmp_path, f"{ask}; exit 7")
    ended = trying.run()
    assert trying.output.endswith(b"from outside")
    assert (ended.cause, ended.exit_code, ended.survivors) == ("exited", 7, 0)
    assert trying.sealing is not None
    assert (trying.sealing.state, trying.sealing.why) == ("proven", "")
    assert trying.canaries.items() >= dict.fromkeys(ALWAYS, True).items()
    assert living(trying.mark) == []


@ways
def test_the_command_is_who_it_would_be_and_sees_nobody_of_the_sealing(way: str, tmp_path: Path) -> None:
    trying = trial(way, tmp_path, "id -u; id -G; ls -d /proc/[0-9]*; grep Cap /proc/self/status")
    trying.run()
    plain = sandboxed(["bash", "-c", "id -u; id -G; ls -d /proc/[0-9]*; grep Cap /proc/self/status"], way, tmp_path)
    done = subprocess.run(plain.argv, capture_output=True, env=plain.environment, timeout=30)
    assert trying.output == done.stdout != b""


@ways
def test_two_at_once_have_a_port_of_one_number_each(way: str, tmp_path: Path) -> None:
    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            for trying in trials:
                tasks.start_soon(trying._run, serve, (), True)

    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    trials = [trial(way, folder, "echo done") for folder in folders]
    anyio.run(both)
    assert [trying.output for trying in trials] == [b"done\n"] * 2
    assert all(trying.sealing is not None and trying.sealing.state == "proven" for trying in trials)


@ways
def test_a_route_that_nobody_serves_is_told(way: str, tmp_path: Path) -> None:
    async def refuse(listener: socket.socket) -> None:
        listener.close()

    trying = trial(way, tmp_path, "echo began")
    ended = trying.run(refuse, release=False)
    assert trying.sealing is not None
    assert trying.sealing.broken
    assert trying.sealing.why.startswith("the route answers: ")
    assert [name for name, held in trying.canaries.items() if not held] == ["the route answers"]
    assert (trying.output, ended.survivors) == (b"", 0)
    assert living(trying.mark) == []


@ways
def test_a_route_that_does_not_speak_http_is_told(way: str, tmp_path: Path) -> None:
    async def mumble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"what?")
        writer.close()

    async def serving(listener: socket.socket) -> None:
        await asyncio.start_server(mumble, sock=listener)

    trying = trial(way, tmp_path, "true")
    trying.run(serving)
    assert trying.detail("the route answers") == "what answers speaks no HTTP"


@ways
def test_the_networks_own_machine_is_no_sandbox(way: str, tmp_path: Path) -> None:
    trying = trial(way, tmp_path, "echo began", network="open")
    with pytest.raises(SealError, match=r"^the sandbox cannot be sealed: the sandbox has the machine's own network$"):
        trying.run()
    assert trying.output == b""
    assert living(trying.mark) == []


def in_a_network(way: str, folder: Path, script: str, more: tuple[str, ...] = ()) -> Trial:
    """Return a trial whose sandbox keeps a network that a script has prepared."""
    if os.geteuid() != 0:
        pytest.skip("only root prepares a network")
    if subprocess.run(["unshare", "-n", "ip", "link", "add", "type", "veth"], capture_output=True).returncode:
        pytest.skip("such a network cannot be made here")

    def wrapped(held: Held) -> Command:
        inner = sandboxed(["echo", "began"], way, folder, held=held, network="open", more=more)
        words = ("unshare", "-n", "sh", "-ec", f'{script} exec "$@"', "sh", *inner.argv)
        return Command(words, inner.cwd, {"PATH": os.environ["PATH"]}, inner.pass_fds)

    return Trial(folder, wrapped)


@ways
def test_nothing_is_knocked_on_while_there_is_an_interface(way: str, tmp_path: Path) -> None:
    down = "ip link set lo up; ip link add out type veth peer name far;"
    trying = in_a_network(way, tmp_path, down)
    trying.run(release=False)
    assert trying.canaries[INTERFACES] is True, "what is down leads nowhere, and nobody inside can bring it up"
    trying = in_a_network(way, tmp_path, f"{down} ip link set out up;")
    trying.run(release=False)
    assert trying.sealing is not None
    assert trying.sealing.broken
    assert trying.canaries == {INTERFACES: False, "everything else": None}
    assert trying.detail(INTERFACES) == "out"


NAME_SERVER = """
import os, socket
service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
service.bind(("127.0.0.1", 53))
if os.fork():
    os._exit(0)
while True:
    asked, whom = service.recvfrom(512)
    found = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4\\xc0\\0\\2\\1" if asked[-3] == 1 else b""
    told = asked[:2] + b"\\x81\\x80\\0\\1\\0" + bytes([bool(found)]) + b"\\0\\0\\0\\0" + asked[12:] + found
    service.sendto(told, whom)
"""


@ways
def test_names_and_datagrams_that_go_through_are_told(way: str, tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (tmp_path / "server.py").write_text(NAME_SERVER)
    serving = f"{sys.executable} {tmp_path}/server.py >/dev/null 2>&1"
    network = f"ip link set lo up; ip route add local 192.0.2.0/24 dev lo; {serving};"
    bind = ("--ro-bind", f"{tmp_path}/resolv.conf", str(Path("/etc/resolv.conf").resolve()))
    trying = in_a_network(way, tmp_path, network, bind)
    trying.run(release=False, meters=(("127.0.0.1", SEALED_PORT),))
    told = {name: trying.detail(name) for name, held in trying.canaries.items() if not held}
    assert told == {
        "no other meter is reached": f"127.0.0.1:{SEALED_PORT}",
        "no name resolves": "example.com has an address",
        "no name server is reached": "127.0.0.1",
        "no datagram leaves": "192.0.2.1:9",
    }


@ways
def test_what_is_lent_to_a_sandbox_is_found(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lent = tmp_path_factory.mktemp("lent")
    lent.chmod(0o755)
    with listening(f"{lent}/agent.sock") as path:
        Path(path).chmod(0o777)
        monkeypatch.setenv("SSH_AUTH_SOCK", path)
        trying = trial(way, tmp_path, "true")
        trying.run()
        assert trying.canaries["no daemon's socket is reached"] is True
        trying = Trial(tmp_path, lambda held: sandboxed(["true"], way, tmp_path, held=held, readable=[lent]))
        trying.run(release=False)
    assert trying.sealing is not None
    assert trying.sealing.broken
    assert trying.detail("no daemon's socket is reached") == f"1 {path}"


@contextmanager
def listening(name: str) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        service.listen()
        yield name


def test_sockets_of_this_machine_are_found(tmp_path: Path) -> None:
    abstract = f"@test-{secrets.token_hex(8)}"
    with listening(abstract), listening(f"{tmp_path}/s"):
        found = local_sockets({})
    assert LocalSocket(1, abstract) in found
    assert LocalSocket(1, f"{tmp_path}/s") in found
    assert LocalSocket(1, abstract).is_abstract
    assert not LocalSocket(1, f"{tmp_path}/s").is_abstract


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SSH_AUTH_SOCK", "{}"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path={},guid=1"),
        ("DOCKER_HOST", "unix://{}"),
        ("GPG_AGENT_INFO", "{}:123:1"),
    ],
)
def test_sockets_that_variables_name_are_found_although_nobody_listens_here(
    variable: str, value: str, tmp_path: Path
) -> None:
    path = f"{tmp_path}/socket"
    with listening(path):
        pass
    assert LocalSocket(1, path) not in local_sockets({})
    assert LocalSocket(1, path) in local_sockets({variable: value.format(path)})


def test_a_meter_answers_the_canary_and_counts_no_request(tmp_path: Path) -> None:
    async def ask() -> None:
        route = Route(frozenset({"openai-chat"}), "http://127.0.0.1:9", SecretStr("key"), "model")
        async with metered(route, tmp_path / "log", Redactor(())) as meter:
            address = meter.route.base_url.removeprefix("http://").partition("/")[0].split(":")
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"?\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
            writer.close()
            assert list(meter.requests()) == []

    anyio.run(ask)
    assert (tmp_path / "log").read_bytes() == b""


@pytest.mark.parametrize("word", ["", "stop\n", "go"])
def test_a_command_that_is_not_told_to_begin_does_not(word: str, tmp_path: Path) -> None:
    ready, ready_fd = os.pipe()
    go_fd, go = os.pipe()
    words = hold_words(Held(-1, ready_fd, go_fd), ["touch", str(tmp_path / "began")])
    waiting = subprocess.Popen(words, pass_fds=(ready_fd, go_fd))
    assert os.read(ready, 100) == b"ready\n"
    os.write(go, word.encode())
    for file in (ready, ready_fd, go_fd, go):
        os.close(file)
    assert (waiting.wait(10), (tmp_path / "began").exists()) == (125, False)


def test_a_sandbox_that_does_not_start_is_told_in_its_own_words(tmp_path: Path) -> None:
    script = "echo bwrap: Creating new namespace failed: No space left on device >&2; exit 1"
    trying = Trial(tmp_path, lambda held: Command(("sh", "-c", script), tmp_path, {}, held.fds))
    with pytest.raises(SealError) as caught:
        trying.run()
    said = "the sandbox did not start: bwrap: Creating new namespace failed: No space left on device"
    assert str(caught.value) == f"the sandbox cannot be sealed: {said}"
    assert caught.value.exit_code == 3


@ways
def test_a_command_that_does_not_wait_is_told(way: str, tmp_path: Path) -> None:
    def hasty(held: Held) -> Command:
        plain = sandboxed(["true"], way, tmp_path, more=("--info-fd", str(held.info_fd)))
        return Command(plain.argv, plain.cwd, plain.environment, held.fds)

    trying = Trial(tmp_path, hasty)
    with pytest.raises(SealError, match=r"sealed: the sandbox ended before its command began$"):
        trying.run()


@ways
def test_a_sandbox_that_dies_while_it_is_sealed_is_told(way: str, tmp_path: Path) -> None:
    async def kill(listener: socket.socket) -> None:
        for process in running_in(trying.mark):
            os.kill(process, signal.SIGKILL)
        await serve(listener)

    trying = trial(way, tmp_path, "echo began")
    with pytest.raises(SealError, match=r"^the sandbox cannot be sealed: "):
        trying.run(kill)
    assert trying.output == b""
    assert living(trying.mark) == []


def running_in(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"ATTEMPT_ID={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


HARNESS = """
import socket, sys
from functools import partial
from pathlib import Path
import anyio
from environments.sandboxes import sandboxed
from environments.test_sealing import Trial, serve

folder = Path(sys.argv[2])
async def told(listener):
    await serve(listener)
    print("listening", flush=True)

script = f"while :; do touch {folder}/began; sleep 1; done"
trying = Trial(folder, lambda held: sandboxed(["sh", "-c", script], sys.argv[1], folder, held=held))
trying.mark = sys.argv[3]
trying.run(told, release=False)
"""


@ways
def test_nothing_is_left_of_a_harness_that_is_killed(way: str, tmp_path: Path) -> None:
    mark = f"test-{secrets.token_hex(8)}"
    source = os.pathsep.join(sys.path)
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, way, str(tmp_path), mark],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert harness.stdout is not None
    assert harness.stdout.readline() == b"listening\n"
    probes = [process for process in children(harness.pid) if "namespace_probe" in words(process)]
    assert living(mark)
    harness.kill()
    harness.communicate()
    give_up_at = time.monotonic() + 10
    while living(mark) or any("namespace_probe" in words(process) for process in probes):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
    assert not (tmp_path / "began").exists()


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
