"""Benchmark coding agents and models on real repositories: quality, tokens, dollars, latency."""

__version__ = "0.1.0"
