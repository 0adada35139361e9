"""Summarises temperature readings."""
