"""Counts the words of text files."""
