"""Codex CLI: how it is started, configured and read."""
