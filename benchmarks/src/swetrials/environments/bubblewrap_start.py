"""What a sandbox needs done just before it starts: ``bubblewrap_start.py UID [FOLDER|LAYER|FILTER...] -- WORDS``.

A program of its own, which imports nothing of this project, and else what loads fast: it runs for each command. As such
it runs in the process that becomes the sandbox, outside of it still:

- It leaves the session keyring that it inherits, in which the invoker's keys may lie, for a new and empty one
  (``keyctl(2)``, ``KEYCTL_JOIN_SESSION_KEYRING``). Where the kernel has no keyrings, or a container forbids the
  call, there is nothing to leave.
- With a user id other than ``-`` it gives the folders, and all that is in them, to that user, who could not write
  there otherwise. Links are given away themselves and never followed.
- A layer is ``--overlay LOWER OWN``. It makes the folder ``OWN/merged`` show what is in LOWER, and keeps what is
  written there in ``OWN/upper`` (the kernel's ``Documentation/filesystems/overlayfs.rst``). The mount is in a namespace
  that only this process and its children are in: it ends with them, however they end.
- A filter of system calls is ``--seccomp HEX``. It is given to the program that WORDS name as ``--seccomp FD``.
"""

import ctypes
import os
import sys
from _collections_abc import Iterator, Sequence

OVERLAY = "--overlay"
SECCOMP = "--seccomp"

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "loongarch64": 219, "ppc64le": 271, "s390x": 280}
"""Number of the call ``keyctl`` by machine, from the kernel's ``syscall.tbl`` and ``asm-generic/unistd.h``."""

_JOIN_SESSION_KEYRING = 1

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000
# From the kernel's `sched.h` and `mount.h`.


def main(words: Sequence[str]) -> None:
    """Do it, and become the program that is named behind ``--``."""
    cut = words.index("--")
    user, (program, *rest) = words[0], words[cut + 1 :]
    asked = _told_apart(words[1:cut])
    _leave_keyring()
    if user != "-":
        for folder in asked.folders:
            give(folder, int(user))
    if asked.layers:
        try:
            _mount(asked.layers)
        except OSError as error:
            sys.exit(f"bwrap: cannot lay an overlay over {error.filename}: {error.strerror}")
    os.execv(program, [program, *_filtering(asked.filters), *rest])


def give(folder: str, user: int) -> None:
    """Give a folder, and all that is in it, to a user; what is the user's is not touched."""
    for path in _below(folder):
        if os.lstat(path).st_uid != user:
            os.chown(path, user, user, follow_symlinks=False)


class _Asked:
    def __init__(self) -> None:
        self.folders: list[str] = []
        self.layers: list[tuple[str, str]] = []
        self.filters: list[str] = []


def _told_apart(words: Sequence[str]) -> _Asked:
    asked = _Asked()
    rest = iter(words)
    for word in rest:
        if word == OVERLAY:
            asked.layers.append((next(rest), next(rest)))
        elif word == SECCOMP:
            asked.filters.append(next(rest))
        else:
            asked.folders.append(word)
    return asked


def _filtering(filters: Sequence[str]) -> Iterator[str]:
    for program in filters:
        file = os.memfd_create("seccomp", 0)
        os.write(file, bytes.fromhex(program))
        os.lseek(file, 0, os.SEEK_SET)
        yield from (SECCOMP, str(file))


def _leave_keyring() -> None:
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def _mount(layers: Sequence[tuple[str, str]]) -> None:
    own_users = _enter_namespaces()
    # What others unmount is not to be held on to here; what is mounted here is not to be seen by others.
    _call("mount", "/", b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    for lower, own in layers:
        _own_as(lower, f"{own}/upper")
        # By number: a comma or a colon in a name would be read as the end of it.
        places = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in (lower, f"{own}/upper", f"{own}/work")]
        names = (
            f"{what}=/proc/self/fd/{fd}" for what, fd in zip(("lowerdir", "upperdir", "workdir"), places, strict=True)
        )
        # Marks of the overlay's own in "trusted" attributes are for root of the machine alone.
        options = ",".join((*names, *(("userxattr",) if own_users else ())))
        merged = os.fsencode(f"{own}/merged")
        _call("mount", lower, b"overlay", merged, b"overlay", 0, options.encode())
        for place in places:
            os.close(place)


def _enter_namespaces() -> bool:
    """Leave the machine's mounts for a copy of them; return whether that took a namespace of users as well."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        try:
            _call("unshare", "/", _CLONE_NEWNS)
        except PermissionError:
            pass  # root without its rights, as in many containers
        else:
            return False
    _call("unshare", "/", _CLONE_NEWUSER | _CLONE_NEWNS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - this program starts often
            file.write(text)
    return True


def _own_as(lower: str, upper: str) -> None:
    """Let a folder belong to whom another belongs: what shows both has the owner and the mode of the upper one."""
    wanted, found = os.lstat(lower), os.lstat(upper)
    if (wanted.st_uid, wanted.st_gid) != (found.st_uid, found.st_gid):
        os.chown(upper, wanted.st_uid, wanted.st_gid)
    os.chmod(upper, wanted.st_mode & 0o7777)  # noqa: PTH101 - this program starts often


def _call(name: str, about: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library[name](*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), about)


def _below(folder: str) -> Iterator[str]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield f"{place}/{name}"


if __name__ == "__main__":
    main(sys.argv[1:])
