"""The strongest environment that this machine has, with nothing in particular to hide."""

from pathlib import Path

from swetrials.environments.base import Environment
from swetrials.environments.bubblewrap import bubblewrap
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.host import Host


def strongest(*hidden: Path) -> Environment:
    """Return bubblewrap where it works, else the host."""
    bwrap = bubblewrap()
    return Host() if bwrap is None else BubblewrapEnvironment(bwrap, hidden)
