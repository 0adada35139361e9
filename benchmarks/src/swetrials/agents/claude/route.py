"""The variables that take Claude Code 2.1 to its route and keep it there, and those that fit it to the window."""

from swetrials.agents.base import Job
from swetrials.records.config import RunnerConfig
from swetrials.wire.route import Route

AWS_SECRETS = ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Variables with credentials of AWS: for the process alone, never for a file."""

_REQUEST_TIMEOUT_MS = 600_000
# Claude Code's own default for one API request; stated so that a subject repository cannot change it.

_DEFAULT_OUTPUT_TOKENS = 32_000
# What Claude Code asks for where it does not know the model.
_OUTPUT_SHARE = 6
_SMALLEST_COMPACT_WINDOW = 100_000
_LARGEST_SUMMARY_TOKENS = 20_000


def route_environment(job: Job) -> dict[str, str]:
    """Return the variables of a job's route, window and limits."""
    route = job.route
    way = _bedrock_route(route) if speaks_bedrock(route) else _anthropic_route(route)
    return {
        **way,
        "ANTHROPIC_MODEL": route.model,
        # Background and subagent calls must reach the measured model too, never a vendor default.
        "ANTHROPIC_SMALL_FAST_MODEL": route.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": route.model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": route.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": route.model,
        "CLAUDE_CODE_SUBAGENT_MODEL": route.model,
        "API_TIMEOUT_MS": str(_REQUEST_TIMEOUT_MS),
        # Ranks above the settings and the flag, and holds for subagents too (Claude Code 2.1).
        **({"CLAUDE_CODE_EFFORT_LEVEL": route.effort} if route.effort is not None else {}),
        **_window(route.context_window or job.config.context_window, job.config),
    }


def speaks_bedrock(route: Route) -> bool:
    """Whether a route is taken in Bedrock's own dialect; one that knows Anthropic Messages as well is not."""
    return "bedrock" in route.dialects and "anthropic" not in route.dialects


def _anthropic_route(route: Route) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": route.base_url,
        "ANTHROPIC_API_KEY": route.api_key.get_secret_value(),
        "CLAUDE_CODE_USE_BEDROCK": "0",
    }


def _bedrock_route(route: Route) -> dict[str, str]:
    """Return the way to Bedrock: with a bearer token, with keys to sign with, or with neither.

    Claude Code sends a ``[1m]`` hint as a beta flag and not in the path, and asks the same base URL for
    ``/inference-profiles``. With credentials it also looks at other models, with requests for one token.
    """
    environment = {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "ANTHROPIC_BEDROCK_BASE_URL": route.base_url,
        "AWS_REGION": route.region or "",
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "0",
        # Empty, since a subject repository may set them and Claude Code would take what is there.
        **dict.fromkeys((*AWS_SECRETS, "AWS_PROFILE"), ""),
    }
    if token := route.api_key.get_secret_value():
        environment["AWS_BEARER_TOKEN_BEDROCK"] = token
    elif route.aws is not None:
        environment["AWS_ACCESS_KEY_ID"] = route.aws.access_key
        environment["AWS_SECRET_ACCESS_KEY"] = route.aws.secret_key.get_secret_value()
        if route.aws.session_token is not None:
            environment["AWS_SESSION_TOKEN"] = route.aws.session_token.get_secret_value()
    else:
        environment["CLAUDE_CODE_SKIP_BEDROCK_AUTH"] = "1"
    return environment


def _window(window: int | None, config: RunnerConfig) -> dict[str, str]:
    """Return the limits that keep a conversation inside a window of so many tokens.

    A conversation is to be compacted when its prompt exceeds ``window * auto_compact_fraction - reserve``. The
    reserve is what a response may have: ``max_output_tokens``, else a sixth of the window and at most the 32,000
    that Claude Code asks for itself, so that prompt and response together fit a small window too.

    How Claude Code 2.1.332 comes to its own threshold was found by letting conversations grow against the rehearsal
    server: ``CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`` percent of (``CLAUDE_CODE_AUTO_COMPACT_WINDOW`` less the tokens of the
    summary), and never more than that window less summary and 13,000. The summary has
    ``CLAUDE_CODE_MAX_OUTPUT_TOKENS``, at most 20,000. A window below 100,000 counts as 100,000 and the percentage may
    have decimals, so windows of 64k and 32k are reached through the percentage: 64,000 compacts at 40,500 and 32,000
    at 20,300, with the fraction at 0.8. Without any of this a model that Claude Code does not know is taken to hold
    a million tokens.
    """
    limit = config.max_output_tokens
    if window is None:
        return {} if limit is None else {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(limit)}
    reserve = limit or min(_DEFAULT_OUTPUT_TOKENS, window // _OUTPUT_SHARE)
    compact_window = max(window, _SMALLEST_COMPACT_WINDOW)
    threshold = window * config.auto_compact_fraction - reserve
    percentage = 100 * threshold / (compact_window - min(reserve, _LARGEST_SUMMARY_TOKENS))
    return {
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(reserve),
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(compact_window),
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": f"{min(100.0, max(1.0, percentage)):.3f}",
    }
