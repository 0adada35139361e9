"""vLLM as a host: its provider, its server, its counters and the machine that it runs on."""
