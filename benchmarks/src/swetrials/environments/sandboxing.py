"""Which sandbox a machine has to offer, and what it has to hide there."""

import os
import pwd
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from swetrials.environments.bubblewrap import NOT_WANTED, Absence, Sandbox, confined, given_up, probe
from swetrials.errors import KnownError
from swetrials.store.project import Project
from swetrials.workspace.variables import is_open_folder, search_path, toolchain_roots


class SandboxError(KnownError):
    """The sandbox that was asked for is not to be had on this machine; the message says what mends it."""


def sandbox_for(wanted: str, project: Project, *private: Path) -> Sandbox:
    """Return the sandbox that ``wanted`` (``auto``, ``bubblewrap``, ``none``) comes to on this machine.

    It covers the harness, the invoker's homes and whatever else is ``private``: the dataset with its answers,
    all results, the working folder with its mirrors, whose later history may hold the fix.

    Raises:
        SandboxError: bubblewrap is asked for and does not work here.
    """
    if wanted == "none":
        return Sandbox(None, missing=NOT_WANTED)
    found = probe()
    if isinstance(found, Absence):
        if wanted == "bubblewrap":
            raise SandboxError(f"sandbox: {found.why}; {found.fix}")
        return Sandbox(None, missing=found)
    hidden = tuple(dict.fromkeys(place.resolve() for place in (project.private, *private, *_covered())))
    readable = toolchains(os.environ)
    try:
        confined((), bwrap=found, writable=(), hidden=hidden, readable=readable)
    except ValueError as error:
        raise SandboxError(f"{error}; move it, or go without: --sandbox none") from None
    return Sandbox(given_up(found, hidden, (*readable, *_installed(project.tools))), hidden, readable)


def _installed(tools: Path) -> tuple[Path, ...]:
    """Return the folders of the installed agents, each of which a sandbox may have to show."""
    return tuple(sorted(path for path in tools.iterdir() if path.is_dir())) if tools.is_dir() else ()


def _homes() -> tuple[Path, ...]:
    """Return the invoker's home, and the one that the machine knows, where the environment names another.

    Without those that are none worth the name: service accounts have ``/``, or nothing.
    """
    named = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(dict.fromkeys(Path(name) for name in named if name.startswith("/") and Path(name) != Path("/")))


def _search_path(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders that an attempt looks for programs in."""
    return [Path(name) for name in search_path(environment.get("PATH", os.defpath)).split(os.pathsep) if name]


def _covered() -> tuple[Path, ...]:
    """Return what the sandbox covers of the machine: the homes, and where we are root what root alone may go through.

    Of these, only what lies below a folder of the search path is needed, and shown again: whoever has given up root
    can reach it then, and nothing beside it.
    """
    if os.geteuid() != 0:
        return _homes()
    ways = (reversed(folder.parents[:-1]) for folder in _search_path(os.environ))
    tops = (next(filter(_is_roots_own, way), None) for way in ways)
    return tuple(dict.fromkeys((*_homes(), *filter(None, tops))))


def _is_roots_own(folder: Path) -> bool:
    return folder.is_dir() and not folder.stat().st_mode & stat.S_IXOTH


def toolchains(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders below what is covered, or below ``/run``, that programs on the search path live in.

    A sandbox must leave these readable, or the task's own tools would be gone. A folder that cannot be looked into by
    whoever the tools are for serves nobody, and is passed over.
    """
    homes, covered = _homes(), (*_covered(), Path("/run"))
    roots = (toolchain_roots({**environment, "HOME": str(home)}) for home in homes)
    named = [*_search_path(environment), *(Path(root) for found in roots for root in found.values())]
    below = (p for p in named if any(p.is_relative_to(top) and p != top for top in covered))
    usable = (p for p in below if is_open_folder(p) and not (os.geteuid() == 0 and _is_roots_own(p)))
    return tuple(dict.fromkeys(usable))
