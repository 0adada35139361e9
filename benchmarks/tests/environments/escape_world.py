"""A world of its own for the battery of escapes, in which every address is one of loopback, and an attempt in it.

Run as ``python -m environments.escape_world WAY`` by :func:`told_by`, in namespaces of its network and its mounts: all
addresses lead to loopback there, and ``/run`` and ``/srv`` are empty. So nothing leaves the machine, whatever guard
fails, and what stands for the world is heard. Prints as JSON what a script came to outside of the sandbox and in it.
"""

import ctypes
import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from pydantic import SecretStr

import swetrials
from environments import knocking
from swetrials.environments import environment_for
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.door import Door, behind
from swetrials.environments.sealing import SEALED_PORT, Serve
from swetrials.records.sealing import Sealing
from swetrials.store.project import find_project
from swetrials.store.redaction import Redactor
from swetrials.wire.meter import metered
from swetrials.wire.route import Route
from swetrials.workspace.processes import ProcessLimits, run_group
from swetrials.workspace.space import attempt_space

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
"""One that everybody may run, where there is one."""

_PRIVATE, _BESIDE = Path("/srv/private"), Path("/srv/beside")
_SOUGHT = "the answers"
SOCKETS = {
    "dbus": "/run/dbus/system_bus_socket",
    "systemd": "/run/systemd/private",
    "systemd's journal": "/run/systemd/journal/socket",
    "docker": "/run/docker.sock",
    "podman": "/run/podman/podman.sock",
    "containerd": "/run/containerd/containerd.sock",
    "name services": "/run/nscd/socket",
    "an ssh agent": "/srv/agent/socket",
    "a database": "/srv/database/socket",
}
_HEARD = {
    "git fetch": "/named.git",
    "git fetch, by address": "/addressed.git",
    "pip download": "/simple/nothing",
    "npm view": "/nothing",
}
"""What is heard of a tool that got through."""

_IP_PKTINFO, _PR_SET_PTRACER, _ANYBODY = 8, 0x59616D61, -1
# Of the kernel's `in.h` and `prctl.h`.

_WORLD = """
ip link set lo up
ip route add local 0.0.0.0/0 dev lo
ip -6 route add local ::/0 dev lo
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
mount -t tmpfs -o mode=755 none /run
mount -t tmpfs -o mode=755 none /srv
echo nameserver 192.0.2.53 > /run/resolv.conf
mount --bind /run/resolv.conf "$(readlink -f /etc/resolv.conf)"
exec "$@"
"""


@dataclass(frozen=True)
class Told:
    """What a script came to outside of a sandbox, and in it: by way, what it got, which is empty where it is closed.

    ``sealing`` is the state that the record says.
    """

    outside: Mapping[str, str]
    inside: Mapping[str, str]
    sealing: str


def told_by(way: str, environment: Mapping[str, str], user: Mapping[str, Any]) -> Told | None:
    """Run the battery as somebody, and return what it told; ``None`` where this machine has no such world to give.

    Args:
        way: as in :data:`environments.sandboxes.WAYS`.
        environment: the variables.
        user: as whom, for ``subprocess.run``.
    """
    ordinary = way == "ordinary"
    make = ["unshare", "--net", "--mount", *(["--user", "--map-current-user", "--keep-caps"] if ordinary else [])]
    drop = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all"] if ordinary else []
    words = [*make, "sh", "-ec", _WORLD, "sh", *drop]
    run = partial(subprocess.run, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, **user)
    if run([*words, "true"]).returncode:
        return None
    done = run([*words, PYTHON, "-m", "environments.escape_world", way], cwd=Path(__file__).parents[1], timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return Told(**json.loads(done.stdout))


class World:
    """What stands for the world: it answers to everything, and notes to whom what was said."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        for port in (53, 80):
            self._serve(socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True))
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # It answers from the address that was asked (ip(7)).
        names.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        names.bind(("", 53))
        threading.Thread(target=self._name, args=(names,), daemon=True).start()

    def listen(self, path: str) -> None:
        """Listen at a socket of this machine; an ``@`` begins the name of an abstract one."""
        service = socket.socket(socket.AF_UNIX)
        if not path.startswith("@"):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        service.bind(path.replace("@", "\0", 1) if path.startswith("@") else path)
        if not path.startswith("@"):
            Path(path).chmod(0o777)
        self._serve(service)

    def _serve(self, service: socket.socket) -> None:
        service.listen()
        threading.Thread(target=self._take, args=(service,), daemon=True).start()

    def _take(self, service: socket.socket) -> None:
        while True:
            threading.Thread(target=self._answer, args=(service.accept()[0],), daemon=True).start()

    def _answer(self, caller: socket.socket) -> None:
        with caller:
            caller.settimeout(5)
            try:
                if caller.family != socket.AF_UNIX:
                    said = caller.recv(1000).decode(errors="replace")
                    self.heard.append(f"{caller.getsockname()[0].removeprefix('::ffff:')} {said.splitlines()[0]}")
                    caller.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except (OSError, IndexError):
                pass

    def _name(self, service: socket.socket) -> None:
        while True:
            asked, about, _, whom = service.recvmsg(512, 200)
            question = asked[12 : asked.index(b"\0", 12) + 5]
            # 198.51.100.7 for whoever asks for an address of IPv4 (RFC 1035, section 4).
            found = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc6\x33\x64\x07" if question.endswith(b"\0\1\0\1") else b""
            head = asked[:2] + struct.pack("!5H", 0x8180, 1, bool(found), 0, 0)
            service.sendmsg([head, question, found], about, 0, whom)


def _made(world: World, other_meter: str, own_meter: str) -> dict[str, object]:
    """Put what a script looks for into the world, and return the order that says where it is."""
    _PRIVATE.mkdir()
    _BESIDE.mkdir()
    answers = _PRIVATE / "answers.yaml"
    answers.write_text(_SOUGHT)
    setuid = _BESIDE / "id"
    shutil.copy(shutil.which("id") or "", setuid)
    setuid.chmod(0o4755)
    abstract = f"@escape-{secrets.token_hex(8)}"
    sockets = list(SOCKETS.values())
    for path in (abstract, *sockets):
        world.listen(path)
    return {
        "abstract": abstract,
        "answers": str(answers),
        "folders": ["/", "/etc", "/usr", "/var", "/opt", "/workspace", str(_BESIDE)],
        "harness": str(swetrials.__file__),
        "harness_pid": os.getpid(),
        "marker": os.environ["MARKER"],
        "other_meter": other_meter,
        "own_meter": own_meter,
        "serial": knocking.with_a_key(),
        "setuid": str(setuid),
        "sockets": sockets,
        "sought": _SOUGHT,
    }


async def _tell(way: str) -> None:
    # On some machines only a parent may trace its children, unless they allow it.
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, ctypes.c_long(_ANYBODY), 0, 0, 0)
    world = World()
    route = Route(frozenset({"openai-chat"}), "http://127.0.0.1:9", SecretStr("key"), "model")
    logs = Path("/srv/log")
    async with (
        metered(route, logs.with_suffix(".own"), Redactor(), port=SEALED_PORT) as own,
        metered(route, logs.with_suffix(".other"), Redactor()) as other,
    ):
        ports = [meter.route.base_url.split(":")[2].partition("/")[0] for meter in (other, own)]
        order = _made(world, *ports)
        outside = _with_what_was_heard(world, await _outside(order))
        said, state = await _inside(way, order, own.serve)
    inside = _with_what_was_heard(world, said)
    print(json.dumps({"outside": outside, "inside": inside, "sealing": state}))


def _with_what_was_heard(world: World, said: str) -> dict[str, str]:
    told = json.loads(said)
    assert told["interfaces"] == [], "nothing was tried"
    ways: dict[str, str] = told["ways"]
    heard, world.heard = world.heard, []
    for name, sought in _HEARD.items():
        ways[name] = next((line for line in heard if f"GET {sought}" in line), ways[name])
    return ways


def _script(folder: Path, order: Mapping[str, object]) -> Sequence[str]:
    package = folder / "environments"
    package.mkdir()
    shutil.copy(Path(__file__).with_name("escaping.py"), folder)
    shutil.copy(Path(__file__).with_name("knocking.py"), package)
    (folder / "order.json").write_text(json.dumps(order))
    return "escaping.py", "order.json"


async def _outside(order: Mapping[str, object]) -> str:
    folder = Path("/srv/outside")
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    words = [PYTHON, *(f"{folder}/{name}" for name in _script(folder, order))]
    variables = {name: value for name, value in os.environ.items() if name not in ("MARKER", "PYTHONPATH")}
    done = await anyio.run_process(words, cwd=folder, env=variables, stderr=None)
    return done.stdout.decode()


async def _inside(way: str, order: Mapping[str, object], serve: Serve) -> tuple[str, str]:
    environment = _environment(way)
    sealings: list[Sealing] = []
    output = bytearray()

    def hear(data: bytes) -> bool:
        output.extend(data)
        return False

    with attempt_space(_PRIVATE / "work", "escape") as space:
        subprocess.run(["git", "init", "-q", str(space.checkout)], check=True)
        files = _script(space.checkout, order)
        environment.hand_over(space)
        view = environment.view(space, "subject")
        words = [PYTHON, *(f"{view.inside.checkout}/{name}" for name in files)]
        make = partial(environment.command, words, view, variables={}, writable=space.folders)
        stderr = Path("/srv/stderr")
        door = Door(serve, "model", sealings.append)
        starting = behind(door, lambda network, held: make(network=network, held=held), stderr=stderr)
        async with starting as (command, started):
            limits = ProcessLimits(120, drain_seconds=1)
            mark = f"escape-{secrets.token_hex(8)}"
            ended = await run_group(command, limits, mark=mark, on_output=hear, stderr=stderr, started=started)
        assert ended.exit_code == 0, f"{ended}\n{stderr.read_text()}"
    return output.decode(), sealings[0].state


def _environment(way: str) -> BubblewrapEnvironment:
    environment = environment_for("bubblewrap", find_project(), _PRIVATE)
    assert isinstance(environment, BubblewrapEnvironment)
    if way == "renamed":
        environment = replace(environment, bwrap=replace(environment.bwrap, setpriv=None))
    assert bool(environment.bwrap.setpriv) == (way == "given up"), environment.as_root
    return environment


if __name__ == "__main__":
    anyio.run(_tell, sys.argv[1])
