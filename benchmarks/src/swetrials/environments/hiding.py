"""What of the machine a command has no business with, and which of its toolchains it needs all the same."""

import os
import pwd
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from swetrials.workspace.variables import is_open_folder, search_path, toolchain_roots


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


def covered() -> tuple[Path, ...]:
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
    homes, hidden = _homes(), (*covered(), Path("/run"))
    roots = (toolchain_roots({**environment, "HOME": str(home)}) for home in homes)
    named = [*_search_path(environment), *(Path(root) for found in roots for root in found.values())]
    below = (p for p in named if any(p.is_relative_to(top) and p != top for top in hidden))
    usable = (p for p in below if is_open_folder(p) and not (os.geteuid() == 0 and _is_roots_own(p)))
    return tuple(dict.fromkeys(usable))
