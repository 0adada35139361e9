"""The description of a route that pi and its fork omp read: a provider of our own with one model."""

from swetrials.agents.base import Job
from swetrials.agents.window import Window
from swetrials.records.slug import without_hint
from swetrials.wire.route import Dialect, Route

_PROVIDER, _AWS_PROVIDER = "swetrials", "amazon-bedrock"
# On Bedrock it is their own provider that is redirected: by its name omp knows which models cache prompts.

KEY_VARIABLE = "SWETRIALS_ROUTE_KEY"
"""The variable that holds the route's key; the description names it in place of the key."""

_NO_KEY, _AWS_KEY = "none", "<authenticated>"
# Both agents refuse a provider without a key, also where the endpoint wants none. The second is omp's own word for
# credentials that AWS's variables hold; it would send any other as the bearer token.

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai-chat", "openai-responses", "bedrock")
"""What both agents speak, the preferred first: Anthropic Messages tells cache writes apart and needs no AWS."""

_APIS: dict[Dialect, tuple[str, str]] = {
    "anthropic": ("anthropic-messages", ""),
    "openai-chat": ("openai-completions", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
    "bedrock": ("bedrock-converse-stream", ""),
}
# Their name of each dialect, and what they want to find at the end of the base URL.


def provider_name(job: Job) -> str:
    """Return the name under which the route stands among the agents' own providers."""
    return _AWS_PROVIDER if _spoken(job) == "bedrock" else _PROVIDER


def model_name(job: Job) -> str:
    """Return the model's id as the endpoint knows it."""
    return without_hint(job.route.model)


def provider_description(job: Job) -> dict[str, object]:
    """Return a route as one entry of ``providers`` in ``models.json`` (pi) and ``models.yml`` (omp).

    The window and the longest response are told where they are known; both agents take them for what the endpoint
    holds, and know no way to ask it. Cost is left out, and is then 0 in what they print.
    """
    api, path = _APIS[_spoken(job)]
    model: dict[str, object] = {"id": model_name(job)}
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
    """Return the variables that both agents take the credentials from."""
    if _spoken(job) == "bedrock":
        return {KEY_VARIABLE: _AWS_KEY, **_aws_environment(job.route)}
    return {KEY_VARIABLE: job.route.api_key.get_secret_value() or _NO_KEY}


def _spoken(job: Job) -> Dialect:
    return next((dialect for dialect in DIALECTS if dialect in job.route.dialects), DIALECTS[0])


def _aws_environment(route: Route) -> dict[str, str]:
    # Without the second variable pi speaks HTTP/2, which neither a gateway nor the meter need understand.
    environment = {"AWS_REGION": route.region or "", "AWS_BEDROCK_FORCE_HTTP1": "1"}
    if token := route.api_key.get_secret_value():
        return {**environment, "AWS_BEARER_TOKEN_BEDROCK": token}
    if route.aws is None:
        return {**environment, "AWS_BEDROCK_SKIP_AUTH": "1"}
    environment["AWS_ACCESS_KEY_ID"] = route.aws.access_key
    environment["AWS_SECRET_ACCESS_KEY"] = route.aws.secret_key.get_secret_value()
    if route.aws.session_token is not None:
        environment["AWS_SESSION_TOKEN"] = route.aws.session_token.get_secret_value()
    return environment
