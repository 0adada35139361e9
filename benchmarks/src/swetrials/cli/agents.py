"""``agents install`` and ``agents list``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from swetrials.cli.lean import command_group, leave

app = command_group("Install and list agent CLIs.")


@app.command("install", epilog="Example: swetrials agents install claude codex")
def agents_install(names: Annotated[list[str], typer.Argument(help="Agents to install.")]) -> None:
    """Install agent CLIs, pinned, into .tools; silent when they are there."""
    leave(install_agents(names))


@app.command("list", epilog="Example: swetrials agents list")
def agents_list() -> None:
    """Show each agent CLI, its pinned version, and whether it is installed."""
    show()


def install_agents(names: Sequence[str]) -> int:
    """Install each named agent; those that fail are named and the others go on."""
    from swetrials.agents import AGENTS
    from swetrials.agents.install import InstallError
    from swetrials.agents.install import install as install_package
    from swetrials.store.project import find_project

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
    from swetrials.agents import AGENTS
    from swetrials.agents.install import find
    from swetrials.store.project import find_project

    tools = find_project().tools
    for name, agent in AGENTS.items():
        state = "installed" if find(agent.package, tools) else f"not installed: swetrials agents install {name}"
        print(f"{name:<10} {agent.package.version:<10} {state}")
        print(f"{'':<11}speaks {', '.join(sorted(agent.dialects))}")
        for limit in agent.limits:
            print(f"{'':<11}- {limit}")
