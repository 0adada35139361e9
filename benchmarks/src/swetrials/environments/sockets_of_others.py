"""The sockets of this machine through which a program in a sandbox could have one outside work for it."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LISTENS = 0x10000
"""The flag in ``/proc/net/unix`` of a socket that accepts connections (``__SO_ACCEPTCON`` in ``linux/net.h``)."""

_STREAM, _DATAGRAM = 1, 2

_DAEMONS = (
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/notify",
    "/run/systemd/journal/socket",
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/nscd/socket",
    "/var/run/docker.sock",
    "/var/run/nscd/socket",
)
"""They may listen in another network namespace, as in a container to which an engine's socket is lent."""

_NAMED_BY = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST", "GPG_AGENT_INFO")
_PATH = re.compile(r"/[^/,:][^,:]*")
_IN_RUNTIME_FOLDER = ("bus", "docker.sock", "podman/podman.sock", "systemd/private", "gnupg/S.gpg-agent", "keyring/ssh")


@dataclass(frozen=True)
class LocalSocket:
    """A socket of the family ``AF_UNIX`` to which somebody listens.

    Attributes:
        kind: 1 for a stream, 2 for datagrams, as in ``socket(2)``.
        name: its path; ``@`` and what follows for one of the abstract kind, which has none.
    """

    kind: int
    name: str

    @property
    def is_abstract(self) -> bool:
        """Whether it lives in the network namespace and not in the file system."""
        return self.name.startswith("@")


def local_sockets(variables: Mapping[str, str] = os.environ) -> tuple[LocalSocket, ...]:
    """Return those that listen in our network namespace, and the usual daemons' that lie here.

    Args:
        variables: the invoker's, which may name some.
    """
    usual = (LocalSocket(_STREAM, str(path)) for path in _usual(variables) if _is_socket(path))
    return tuple(sorted({*_listening(), *usual}, key=lambda found: (found.name, found.kind)))


def _listening() -> Iterator[LocalSocket]:
    try:
        lines = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split(None, 7)
        if len(words) == 8 and b"\t" not in words[7]:
            kind = int(words[4], 16)
            if int(words[3], 16) & _LISTENS or kind == _DATAGRAM:
                yield LocalSocket(kind, os.fsdecode(words[7]))


def _usual(variables: Mapping[str, str]) -> Iterator[Path]:
    yield from map(Path, _DAEMONS)
    named = (_PATH.search(variables.get(variable, "")) for variable in _NAMED_BY)
    yield from (Path(found[0]) for found in named if found)
    runtime = variables.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    yield from (Path(runtime, name) for name in _IN_RUNTIME_FOLDER)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
