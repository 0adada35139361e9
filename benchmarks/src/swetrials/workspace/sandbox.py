"""The sandbox: bubblewrap around a command, so that it reads and writes only what its work needs."""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_PROOF_SECONDS = 20.0
_UNPRIVILEGED_ID = 1000

# Sockets through which a program inside could have one outside work for it; a read-only mount does not stop it from
# connecting to them.
_DOORS = tuple(
    Path(name)
    for name in ("/run/containerd", "/run/dbus", "/run/docker.sock", "/run/podman", "/run/snapd.socket", "/run/user")
)


@functools.cache
def bubblewrap() -> Path | None:
    """Return the path of ``bwrap`` when it is installed and a command really runs in it, else ``None``.

    Being installed proves little: containers and kernels often forbid the namespaces it needs.
    """
    found = shutil.which("bwrap")
    if found is None:
        return None
    bwrap = Path(found).resolve()
    argv = confined(["true"], bwrap=bwrap, writable=[], hidden=[], readable=[])
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROOF_SECONDS, check=True, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return None
    return bwrap


def confined(
    argv: Sequence[str], *, bwrap: Path, writable: Sequence[Path], hidden: Sequence[Path], readable: Sequence[Path]
) -> tuple[str, ...]:
    """Return the words that run a command in a sandbox.

    Inside, the machine's files are read-only, ``/tmp``, ``/var/tmp`` and ``/dev/shm`` are empty and private, other
    processes cannot be seen, and nobody is root. The network is shared, since the model's endpoint is reached over
    loopback. When the outer process dies, everything inside is killed.

    There is no session of its own: the caller starts the command in a new one, which leaves no terminal to type into,
    and process-group signals still reach everything inside.

    Args:
        argv: the command.
        bwrap: from :func:`bubblewrap`.
        writable: existing files and folders to read and write, wherever they lie.
        hidden: files and folders to cover by nothing; those that do not exist are passed over.
        readable: existing files and folders to show again, read-only, that lie below hidden ones.

    Raises:
        ValueError: a hidden path is ``/``, or lies in a readable or writable one and would be uncovered again.
    """
    shown = [path.resolve() for path in (*readable, *writable)]
    covered = sorted({path.resolve() for path in hidden})
    _refuse_uncovering(covered, shown)
    return (
        str(bwrap),
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        *_identity(),
        *("--ro-bind", "/", "/"),
        *("--dev", "/dev"),
        *("--proc", "/proc"),
        *("--tmpfs", "/tmp"),
        *("--tmpfs", "/var/tmp"),
        *_covers((*_DOORS, *covered)),
        *_binds("--ro-bind", readable),
        *_binds("--bind", writable),
        "--",
        *argv,
    )


def _identity() -> Iterator[str]:
    # Agents refuse to work without asking when they are root.
    if os.geteuid() == 0:
        yield from ("--uid", str(_UNPRIVILEGED_ID), "--gid", str(_UNPRIVILEGED_ID))


def _covers(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if path.is_dir():
            yield from ("--tmpfs", str(path))
        elif path.exists():
            yield from ("--ro-bind", os.devnull, str(path))


def _binds(how: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (how, str(path.resolve()), str(path.resolve()))


def _refuse_uncovering(hidden: Iterable[Path], shown: Sequence[Path]) -> None:
    for path in hidden:
        if path == Path("/"):
            raise ValueError("the sandbox cannot hide /; name the folders to hide")
        for above in shown:
            if path.is_relative_to(above):
                raise ValueError(f"the sandbox cannot hide {path}: it lies in {above}, which is to be shown")
