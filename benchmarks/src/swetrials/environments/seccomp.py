"""What a sandbox keeps from reaching the kernel at all: ways out that no namespace closes.

- ``AF_VSOCK`` talks to the machine that hosts this one, and is in no network namespace. So only the families of
  sockets are there that one needs (:data:`_FAMILIES`), the others are as in a kernel that was built without them.
- ``io_uring`` makes calls that no filter sees, and ``userfaultfd`` holds the kernel up in the middle of one. Both are
  as in a kernel that does not know them, which programs have to cope with anyway.

The filter is a program of classic BPF over ``struct seccomp_data`` (``seccomp(2)``). Numbers are from the kernel's
``include/uapi/linux/{audit,bpf_common,seccomp,socket}.h`` and its ``syscall.tbl`` of each architecture.
"""

import errno
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}

_IO_URING = (425, 426, 427)
"""``io_uring_setup``, ``io_uring_enter`` and ``io_uring_register``, the same everywhere."""

_CALL, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
# Where they are in `struct seccomp_data`; of the argument, the half that is an `int`, machines being little-endian.

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_UNKNOWN_CALL = _ERROR | errno.ENOSYS
_UNKNOWN_FAMILY = _ERROR | errno.EAFNOSUPPORT

_END = 1 << 32


@dataclass(frozen=True)
class _Calls:
    """How programs of one architecture call the kernel.

    Attributes:
        architecture: its ``AUDIT_ARCH``.
        socket: the number of ``socket``.
        userfaultfd: the number of ``userfaultfd``.
        more: numbers of other calls that are not let through.
        below: only calls with numbers below are known.
    """

    architecture: int
    socket: int
    userfaultfd: int
    more: tuple[int, ...] = ()
    below: int = _END


_CALLS = {
    "x86_64": (
        # From 0x40000000 on the same calls are there once more, for x32.
        _Calls(0xC000003E, socket=41, userfaultfd=323, below=0x40000000),
        # i386: what `socketcall` is asked for lies in memory, where no filter looks.
        _Calls(0x40000003, socket=359, userfaultfd=374, more=(102,)),
    ),
    "aarch64": (
        _Calls(0xC00000B7, socket=198, userfaultfd=282),
        _Calls(0x40000028, socket=281, userfaultfd=388),  # arm
    ),
}
"""By the machine's name (``uname -m``): its own programs, and those of 32 bits that it runs too."""


def system_call_filter(machine: str = os.uname().machine) -> bytes | None:
    """Return the filter for ``bwrap --seccomp``; ``None`` for a machine whose calls are not in the table.

    Args:
        machine: its name, as ``uname -m`` says it.
    """
    calls = _CALLS.get(machine)
    return b"".join(_program(calls)) if calls else None


def _program(machine: Iterable[_Calls]) -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    for calls in machine:
        steps = [*_of(calls)]
        yield _step(_IF_EQUAL, calls.architecture, otherwise=len(steps))
        yield from steps
    yield _step(_RETURN, _UNKNOWN_CALL)


def _of(calls: _Calls) -> Iterator[bytes]:
    yield _step(_LOAD, _CALL)
    if calls.below < _END:
        yield from _answer(_IF_AT_LEAST, calls.below, _UNKNOWN_CALL)
    for number in (*_IO_URING, calls.userfaultfd, *calls.more):
        yield from _answer(_IF_EQUAL, number, _UNKNOWN_CALL)
    yield _step(_IF_EQUAL, calls.socket, then=1)
    yield _step(_RETURN, _ALLOW)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    for family in _FAMILIES.values():
        yield from _answer(_IF_EQUAL, family, _ALLOW)
    yield _step(_RETURN, _UNKNOWN_FAMILY)


def _answer(when: int, value: int, answer: int) -> Iterator[bytes]:
    yield _step(when, value, otherwise=1)
    yield _step(_RETURN, answer)


def _step(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    """Return one ``struct sock_filter``; ``then`` and ``otherwise`` are how many of the next steps are left out."""
    return struct.pack("=HBBI", code, then, otherwise, value)
