"""Coding-agent CLIs: one file each says how to launch it and how to read its stream."""

from swetrials.agents.base import Agent
from swetrials.agents.claude.driver import ClaudeCode
from swetrials.agents.codex.driver import Codex
from swetrials.agents.omp.driver import Omp
from swetrials.agents.opencode.driver import OpenCode
from swetrials.agents.pi.driver import Pi

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (ClaudeCode(), Codex(), Omp(), OpenCode(), Pi())}
"""Every agent by the name a user types."""
