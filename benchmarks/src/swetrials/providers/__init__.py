"""Where models are hosted: one file per hosting path."""

from swetrials.providers.base import Provider
from swetrials.providers.bedrock import Bedrock
from swetrials.providers.endpoint import Endpoint
from swetrials.providers.litellm import LiteLLM
from swetrials.providers.rehearsal import Rehearsal
from swetrials.providers.vllm import Vllm

PROVIDERS: dict[str, Provider] = {
    provider.name: provider for provider in (Rehearsal(), Endpoint(), Bedrock(), LiteLLM(), Vllm())
}
"""Every hosting path by the name a user types."""
