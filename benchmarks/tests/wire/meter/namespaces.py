"""Network namespaces that a test makes for itself, with loopback and nothing else."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_LISTEN = """
import socket, sys
made = socket.create_server(("127.0.0.1", int(sys.argv[1])))
socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"s"], [made.fileno()])
"""


@contextmanager
def network_namespace() -> Iterator[int]:
    """A process that has a network of its own, loopback alone; gives its id."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root makes a network namespace without a user namespace")
    set_up = "import fcntl, socket, struct; s = socket.socket(); r = struct.pack('16sh', b'lo', 0x41); "
    set_up += "fcntl.ioctl(s, 0x8914, r); print('up', flush=True); input()"  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING
    argv = ["unshare", "-n", sys.executable, "-I", "-c", set_up]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != b"up\n":
            pytest.skip("this machine makes no network namespaces")
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def socket_inside(process_id: int, port: int) -> socket.socket:
    """Return a socket that listens in the namespace of a process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [*inside(process_id), sys.executable, "-I", "-c", _LISTEN, str(port), str(theirs.fileno())]
        subprocess.run(argv, pass_fds=(theirs.fileno(),), check=True, timeout=10)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptors[0])


def inside(process_id: int) -> list[str]:
    """Return what stands before a command that runs in the namespace of a process."""
    return ["nsenter", "-t", str(process_id), "-n"]
