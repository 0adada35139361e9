"""Records as tables and markdown."""
