"""Tasks: the dataset, the commits that it names and the repositories on this machine."""
