"""bubblewrap around a command, so that it reads, writes and reaches only what its work needs."""

import functools
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from swetrials.environments.base import Absence, Held, Layer, Network
from swetrials.environments.bubblewrap_start import OVERLAY, SECCOMP, give
from swetrials.environments.seccomp import system_call_filter
from swetrials.errors import KnownError
from swetrials.workspace.variables import search_path

_PROOF_SECONDS = 20.0
_NOBODY = 65534
"""The user and group who own nothing, by the number that they have on every Linux (``nobody``)."""

_START = str(Path(__file__).with_name("bubblewrap_start.py"))

_RUN = tuple(Path(name) for name in ("/run", "/var/run"))
"""Where the sockets of the machine's services lie, through which a program inside could have one outside work for it;
a read-only mount does not stop it from connecting to them."""

_TEMPORARY = tuple(Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm"))

EMPTIED = (*_TEMPORARY, *dict.fromkeys(path.resolve() for path in _RUN))
"""Folders of which each sandbox has its own, with nothing in it."""

_OF_ITS_OWN = frozenset({"/dev", "/proc", "/tmp"})
"""Folders at the top of which a sandbox has its own."""

_WHERE_THEY_LIE: Mapping[Path, Path] = MappingProxyType({})

_REACHED = 'for place do [ -x "$place" ] || { echo "$place"; exit 1; }; done'


class UncoveredError(KnownError, ValueError):
    """What a sandbox has to hide could not be hidden; the message says what it lies in that has to be shown."""


@dataclass(frozen=True)
class Bubblewrap:
    """The program, and as whom it runs a command.

    Attributes:
        path: where ``bwrap`` is.
        setpriv: where ``setpriv`` is, by which root is given up inside; ``None`` where it is not.
        as_root: why a command keeps the rights of root although it is called by another number inside; empty when
            it has none.
    """

    path: Path
    setpriv: Path | None = None
    as_root: str = ""


_NOT_INSTALLED = Absence("bubblewrap is not installed", "install it (apt-get install bubblewrap)")


def _not_allowed(said: str) -> Absence:
    fix = "allow namespaces to this user or container, or go without: --environment host"
    return Absence(f"bubblewrap does not work here: {said}", fix)


@functools.cache
def probe() -> Bubblewrap | Absence:
    """Return bubblewrap when it is installed and a command really runs in it, and else why there is none.

    Being installed proves little: containers and kernels often forbid the namespaces it needs. What it runs for a
    proof is itself, by its full path, so that a search path which leads to a covered folder proves nothing wrong.
    """
    found = shutil.which("bwrap")
    if found is None:
        return _NOT_INSTALLED
    plain = Bubblewrap(Path(found).resolve())
    if os.geteuid() != 0:
        said = _tried(plain)
        return _not_allowed(said) if said else plain
    setpriv = shutil.which("setpriv")
    dropping = replace(plain, setpriv=Path(setpriv).resolve()) if setpriv else plain
    said = _tried(dropping) if setpriv else "setpriv is not installed"
    if not said:
        return dropping
    renamed = replace(plain, as_root=said)
    said = _tried(renamed)
    return _not_allowed(said) if said else renamed


@functools.cache
def bubblewrap() -> Bubblewrap | None:
    """Return what :func:`probe` has found, fit for use where nothing is covered and the search path is what it is."""
    found = probe()
    named = search_path(os.environ.get("PATH", os.defpath)).split(os.pathsep)
    return (
        given_up(found, [], [path for path in map(Path, named) if path.is_dir()])
        if isinstance(found, Bubblewrap)
        else None
    )


def given_up(bwrap: Bubblewrap, hidden: Sequence[Path], shown: Sequence[Path]) -> Bubblewrap:
    """Return how root can be given up where certain folders are covered and others shown.

    Whoever has given it up needs a way to each of them that is open to everybody, and leave to look at what is shown.
    Where the modes of the folders do not give that, the command keeps root's rights, and ``as_root`` says why.

    Args:
        bwrap: from :func:`probe`.
        hidden: what is covered.
        shown: what has to be reached: what is shown again below it, or lies open anyway.
    """
    if bwrap.setpriv is None:
        return bwrap
    places = [str(path.resolve()) for path in (*hidden, *shown) if path.is_dir()]
    words = ("/bin/sh", "-c", _REACHED, "sh", *places)
    said = _outcome(confined(words, bwrap=bwrap, writable=[], hidden=hidden, readable=shown))
    return Bubblewrap(bwrap.path, as_root=f"only root can reach {said}") if said else bwrap


@functools.cache
def version(path: Path) -> str | None:
    """Return what bubblewrap calls itself, such as ``bubblewrap 0.8.0``; ``None``: it does not say.

    Args:
        path: where it is.
    """
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROOF_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip() or None


def _tried(bwrap: Bubblewrap) -> str:
    """Return what bubblewrap says when it runs nothing here; empty when it does."""
    words = [str(bwrap.path), "--version"]
    return _outcome(confined(words, bwrap=bwrap, writable=[], hidden=[], readable=[bwrap.path]))


def _outcome(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROOF_SECONDS, cwd="/", check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ") if lines else f"exit code {done.returncode}"


def confined(
    argv: Sequence[str],
    *,
    bwrap: Bubblewrap,
    writable: Sequence[Path],
    hidden: Sequence[Path],
    readable: Sequence[Path],
    places: Mapping[Path, Path] = _WHERE_THEY_LIE,
    network: Network = "open",
    held: Held | None = None,
    folder: Path | None = None,
    layers: Sequence[Layer] = (),
) -> tuple[str, ...]:
    """Return the words that run a command in a sandbox.

    Inside, the machine's files are read-only, ``/tmp``, ``/var/tmp``, ``/dev/shm`` and ``/run`` are empty and private,
    other processes cannot be seen, the host's name is not told, and the session's keyring is empty. Of system calls
    some are not answered (:mod:`swetrials.environments.seccomp`). When the outer process dies, everything inside is
    killed.

    Nobody is root inside. Where the harness is, ``setpriv`` gives root up for good once the sandbox is set up: the
    command runs as ``nobody``, to whom the writable folders are given just before. Where that cannot be
    (:attr:`Bubblewrap.as_root`), root has another number and its rights on the machine's files: only what is covered
    or read-only is kept from it.

    There is no session of its own: the caller starts the command in a new one, which leaves no terminal to type into.

    Args:
        argv: the command.
        bwrap: from :func:`bubblewrap`.
        writable: existing files and folders to read and write, wherever they lie.
        hidden: files and folders to cover by nothing; those that do not exist are passed over.
        readable: existing files and folders to show again, read-only, that lie below hidden ones. Where one is named
            by a path through a link in ``/run``, it is there by that name too.
        places: where a writable or readable path is inside, for those that are elsewhere than on the machine.
        network: the machine's, or a loopback of its own and nothing else.
        held: lets the command wait for a word before it begins.
        folder: where the command starts; by default where the caller is.
        layers: prepared folders, over which the command writes to folders of its own.

    Raises:
        UncoveredError: a hidden path is ``/``, or lies in a readable or writable one and would be uncovered again.
    """
    user = str(_NOBODY) if bwrap.setpriv else "-"
    given = (str(path.resolve()) for path in writable)
    return (
        *(sys.executable, "-I", "-S", _START, user, *given, *_laid(layers), *_filtered(), "--"),
        *(str(bwrap.path), *_namespaces(bwrap, network), "--die-with-parent"),
        *(("--info-fd", str(held.info_fd)) if held else ()),
        *_machine(),
        *_own_sight(bwrap, writable, hidden, readable, places, layers),
        *("--remount-ro", "/"),
        *(("--chdir", str(folder)) if folder else ()),
        "--",
        *(_giving_root_up(bwrap.setpriv) if bwrap.setpriv else ()),
        *argv,
    )


def _own_sight(
    bwrap: Bubblewrap,
    writable: Sequence[Path],
    hidden: Sequence[Path],
    readable: Sequence[Path],
    places: Mapping[Path, Path],
    layers: Sequence[Layer],
) -> Iterator[str]:
    """Cover what is hidden, and show what is the command's own."""
    where = {path.resolve(): place for path, place in places.items()}
    shown = [path for path in map(Path.resolve, (*readable, *writable)) if path not in where]
    covered = sorted({path.resolve() for path in hidden})
    _refuse_uncovering(covered, shown)
    yield from _covers(covered)
    if bwrap.setpriv or where:
        yield from _ways([*shown, *where.values()])
    yield from _binds("--ro-bind", readable, where)
    yield from _binds("--bind", writable, where)
    for layer in layers:
        yield from ("--bind", str(layer.merged.resolve()), str(layer.inside))


def _laid(layers: Iterable[Layer]) -> Iterator[str]:
    """Tell what starts the sandbox which overlays to lay; a copy is given to the command's user."""
    for layer in layers:
        yield from (str(layer.merged.resolve()),) if layer.copied else (OVERLAY, str(layer.lower), str(layer.own))


def _filtered() -> Iterator[str]:
    if program := system_call_filter():
        yield from (SECCOMP, program.hex())


def hand_over(folder: Path, bwrap: Bubblewrap) -> None:
    """Give a folder that is closed to others to whom a confined command runs as, who may then read it.

    Writable folders are given by :func:`confined` itself. It comes before a look at the folder's state, which a new
    owner changes.
    """
    if bwrap.setpriv:
        give(str(folder), _NOBODY)


def _machine() -> Iterator[str]:
    """Show the machine's folders one by one, read-only: the root is of the sandbox's own, and takes others as well."""
    for entry in sorted(os.scandir("/"), key=lambda entry: entry.name):
        if entry.is_symlink():
            yield from ("--symlink", str(Path(entry.path).readlink()), entry.path)
        elif entry.path not in _OF_ITS_OWN:
            yield from ("--ro-bind-try", entry.path, entry.path)
    yield from ("--dev", "/dev", "--proc", "/proc", *_sealed_settings(), *_emptied())


def _namespaces(bwrap: Bubblewrap, network: Network) -> Iterator[str]:
    if network == "none":
        yield "--unshare-net"
    yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "trial")
    if bwrap.setpriv is None:
        yield "--unshare-user"
        # Agents refuse to work without asking when they are root.
        if os.geteuid() == 0:
            yield from ("--uid", str(_NOBODY), "--gid", str(_NOBODY))


def _giving_root_up(setpriv: Path) -> Iterator[str]:
    yield from (str(setpriv), "--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups", "--no-new-privs")
    yield from ("--inh-caps=-all", "--bounding-set=-all", "--")


def _sealed_settings() -> Iterator[str]:
    # To others than root the kernel's settings are read-only by their modes, and a mount on /proc would keep a
    # sandbox of the agent's own, made inside this one, from having a /proc.
    if os.geteuid() == 0:
        yield from ("--ro-bind", "/proc/sys", "/proc/sys")


def _emptied() -> Iterator[str]:
    for folder in EMPTIED:
        if folder in _TEMPORARY:
            yield from ("--perms", "1777", "--tmpfs", str(folder))
        elif folder.is_dir():
            yield from ("--tmpfs", str(folder))
    for named, real in sorted(_settings_in_run().items()):
        yield from ("--ro-bind", str(real), str(named))


@functools.cache
def _settings_in_run() -> dict[Path, Path]:
    """Return the files below ``/run`` that ``/etc`` has links to, as it does for ``resolv.conf``, and what they are."""
    links = (path for path in Path("/etc").iterdir() if path.is_symlink())
    named = (Path(os.path.normpath(Path("/etc", link.readlink()))) for link in links)
    found = {path: path.resolve() for path in named if any(path.is_relative_to(run) for run in _RUN)}
    return {path: real for path, real in found.items() if _is_open_file(real)}


def _is_open_file(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)


def _covers(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue  # what is not there, or closed to us, is so inside as well
        if stat.S_ISDIR(mode):
            yield from ("--tmpfs", str(path))
        else:
            yield from ("--ro-bind", os.devnull, str(path))


def _ways(shown: Iterable[Path]) -> Iterator[str]:
    """Make the folders that lead to what is shown, which bubblewrap itself would make for root alone."""
    for folder in sorted({parent for path in shown for parent in path.parents} - {Path("/")}):
        yield from ("--perms", "0755", "--dir", str(folder))


def _binds(how: str, paths: Iterable[Path], where: Mapping[Path, Path]) -> Iterator[str]:
    for path in paths:
        real = path.resolve()
        yield from (how, str(real), str(where.get(real, real)))
        if path != real and any(path.is_relative_to(run) for run in _RUN):
            yield from (how, str(real), str(path))


def _refuse_uncovering(hidden: Iterable[Path], shown: Sequence[Path]) -> None:
    for path in hidden:
        if path == Path("/"):
            raise UncoveredError("the sandbox cannot hide /; name the folders to hide")
        for above in shown:
            if path.is_relative_to(above):
                raise UncoveredError(f"the sandbox cannot hide {path}: it lies in {above}, which is to be shown")
