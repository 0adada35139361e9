"""Checkouts, patches, process groups and the sandbox an agent works in."""
