"""Knocks, from inside the sandbox, on what it has to keep closed; prints as JSON what opened.

Run as ``knocking.py WORK SOCKET`` by whoever is to be the harness: WORK is a folder for the sandbox to write to, SOCKET
a listener of somebody else's. What runs inside is this same file, as ``knocking.py inside SOCKET SERIAL``.
"""

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

ADD_KEY = {"x86_64": 248, "aarch64": 217}.get(platform.machine())
KEYCTL = {"x86_64": 250, "aarch64": 219}.get(platform.machine())
JOIN, SEARCH, READ = 1, 10, 11
SESSION = -3
KERNEL = ctypes.CDLL(None)


def opened(what: Callable[[], object]) -> str:
    try:
        what()
    except OSError as error:
        return error.strerror or "refused"
    return "opened"


def writable_settings() -> list[str]:
    """Return the kernel's settings that could be written; they are opened, and nothing is."""
    found = (Path(folder, name) for folder, _, names in os.walk("/proc/sys") for name in names)
    return [str(path) for path in found if opened(partial(_open_to_write, path)) == "opened"]


def _open_to_write(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY))


def knocks(listener: str, serial: int) -> dict[str, object]:
    return {
        "uid": os.getuid(),
        "settings": writable_settings(),
        "shadow": opened(lambda: Path("/etc/shadow").read_bytes()),
        "socket": opened(lambda: socket.socket(socket.AF_UNIX).connect(listener)),
        "key_found": serial > 0 and KERNEL.syscall(KEYCTL, SEARCH, SESSION, b"user", b"knocking", 0) > 0,
        "key_read": serial > 0 and KERNEL.syscall(KEYCTL, READ, serial, ctypes.create_string_buffer(9), 9) > 0,
        "host_name": socket.gethostname(),
    }


def with_a_key() -> int:
    """Put a key into a session keyring of our own; return its serial, 0 where there are no keyrings to be had."""
    if KEYCTL is None or ADD_KEY is None or KERNEL.syscall(KEYCTL, JOIN, None) < 0:
        return 0
    serial: int = KERNEL.syscall(ADD_KEY, b"user", b"knocking", b"secret", 6, SESSION)
    return max(serial, 0) if KERNEL.syscall(KEYCTL, SEARCH, SESSION, b"user", b"knocking", 0) > 0 else 0


def main(work: str, listener: str) -> None:
    from swetrials.environments.bubblewrap import Bubblewrap, confined, probe

    found = probe()
    if not isinstance(found, Bubblewrap):
        print(json.dumps(None))
        return
    serial = with_a_key()
    python = Path(sys.executable).resolve()
    script = Path(work, "knocking.py")
    script.write_text(Path(__file__).read_text())
    words = (str(python), "-I", "-S", str(script), "inside", listener, str(serial))
    argv = confined(words, bwrap=found, writable=[Path(work)], hidden=[], readable=[python.parent])
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    print(json.dumps({"inside": json.loads(done.stdout), "outside": knocks(listener, serial), "key": serial > 0}))


if __name__ == "__main__":
    if sys.argv[1] == "inside":
        print(json.dumps(knocks(sys.argv[2], int(sys.argv[3]))))
    else:
        main(sys.argv[1], sys.argv[2])
