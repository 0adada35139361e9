"""opencode: how it is started and read."""
