"""The agent CLIs that the project installs for itself, pinned: one entry per name on the command line."""

from swetrials.agents.install import Package, Wheel

CLAUDE = Package(
    name="claude-code",
    npm="@anthropic-ai/claude-code",
    version="2.1.332",
    executable="node_modules/@anthropic-ai/claude-code-*/claude",
    wheel=Wheel("claude-agent-sdk", "0.2.189", "claude_agent_sdk/_bundled/claude"),
)
"""Claude Code. Its npm package is a launcher around one native binary; the SDK's wheel of 0.2.189 carries the
same binary (``_cli_version.py`` in it says 2.1.332)."""

CODEX = Package(
    name="codex",
    npm="@openai/codex",
    version="0.171.0",
    executable="node_modules/@openai/codex-*/vendor/*/bin/codex",
    wheel=None,
)
"""Codex. The native binary is called without its Node launcher, so that signals reach it and Node is not needed."""

PACKAGES = {"claude": CLAUDE, "codex": CODEX}
"""Package by agent name."""
