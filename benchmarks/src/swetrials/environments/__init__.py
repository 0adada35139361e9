"""Environments: what an agent's and a verification's commands run in, and what they can reach from there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from swetrials.environments.base import AbsentError, Environment
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.host import Host
from swetrials.environments.preparation_store import PREPARATIONS
from swetrials.plugins import Family
from swetrials.store.project import Project


class MakeEnvironment(Protocol):
    """Makes an environment on this machine; raises :class:`~swetrials.environments.base.AbsentError` where it cannot.

    ``private`` is what it has to hide; ``programs`` are folders below that, each of which it may have to show.
    """

    def __call__(self, private: Sequence[Path], programs: Sequence[Path]) -> Environment:
        """Return the environment."""


def _auto(private: Sequence[Path], programs: Sequence[Path]) -> Environment:
    """Return bubblewrap where it works, else the host, which says why."""
    try:
        return BubblewrapEnvironment.here(private, programs)
    except AbsentError as error:
        return Host(error.absence)


ENVIRONMENTS: Family[MakeEnvironment] = Family(
    "environment",
    {"auto": _auto, "host": Host.here, "bubblewrap": BubblewrapEnvironment.here},
    Environment,
    made_by_call=True,
)
"""What makes each environment, by the name that ``--environment`` takes."""


def environment_for(wanted: str, project: Project, *private: Path) -> Environment:
    """Return what ``wanted`` comes to on this machine.

    It hides the harness, the invoker's homes and whatever else is ``private``: the dataset with its answers,
    all results, the working folder with its mirrors, whose later history may hold the fix.

    Raises:
        AbsentError: what is asked for by name does not work here.
        UncoveredError: something that is private cannot be hidden.
        PluginError: nothing has that name.
    """
    return ENVIRONMENTS.named(wanted)((project.private, *private), _installed(project.tools))


def _installed(tools: Path) -> tuple[Path, ...]:
    """Return the folders of the installed agents. Preparations are no program: nobody but the harness reaches them."""
    folders = tools.iterdir() if tools.is_dir() else ()
    return tuple(sorted(path for path in folders if path.is_dir() and path.name != PREPARATIONS))
