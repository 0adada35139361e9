"""What a sandbox needs done just before it starts: ``bubblewrap_start.py UID [FOLDER...] -- WORDS``.

A program of its own, which imports nothing of this project. As such it runs in the process that becomes the sandbox,
outside of it still:

- It leaves the session keyring that it inherits, in which the invoker's keys may lie, for a new and empty one
  (``keyctl(2)``, ``KEYCTL_JOIN_SESSION_KEYRING``). Where the kernel has no keyrings, or a container forbids the
  call, there is nothing to leave.
- With a user id other than ``-`` it gives the folders, and all that is in them, to that user, who could not write
  there otherwise. Links are given away themselves and never followed.
"""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "loongarch64": 219, "ppc64le": 271, "s390x": 280}
"""Number of the call ``keyctl`` by machine, from the kernel's ``syscall.tbl`` and ``asm-generic/unistd.h``."""

_JOIN_SESSION_KEYRING = 1


def main(words: Sequence[str]) -> None:
    """Do it, and become the program that is named behind ``--``."""
    cut = words.index("--")
    user, folders, command = words[0], words[1:cut], words[cut + 1 :]
    _leave_keyring()
    if user != "-":
        for folder in folders:
            give(folder, int(user))
    os.execv(command[0], [*command])


def _leave_keyring() -> None:
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def give(folder: str, user: int) -> None:
    """Give a folder, and all that is in it, to a user; what is the user's is not touched."""
    for path in _below(folder):
        if os.lstat(path).st_uid != user:
            os.chown(path, user, user, follow_symlinks=False)


def _below(folder: str) -> Iterator[str]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield f"{place}/{name}"


if __name__ == "__main__":
    main(sys.argv[1:])
