"""Claude Code: how it is started, routed and read."""
