"""Results that another harness has published, read as results of ours."""
