"""The command line: arguments, calls and rendering, nothing else."""
