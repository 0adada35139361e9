"""Coding-agent CLIs: one file each says how to launch it and how to read its stream."""
