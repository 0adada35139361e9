"""Listens and knocks inside a sandbox, from outside: ``namespace_probe.py CONTROL INFO READY``, numbers of open files.

A program of its own, which imports nothing of this project, and of the standard library what loads fast, so not
``socket`` and ``signal``: it runs once for each attempt. :mod:`swetrials.environments.sealing` starts it before the
sandbox, and talks to it by CONTROL, a socket that keeps messages apart.

1. It takes in an order: lines of a kind, a tab and a value (:data:`_KNOCKS`).
2. It reads from INFO who the sandbox's first process is (``bwrap --info-fd``), and waits for a line on READY, which
   the command that is held back writes.
3. It joins the network namespace, by way of the user namespace that owns it (``ioctl_ns(2)``, ``NS_GET_USERNS``; the
   user namespace of a process may be another one, from which the network cannot be joined), makes the route's listening
   socket there and sends it back. Then it joins the others.
4. A child of it, in the namespace of processes too, becomes the user that the command runs as, and knocks. When that
   child is gone, so that the command sees nobody, a line for each canary is sent: ``held``, ``open`` or ``untried``,
   a tab, the name, a tab, and what came of it.

What goes wrong is sent as a line ``failed``, a tab and the reason. Every wait ends when the harness or the sandbox
does, for then the files end; what is beyond that, an alarm ends.
"""

import _socket
import ctypes
import errno
import fcntl
import os
import sys
from _collections_abc import Callable, Iterator, Sequence

_SECONDS = 10
"""For everything from the order to the last canary."""

_KNOCK_SECONDS = 2.0
_ROUTE_SECONDS = 8.0

_NS_GET_USERNS = 0xB701
_NAMESPACES = {"net": 0x40000000, "ipc": 0x08000000, "uts": 0x04000000, "pid": 0x20000000, "mnt": 0x00020000}
"""By the name in ``/proc/PID/ns``: the flag of ``setns(2)``. The mounts come last, for ``/proc`` goes with them."""

_CLONE_NEWUSER = 0x10000000
_CAPABILITY_VERSION = 0x20080522
_SIOCGIFFLAGS = 0x8913
_IFF_UP = 1

_NO_HTTP = b"?\r\n\r\n"
"""A meter answers it by itself, and counts no request, since it is none."""

_NAME = b"example.com"
"""One that everybody can look up who has a name server (RFC 2606)."""

_QUERY = b"\x27\x0d\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"
"""Its address, asked for (RFC 1035, section 4)."""

_ELSEWHERE = (
    "192.0.2.1:9",  # an address for examples, RFC 5737
    "10.0.0.1:9",
    "169.254.169.254:80",
    "224.0.0.251:5353",
    "255.255.255.255:9",
    "2001:db8::1:9",  # RFC 3849
    "fe80::1:9",
)

_CLOSED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ECONNREFUSED, errno.ELOOP})
"""What says that a socket of the machine cannot be reached, or that nobody is there."""

_LIBC = ctypes.CDLL(None, use_errno=True)

Canary = tuple[bool | None, str, str]
"""Whether it held, its name, and what came of it."""


class _Socket(_socket.socket):
    """One that is closed at the end of a block; :mod:`socket` would do that too, and takes its time to load."""

    def __enter__(self) -> "_Socket":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class ProbeError(Exception):
    """There is no telling whether the sandbox is sealed; the message says why."""


def main(words: Sequence[str]) -> None:
    """Do it."""
    control, info, ready = map(int, words)
    harness = _socket.socket(fileno=control)
    harness.send(_answer(lambda: _seal_when_started(harness, info, ready)))


def _answer(what: Callable[[], str]) -> bytes:
    try:
        answer = what()
    except ProbeError as error:
        answer = f"failed\t{error}"
    except OSError as error:
        answer = f"failed\t{error.filename or ''} {error.strerror or error}"
    return answer.encode(errors="replace")


def _seal_when_started(harness: _socket.socket, info: int, ready: int) -> str:
    order = [_cut(line) for line in harness.recv(1 << 20).decode(errors="surrogateescape").splitlines()]
    first = _first_process(info)
    if not _read(ready, until=b"\n"):
        raise ProbeError("the sandbox ended before its command began")
    _LIBC.alarm(_SECONDS)
    return _seal(harness, first, order)


def _cut(line: str) -> tuple[str, str]:
    kind, _, value = line.partition("\t")
    return kind, value


def _read(file: int, until: bytes) -> bytes:
    """Return what can be read up to an ending, or up to the end."""
    data = b""
    while not (until and data.endswith(until)) and (piece := os.read(file, 4096)):
        data += piece
    return data


def _first_process(info: int) -> int:
    # Not to the end: what has inherited the file may keep it open for as long as it runs.
    told = _read(info, until=b"}\n")
    number = told.partition(b'"child-pid":')[2].strip().partition(b",")[0].rstrip(b"\n }")
    if not number.isdigit():
        raise ProbeError("the sandbox did not start")
    return int(number)


def _seal(harness: _socket.socket, first: int, order: Sequence[tuple[str, str]]) -> str:
    if _inode(f"/proc/{first}/ns/net") == _inode("/proc/self/ns/net"):
        raise ProbeError("the sandbox has the machine's own network")
    port = int(dict(order)["port"])
    _join(first)
    _send_listener(harness, port)
    knocks, told = os.pipe()
    if (child := os.fork()) == 0:
        _LIBC.alarm(_SECONDS)
        os.write(told, _answer(lambda: _knock(port, order)))
        os._exit(0)
    os.close(told)
    answer = _read(knocks, until=b"")
    if os.waitpid(child, 0)[1] != 0:
        raise ProbeError("the program that tries the canaries died")
    return answer.decode(errors="replace")


def _knock(port: int, order: Sequence[tuple[str, str]]) -> str:
    _become_the_command()
    states = {True: "held", False: "open", None: "untried"}
    return "\n".join("\t".join((states[held], name, detail)) for held, name, detail in _canaries(port, order))


def _inode(path: str) -> int:
    return os.stat(path).st_ino


def _join(first: int) -> None:
    files = {kind: os.open(f"/proc/{first}/ns/{kind}", os.O_RDONLY) for kind in _NAMESPACES}
    own = {kind: _inode(f"/proc/self/ns/{kind}") for kind in (*_NAMESPACES, "user")}
    owner = fcntl.ioctl(files["net"], _NS_GET_USERNS)
    if os.fstat(owner).st_ino != own["user"]:
        _enter(owner, _CLONE_NEWUSER)
    for kind, flag in _NAMESPACES.items():
        if os.fstat(files[kind]).st_ino != own[kind]:
            _enter(files[kind], flag)


def _enter(namespace: int, flag: int) -> None:
    # ``os.setns`` is there from Python 3.12.
    if _LIBC.setns(namespace, flag) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"a namespace of the sandbox cannot be joined: {os.strerror(number)}")


def _send_listener(harness: _socket.socket, port: int) -> None:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, listener.fileno().to_bytes(4, sys.byteorder))
    harness.sendmsg([b"listening"], [rights])
    listener.close()


def _become_the_command() -> None:
    number, command = _command()
    theirs = os.open(f"/proc/{number}/ns/user", os.O_RDONLY)
    if os.fstat(theirs).st_ino != _inode("/proc/self/ns/user"):
        _enter(theirs, _CLONE_NEWUSER)
    elif (own := _status("self"))["Uid"] != command["Uid"] or own["Gid"] != command["Gid"]:
        os.setgroups([int(group) for group in command["Groups"].split()])
        os.setresgid(*map(int, command["Gid"].split()[:3]))
        os.setresuid(*map(int, command["Uid"].split()[:3]))
    nothing = (ctypes.c_uint32 * 6)()
    if _LIBC.capset((ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), nothing) != 0:
        raise ProbeError("the probe cannot give its rights up")


def _command() -> tuple[str, dict[str, str]]:
    """Return the one child of the sandbox's first process, as its own ``/proc`` shows it."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (status := _status(name))["PPid"] == "1":
            return name, status
    raise ProbeError("the sandbox ended before its command began")


def _status(process: str) -> dict[str, str]:
    with open(f"/proc/{process}/status") as file:
        lines = (line.partition(":") for line in file)
        return {name: value.strip() for name, _, value in lines}


def _canaries(port: int, order: Sequence[tuple[str, str]]) -> Iterator[Canary]:
    up = [name for _, name in _socket.if_nameindex() if name != "lo" and _is_up(name)]
    yield not up, "no interface but loopback", ", ".join(up)
    if up:
        yield None, "everything else", "nothing was sent while there is a way out"
        return
    yield _route_answers(port)
    for kind, (name, reaches) in _KNOCKS.items():
        values = [value for asked, value in order if asked == kind]
        if values:
            yield _none_of(name, values, reaches)
    yield _no_name_resolves()
    yield _none_of("no name server is reached", _name_servers(), _answers_names)
    yield _none_of("no datagram leaves", _ELSEWHERE, _leaves)


def _is_up(interface: str) -> bool:
    # A new namespace may have the fallback devices of tunnels, which are down, and which only its root can bring up.
    with _Socket(_socket.AF_INET, _socket.SOCK_DGRAM) as asking:
        told = fcntl.ioctl(asking.fileno(), _SIOCGIFFLAGS, interface.encode().ljust(40, b"\0"))
    return bool(int.from_bytes(told[16:18], sys.byteorder) & _IFF_UP)


def _route_answers(port: int) -> Canary:
    name = "the route answers"
    try:
        with _Socket(_socket.AF_INET, _socket.SOCK_STREAM) as route:
            route.settimeout(_ROUTE_SECONDS)
            route.connect(("127.0.0.1", port))
            route.send(_NO_HTTP)
            answer = route.recv(64)
    except OSError as error:
        return False, name, str(error)
    return answer.startswith(b"HTTP/"), name, "" if answer.startswith(b"HTTP/") else "what answers speaks no HTTP"


def _none_of(name: str, values: Sequence[str], reaches: Callable[[str], bool]) -> Canary:
    reached = [value for value in values if reaches(value)]
    return not reached, name, ", ".join(reached)


def _connects(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with _Socket(_family(host), _socket.SOCK_STREAM) as knocking:
            knocking.settimeout(_KNOCK_SECONDS)
            knocking.connect((host, int(port)))
    except TimeoutError:
        return True  # what is sent away is refused or lost, and nothing can be lost in here
    except OSError:
        return False
    return True


def _family(host: str) -> int:
    return _socket.AF_INET6 if ":" in host else _socket.AF_INET


def _leaves(address: str) -> bool:
    """Whether a datagram goes off, whatever becomes of it: without a way there it is not even taken."""
    host, _, port = address.rpartition(":")
    try:
        with _Socket(_family(host), _socket.SOCK_DGRAM) as sending:
            sending.setsockopt(_socket.SOL_SOCKET, _socket.SO_BROADCAST, 1)
            sending.connect((host, int(port)))
            sending.send(b"?")
    except OSError:
        return False
    return True


def _answers_names(server: str) -> bool:
    """Whether a name server is sent a query and nobody refuses it; it may be one of loopback, which is another here."""
    try:
        with _Socket(_family(server), _socket.SOCK_DGRAM) as asking:
            asking.settimeout(_KNOCK_SECONDS)
            asking.connect((server.partition("%")[0], 53))
            asking.send(_QUERY)
            asking.recv(512)
    except TimeoutError:
        return True
    except OSError:
        return False
    return True


def _name_servers() -> list[str]:
    try:
        with open("/etc/resolv.conf", errors="replace") as file:
            words = [line.split() for line in file]
    except OSError:
        return []
    return [line[1] for line in words if line[:1] == ["nameserver"] and len(line) > 1]


def _no_name_resolves() -> Canary:
    name = "no name resolves"
    try:
        _socket.getaddrinfo(_NAME, None)
    except OSError:
        return True, name, ""
    return False, name, f"{_NAME.decode()} has an address"


def _opens(kind_and_path: str) -> bool:
    """Whether a socket of the machine can be connected to: ``TYPE PATH``, where ``@`` begins an abstract name."""
    kind, _, path = kind_and_path.partition(" ")
    name = path.encode(errors="surrogateescape")
    try:
        with _Socket(_socket.AF_UNIX, int(kind)) as knocking:
            knocking.settimeout(_KNOCK_SECONDS)
            knocking.connect(b"\0" + name[1:] if name.startswith(b"@") else name)
    except OSError as error:
        return error.errno not in _CLOSED
    return True


_KNOCKS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "host": ("the host's loopback is not reached", _connects),
    "meter": ("no other meter is reached", _connects),
    "socket": ("no daemon's socket is reached", _opens),
    "abstract": ("no abstract socket is reached", _opens),
}
"""What an order may ask for, besides the route's ``port``."""


if __name__ == "__main__":
    main(sys.argv[1:])
