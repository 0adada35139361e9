"""Which sandbox a machine has to offer, and what it has to hide there."""

import os
from collections.abc import Mapping
from pathlib import Path

from swetrials.records.errors import KnownError
from swetrials.store.project import Project
from swetrials.trials.crew import Sandbox
from swetrials.workspace.environment import toolchain_roots
from swetrials.workspace.sandbox import bubblewrap, confined


class SandboxError(KnownError):
    """The sandbox that was asked for is not to be had on this machine; the message says what mends it."""


def sandbox_for(wanted: str, project: Project, *private: Path) -> Sandbox:
    """Return the sandbox that ``wanted`` (``auto``, ``bubblewrap``, ``none``) comes to on this machine.

    It covers the harness, the invoker's home and whatever else is ``private``: the dataset with its answers,
    all results, the working folder with its mirrors, whose later history may hold the fix.

    Raises:
        SandboxError: bubblewrap is asked for and does not work here.
    """
    found = bubblewrap() if wanted != "none" else None
    if found is None and wanted == "bubblewrap":
        raise SandboxError("sandbox: bubblewrap is not installed or does not work here; install the package bubblewrap")
    if found is None:
        return Sandbox(None)
    home = _home()
    places = (project.root.parent, *private, *((home,) if home else ()))
    hidden = tuple(dict.fromkeys(place.resolve() for place in places))
    readable = toolchains(os.environ)
    try:
        confined((), bwrap=found, writable=(), hidden=hidden, readable=readable)
    except ValueError as error:
        raise SandboxError(f"{error}; move it, or go without: --sandbox none") from None
    return Sandbox(found, hidden, readable)


def _home() -> Path | None:
    """Return the invoker's home, unless there is none worth the name: service accounts have ``/``, or nothing."""
    try:
        home = Path.home()
    except RuntimeError:
        return None
    return None if home == Path("/") else home


def toolchains(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the folders below the invoker's home that programs on the search path live in.

    A sandbox that covers the home must leave these readable, or the task's own tools would be gone.
    """
    home = _home()
    if home is None:
        return ()
    named = [*environment.get("PATH", "").split(os.pathsep), *toolchain_roots(environment).values()]
    places = (Path(name) for name in named if name)
    return tuple(dict.fromkeys(p for p in places if p.is_dir() and p.is_relative_to(home) and p != home))
