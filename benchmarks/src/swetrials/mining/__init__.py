"""Mining: tasks out of a repository's own history, each with its tests, its controls and a reason where it is none."""
