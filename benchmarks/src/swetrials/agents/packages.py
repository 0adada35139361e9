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

OMP = Package(
    name="omp",
    npm="@oh-my-pi/pi-coding-agent",
    version="18.2.3",
    executable="node_modules/@oven/bun-*/bin/bun",
    wheel=None,
    also=("bun@1.4.5",),
)
"""Oh My Pi, a fork of pi. It is a program for Bun, whose own binary is called with it."""

OPENCODE = Package(
    name="opencode",
    npm="opencode-ai",
    version="1.18.33",
    executable="node_modules/opencode-*-*/bin/opencode",
    wheel=None,
)
"""opencode. The native binary is called without its Node launcher, as with Codex."""

PI = Package(
    name="pi",
    npm="@earendil-works/pi-coding-agent",
    version="0.74.2",
    executable="node_modules/@earendil-works/pi-coding-agent/dist/cli.js",
    wheel=None,
)
"""pi: a program for the machine's Node.js, 20 or newer. Its 1.x asks for Node.js 22.19."""

PACKAGES = {"claude": CLAUDE, "codex": CODEX, "omp": OMP, "opencode": OPENCODE, "pi": PI}
"""Package by agent name."""
