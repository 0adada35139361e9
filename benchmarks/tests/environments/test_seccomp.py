"""The filter of system calls, read as the kernel reads it; the battery of escapes tries it in a sandbox."""

import errno
import platform
import struct

import pytest

from swetrials.environments.seccomp import system_call_filter

X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
ALLOWED = 0
UNIX, INET, NETLINK, VSOCK, PACKET = 1, 2, 16, 40, 17


def answer(machine: str, architecture: int, call: int, argument: int = 0) -> int:
    """Return the error that a call gets, 0 where it goes through (``struct seccomp_data`` in ``seccomp(2)``)."""
    program = system_call_filter(machine)
    assert program is not None
    steps = list(struct.iter_unpack("=HBBI", program))
    data = struct.pack("=iIQ6Q", call, architecture, 0, argument, 0, 0, 0, 0, 0)
    held, place = 0, 0
    while True:
        code, then, otherwise, value = steps[place]
        place += 1
        if code == 0x20:
            held = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return 0 if value == 0x7FFF0000 else value & 0xFFFF
        else:
            place += then if {0x15: held == value, 0x35: held >= value}[code] else otherwise


@pytest.mark.parametrize(
    ("machine", "architecture", "socket", "userfaultfd", "getpid"),
    [
        ("x86_64", X86_64, 41, 323, 39),
        ("x86_64", I386, 359, 374, 20),
        ("aarch64", AARCH64, 198, 282, 172),
        ("aarch64", ARM, 281, 388, 20),
    ],
)
def test_what_is_not_answered(machine: str, architecture: int, socket: int, userfaultfd: int, getpid: int) -> None:
    def of(call: int, argument: int = 0) -> int:
        return answer(machine, architecture, call, argument)

    assert [of(socket, family) for family in (UNIX, INET, NETLINK)] == [ALLOWED] * 3
    assert [of(socket, family) for family in (VSOCK, PACKET)] == [errno.EAFNOSUPPORT] * 2
    # The kernel takes it for an int: what is above its 32 bits does not count.
    assert of(socket, 1 << 32 | VSOCK) == errno.EAFNOSUPPORT
    assert [of(call) for call in (425, 426, 427, userfaultfd)] == [errno.ENOSYS] * 4
    assert [of(call) for call in (getpid, 0, 424, 428, socket - 1, socket + 1)] == [ALLOWED] * 6


def test_other_ways_to_make_the_same_calls() -> None:
    assert answer("x86_64", X86_64, 0x40000000 | 41, UNIX) == errno.ENOSYS, "x32"
    assert answer("x86_64", I386, 102) == errno.ENOSYS, "socketcall"
    assert answer("x86_64", X86_64, 102) == ALLOWED, "getuid"
    assert answer("x86_64", AARCH64, 198, UNIX) == errno.ENOSYS, "programs of another machine"


def test_a_machine_whose_calls_are_not_known_has_none() -> None:
    assert system_call_filter("riscv64") is None
    assert platform.machine() not in ("x86_64", "aarch64") or system_call_filter() is not None
