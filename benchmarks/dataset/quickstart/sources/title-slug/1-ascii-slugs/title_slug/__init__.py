"""Turns titles into addresses."""
