"""Batches: several models one after another, each served, run and judged."""
