"""Where models are hosted: one file per hosting path."""

from swetrials.hosting.base import Provider
from swetrials.hosting.bedrock import Bedrock
from swetrials.hosting.endpoint import Endpoint
from swetrials.hosting.litellm.provider import LiteLLM
from swetrials.hosting.rehearsal import Rehearsal
from swetrials.hosting.vllm.provider import Vllm
from swetrials.plugins import Family

PROVIDERS: Family[Provider] = Family(
    "provider",
    {provider.name: provider for provider in (Rehearsal(), Endpoint(), Bedrock(), LiteLLM(), Vllm())},
    Provider,
    made_by_call=False,
)
"""Every hosting path by the name a user types."""
