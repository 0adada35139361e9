"""Coding-agent CLIs: one file each says how to launch it and how to read its stream."""

from swetrials.agents.base import Agent
from swetrials.agents.claude.driver import ClaudeCode
from swetrials.agents.codex.driver import Codex
from swetrials.agents.omp.driver import Omp
from swetrials.agents.opencode.driver import OpenCode
from swetrials.agents.pi.driver import Pi
from swetrials.plugins import Family

AGENTS: Family[Agent] = Family(
    "agent",
    {agent.name: agent for agent in (ClaudeCode(), Codex(), Omp(), OpenCode(), Pi())},
    Agent,
    made_by_call=False,
)
"""Every agent by the name a user types."""
