"""LiteLLM as a host: its provider, its proxy server and how both are installed."""
