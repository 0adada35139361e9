"""Checkouts, patches, process groups and private folders."""
