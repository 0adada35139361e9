"""What an agent knocks at beside its route, seen in a network that holds nothing but a loopback of its own.

Run by :func:`seen_in_a_network_of_its_own`, in namespaces that bubblewrap makes, where every address of the world is
one of loopback's: so nothing leaves, and whatever is sent anywhere is seen by whoever watches loopback. It refuses to
start anything where it sees another interface.

The routes of type ``local`` are those of ``ip route add local 0.0.0.0/0 dev lo`` (iproute2's ip-route(8)); the layout
of messages is that of ``linux/rtnetlink.h``.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from pydantic import SecretStr

from agents.jobs import job
from swetrials.agents import AGENTS
from swetrials.agents.base import Launch
from swetrials.agents.events import Tally
from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.project import find_project
from swetrials.workspace.variables import allowed_environment

_NEW_ROUTE, _REQUEST_CREATE_ACK, _OF_TYPE_LOCAL = 24, 0x405, 2
_TABLE_LOCAL, _BY_BOOT, _ON_THIS_HOST, _OUT_BY = 255, 3, 254, 4
_ETHERNET, _IPV4, _IPV6 = 14, 0x0800, 0x86DD
_EVERY_PROTOCOL = 3
_SYN, _ACK = 0x02, 0x10
_NAME_SERVICE = 53
_WAIT_SECONDS = 0.3

SCENARIO = {
    "schema_version": "1.0",
    "name": "sealed",
    "scripts": [
        {
            "when": "task_id: sealed",
            "steps": [{"say": "I change it.", "shell": "echo done > changed.txt"}, {"say": "Done."}],
        }
    ],
}


@dataclass(frozen=True)
class Seen:
    """How an agent ended, and what it knocked at: ``address:port``, or the name that it asked for."""

    outcome: str
    changed: bool
    knocks: frozenset[str]
    said: str = ""


def seen_in_a_network_of_its_own(
    folder: Path, agent: str, *, without: Sequence[str] = (), timeout_seconds: float = 120
) -> Seen:
    """Run an agent's task in a network of its own, and return what it knocked at beside its route.

    Args:
        folder: empty, for its private folders.
        agent: its name; or ``sh``, which knocks at three places.
        without: variables of its driver's that are left out.
        timeout_seconds: how long it may take.
    """
    tests = Path(__file__).parents[1]
    words = [
        *("bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--unshare-net", "--unshare-pid", "--die-with-parent"),
        *("--cap-add", "CAP_NET_ADMIN", "--cap-add", "CAP_NET_RAW", "--dev-bind", "/", "/", "--proc", "/proc"),
        # Codex takes a folder in /tmp for its own, by the number of its user, which is here another user's.
        *("--tmpfs", "/run", "--tmpfs", "/tmp", "--bind", str(folder), str(folder)),
        *("--bind", str(tests.parent), str(tests.parent), "--chdir", str(tests), "--"),
        *(sys.executable, "-m", "agents.knocks", str(folder), agent, *without),
    ]  # fmt: skip
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_seconds, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    return Seen(told["outcome"], told["changed"], frozenset(told["knocks"]), told["said"])


def knocking_can_be_seen() -> bool:
    """Return whether this machine lets a network of its own be made."""
    words = ("bwrap", "--unshare-user", "--unshare-net", "--dev-bind", "/", "/", "--", "true")
    return bubblewrap() is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0


@dataclass
class Watch:
    """Hears every packet of loopback, and keeps where the first of each conversation went."""

    knocks: set[str] = field(default_factory=set)

    def start(self) -> None:
        """Hear from now on."""
        heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
        heard.bind(("lo", 0))
        threading.Thread(target=self._hear, args=(heard,), daemon=True).start()

    def _hear(self, heard: socket.socket) -> None:
        while True:
            self.knocks.update(knocks_of(heard.recv(65_536)))


def knocks_of(frame: bytes) -> Iterator[str]:
    """Yield where a frame knocks; what belongs to a conversation, and answers, knock nowhere."""
    kind, packet = struct.unpack_from("!H", frame, 12)[0], frame[_ETHERNET:]
    if kind == _IPV4:
        protocol, start = packet[9], (packet[0] & 15) * 4
        to = socket.inet_ntop(socket.AF_INET, packet[16:20])
    elif kind == _IPV6:
        protocol, start = packet[6], 40
        to = f"[{socket.inet_ntop(socket.AF_INET6, packet[24:40])}]"
    else:
        return
    inner = packet[start:]
    if protocol == socket.IPPROTO_TCP and inner[13] & (_SYN | _ACK) == _SYN:
        yield f"{to}:{struct.unpack_from('!H', inner, 2)[0]}"
    elif protocol == socket.IPPROTO_UDP:
        port = struct.unpack_from("!H", inner, 2)[0]
        yield _name_asked(inner[8:]) if port == _NAME_SERVICE else f"{to}:{port}"


def _name_asked(message: bytes) -> str:
    """Return the name in a DNS question (RFC 1035, 4.1.2)."""
    labels, at = [], 12
    while at < len(message) and (length := message[at]):
        labels.append(message[at + 1 : at + 1 + length].decode(errors="replace"))
        at += 1 + length
    return ".".join(labels)


def make_the_world_local() -> None:
    """Let every address be one of loopback's.

    Raises:
        SystemExit: there is an interface beside loopback.
    """
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        sys.exit("this network has more than a loopback of its own: nothing is started in it")
    out_by = struct.pack("=HHI", 8, _OUT_BY, socket.if_nametoindex("lo"))
    for family in (socket.AF_INET, socket.AF_INET6):
        fields = (family, 0, 0, 0, _TABLE_LOCAL, _BY_BOOT, _ON_THIS_HOST, _OF_TYPE_LOCAL, 0)
        body = struct.pack("=8BI", *fields) + out_by
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
            kernel.send(struct.pack("=IHHII", 16 + len(body), _NEW_ROUTE, _REQUEST_CREATE_ACK, 1, 0) + body)
            error = -struct.unpack_from("=i", kernel.recv(1024), 16)[0]
        if error:
            sys.exit(f"no route to everywhere: {os.strerror(error)}")


async def run(folder: Path, agent: str, without: Sequence[str]) -> Seen:
    """Run an agent at the scripted task; every connection but those to its route is a knock."""
    watch = Watch()
    watch.start()
    async with rehearse(Scenario.model_validate(SCENARIO)) as server:
        environment, launch, tally = _launched(folder, agent, server.base_url, without)
        stdin = launch.stdin.read_bytes() if launch.stdin else b""
        done = await anyio.run_process(launch.argv, cwd=folder / "checkout", env=environment, input=stdin, check=False)
        await anyio.sleep(_WAIT_SECONDS)
        route = server.base_url.removeprefix("http://")
    if agent in AGENTS:
        reader = AGENTS[agent].reader()
        tally.add([*reader.feed(done.stdout), *reader.finish()])
    changed = (folder / "checkout" / "changed.txt").exists()
    return Seen(str(tally.outcome.kind), changed, frozenset(watch.knocks - {route}), done.stderr.decode()[-500:])


def _launched(
    folder: Path, agent: str, base_url: str, without: Sequence[str]
) -> tuple[Mapping[str, str], Launch, Tally]:
    places = {name: folder / name for name in ("checkout", "home", "temporary", "artifacts")}
    for place in places.values():
        place.mkdir()
    launch = _SHELL if agent not in AGENTS else _of_agent(places, agent, base_url)
    for path, text in launch.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = allowed_environment(places["home"], places["temporary"], launch.environment)
    return {name: value for name, value in environment.items() if name not in without}, launch, Tally()


_SHELL = Launch(
    (
        sys.executable,
        "-c",
        "import socket, contextlib\n"
        "for family, to in ((socket.AF_INET, '192.0.2.7'), (socket.AF_INET6, '2001:db8::7')):\n"
        "    with contextlib.suppress(OSError): socket.socket(family).connect((to, 443))\n"
        "    with contextlib.suppress(OSError): socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (to, 9))\n"
        "with contextlib.suppress(OSError): socket.getaddrinfo('host.example', 443)\n",
    ),
    {},
)
# What knocks in every way that can be seen.


def _of_agent(places: Mapping[str, Path], agent: str, base_url: str) -> Launch:
    installed = find(PACKAGES[agent], find_project().tools)
    assert installed is not None
    driver = AGENTS[agent]
    # Codex's own sandbox does not start below an ordinary user who is called root here.
    mode = "bypassPermissions" if agent == "codex" else "acceptEdits"
    dialects = driver.dialects - {"bedrock"}
    plain = job(
        prompt="task_id: sealed", dialects=dialects, base_url=base_url, model="rehearsal", permission_mode=mode,
        sandbox="bubblewrap",
    )  # fmt: skip
    work = replace(
        plain,
        route=replace(plain.route, api_key=SecretStr("none-that-is-real")),
        checkout=places["checkout"],
        home=places["home"],
        temporary=places["temporary"],
        artifacts=places["artifacts"],
    )
    return driver.launch(installed.binary, work)


if __name__ == "__main__":
    make_the_world_local()
    found = anyio.run(run, Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    print(json.dumps({**vars(found), "knocks": sorted(found.knocks)}))
