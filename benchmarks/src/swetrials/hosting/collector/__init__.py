"""The collector: a service that reads a server's counters and the GPUs over time."""
