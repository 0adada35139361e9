"""Long-lived services of our own, started and stopped on request: the LiteLLM proxy and vLLM."""
