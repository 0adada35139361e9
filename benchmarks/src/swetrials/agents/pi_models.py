"""The description of a route that pi and its fork omp read: a provider of our own with one model."""

from collections.abc import Sequence

from swetrials.agents.base import Job
from swetrials.agents.window import Window
from swetrials.wire.route import Dialect

PROVIDER = "swetrials"
"""The name under which the route stands among the agents' own providers."""

KEY_VARIABLE = "SWETRIALS_ROUTE_KEY"
"""The variable that holds the route's key; the description names it in place of the key."""

_NO_KEY = "none"
# Both agents refuse a provider without a key, also where the endpoint wants none.

_APIS: dict[Dialect, tuple[str, str]] = {
    "anthropic": ("anthropic-messages", ""),
    "openai-chat": ("openai-completions", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
}
# Their name of each dialect, and what they want to find at the end of the base URL.


def spoken(job: Job, preferred: Sequence[Dialect]) -> Dialect:
    """Return the first of an agent's dialects that the job's route speaks."""
    return next((dialect for dialect in preferred if dialect in job.route.dialects), preferred[0])


def provider_description(job: Job, dialect: Dialect) -> dict[str, object]:
    """Return a route as one entry of ``providers`` in ``models.json`` (pi) and ``models.yml`` (omp).

    The window and the longest response are told where they are known; both agents take them for what the endpoint
    holds, and know no way to ask it. Cost is left out, and is then 0 in what they print.
    """
    api, path = _APIS[dialect]
    model: dict[str, object] = {"id": job.route.model}
    if (window := Window.of(job.route, job.config)) is not None:
        model |= {"contextWindow": window.tokens, "maxTokens": window.output}
    elif job.config.max_output_tokens is not None:
        model["maxTokens"] = job.config.max_output_tokens
    return {
        "baseUrl": job.route.base_url.rstrip("/") + path,
        "api": api,
        "apiKey": KEY_VARIABLE,
        "models": [model],
    }


def key_environment(job: Job) -> dict[str, str]:
    """Return the variable that the description takes the key from."""
    return {KEY_VARIABLE: job.route.api_key.get_secret_value() or _NO_KEY}
