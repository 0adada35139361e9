"""``agents install`` and ``agents list``."""

import sys
from collections.abc import Sequence

from swetrials.agents import AGENTS
from swetrials.agents.install import InstallError, find
from swetrials.agents.install import install as install_package
from swetrials.store.project import find_project


def install(names: Sequence[str]) -> int:
    """Install each named agent; those that fail are named and the others go on."""
    agents = [AGENTS.named(name) for name in names]
    tools = find_project().tools
    failed = 0
    for agent in agents:
        try:
            install_package(agent.package, tools, lambda line: print(line, file=sys.stderr, flush=True))
        except InstallError as error:
            failed += 1
            print(error, file=sys.stderr)
    return 1 if failed else 0


def show() -> None:
    """Print each agent CLI: pinned version, whether that is installed, its dialects, and its known limits."""
    tools = find_project().tools
    for name, agent in AGENTS.items():
        state = "installed" if find(agent.package, tools) else f"not installed: swetrials agents install {name}"
        print(f"{name:<10} {agent.package.version:<10} {state}")
        print(f"{'':<11}speaks {', '.join(sorted(agent.dialects))}")
        for limit in agent.limits:
            print(f"{'':<11}- {limit}")
