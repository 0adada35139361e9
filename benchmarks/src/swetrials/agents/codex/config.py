"""How Codex is configured and started: its private ``config.toml`` and its command line.

Facts it rests on (Codex 0.171):

- It never looks at ``OPENAI_BASE_URL``: an endpoint is a ``model_providers`` block in ``CODEX_HOME/config.toml``.
  Amazon Bedrock is a provider it knows by itself, given a region.
- It puts a helper program of its sandbox below ``CODEX_HOME``, and refuses to when that folder lies inside
  the folder for temporary files (``TMPDIR``, else ``/tmp``): then no command of the model can run.
"""

import json
from collections.abc import Sequence
from pathlib import Path

KEY_VARIABLE = "SWETRIALS_CODEX_KEY"
"""The variable in which a private configuration expects the endpoint's key."""

CONFIG_FILE = "config.toml"


def endpoint_config(base_url: str, *, request_retries: int = 4, stream_retries: int = 3) -> str:
    """Return the ``config.toml`` for an endpoint that speaks the Responses dialect.

    Args:
        base_url: the origin and path prefix below which ``/v1/responses`` is found, without ``/v1``.
        request_retries: times that a request is repeated silently.
        stream_retries: times that the response is asked for anew after that, each told in the stream.
    """
    return "\n".join(
        (
            'model_provider = "swetrials"',
            "",
            "[model_providers.swetrials]",
            'name = "swetrials"',
            f"base_url = {toml(base_url.rstrip('/') + '/v1')}",
            'wire_api = "responses"',
            f"env_key = {toml(KEY_VARIABLE)}",
            f"request_max_retries = {request_retries}",
            f"stream_max_retries = {stream_retries}",
            "",
        )
    )


def bedrock_config(region: str) -> str:
    """Return the ``config.toml`` for Codex's own Bedrock provider; AWS credentials come from the environment."""
    return "\n".join(
        (
            'model_provider = "amazon-bedrock"',
            "",
            "[model_providers.amazon-bedrock.aws]",
            f"region = {toml(region)}",
            "",
        )
    )


def exec_argv(
    binary: Path,
    *,
    model: str | None,
    sandbox: str,
    settings: Sequence[str] = (),
    profile: str | None = None,
    output_schema: Path | None = None,
) -> tuple[str, ...]:
    """Return the words that start ``codex exec`` with its prompt on standard input.

    Args:
        binary: the ``codex`` program.
        model: model id; ``None`` leaves the choice to the configuration.
        sandbox: Codex's own sandbox for the model's commands: ``read-only``, ``workspace-write`` or
            ``danger-full-access``.
        settings: ``key=value`` overrides of the configuration, values in TOML.
        profile: name of a ``<name>.config.toml`` beside the configuration that ranks above it.
        output_schema: JSON Schema that the endpoint is asked to hold the last message to.
    """
    options: list[str] = []
    if model is not None:
        options += ["--model", model]
    for setting in settings:
        options += ["-c", setting]
    if profile is not None:
        options += ["--profile", profile]
    if output_schema is not None:
        options += ["--output-schema", str(output_schema)]
    start = (str(binary), "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--sandbox", sandbox)
    return (*start, *options, "-")


def toml(value: str | Sequence[str]) -> str:
    """Return a text, or a list of them, as TOML."""
    # JSON's string literals are valid TOML basic strings, and its lists of them valid arrays.
    return json.dumps(value)
