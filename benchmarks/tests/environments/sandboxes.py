"""Real sandboxes for tests, in each of the ways in which root is or is not there."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from swetrials.environments.base import Held
from swetrials.environments.bubblewrap import Bubblewrap, confined, probe
from swetrials.environments.sealing import hold_words
from swetrials.workspace.processes import Command

BWRAP = found if isinstance(found := probe(), Bubblewrap) else None

WAYS = {"given up", "renamed"} if os.geteuid() == 0 else {"ordinary"}
"""Root gives itself up inside, or is called by another number there; an ordinary user has nothing to give up."""


def bubblewrap(way: str) -> Bubblewrap:
    """Return bubblewrap as it is used in one of the ways; the test is skipped where that is none."""
    if BWRAP is None:
        pytest.skip("bubblewrap is not installed, or may not make namespaces here")
    if way == "given up" and BWRAP.setpriv is None:
        pytest.skip("root cannot be given up here")
    return replace(BWRAP, setpriv=None) if way == "renamed" else BWRAP


def sandboxed(
    argv: Sequence[str],
    way: str,
    folder: Path,
    *,
    held: Held | None = None,
    network: str = "none",
    readable: Sequence[Path] = (),
    more: Sequence[str] = (),
) -> Command:
    """Return what runs a command in a sandbox in which one folder can be written to."""
    bwrap = bubblewrap(way)
    inside = hold_words(held, argv) if held else argv
    words = [*confined(inside, bwrap=bwrap, writable=[folder], hidden=[], readable=readable)]
    place = words.index("--", words.index(str(bwrap.path)))
    words[place:place] = [
        *(["--unshare-net"] if network == "none" else []),
        *(["--info-fd", str(held.info_fd)] if held else []),
        *more,
    ]
    return Command(tuple(words), folder, {"PATH": os.defpath}, held.fds if held else ())
