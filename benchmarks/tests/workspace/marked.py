"""Looking for the processes of a test, in a way of the tests' own."""

from collections.abc import Callable
from contextlib import suppress

import psutil

from swetrials.workspace.processes import MARK


def living(mark: str) -> list[str]:
    """Return the names of the processes that carry a mark and are alive."""
    return _names(lambda process: process.environ().get(MARK) == mark)


def running(argv: list[str]) -> list[str]:
    """Return the names of the living processes that were started with these words."""
    return _names(lambda process: process.cmdline() == argv)


def is_alive(pid: int) -> bool:
    """Return whether there is such a process, and it is not only waiting to be buried."""
    return bool(_names(lambda process: process.pid == pid))


def _names(wanted: Callable[[psutil.Process], bool]) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and wanted(process):
                found.append(process.name())
    return found
