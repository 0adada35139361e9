"""The way to one model, as agents, providers and the meter all understand it."""

from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

Dialect = Literal["anthropic", "bedrock", "openai-chat", "openai-responses"]
"""``anthropic``: POST /v1/messages. ``bedrock``: POST /model/{id}/invoke[-with-response-stream], Anthropic
bodies, and /model/{id}/converse[-stream].
``openai-chat``: POST /v1/chat/completions. ``openai-responses``: POST /v1/responses."""


@dataclass(frozen=True)
class AwsCredentials:
    """Keys to sign a request to AWS with (SigV4)."""

    access_key: str
    secret_key: SecretStr
    session_token: SecretStr | None = None


@dataclass(frozen=True)
class Route:
    """Everything that is needed to reach one model.

    ``base_url`` is the origin (and path prefix) below which the dialect's own paths start: without ``/v1``.
    ``api_key`` is empty where the endpoint wants none; on Bedrock it is the bearer token, and ``aws`` holds the
    keys to sign with instead. ``control_url`` is Bedrock's control plane, which agents ask for inference profiles;
    ``None`` where that is at ``base_url``, too. ``effort`` is the reasoning effort to ask for, where the model does not
    take what an agent asks for by itself.
    """

    dialects: frozenset[Dialect]
    base_url: str
    api_key: SecretStr
    model: str
    context_window: int | None = None
    region: str | None = None
    aws: AwsCredentials | None = None
    control_url: str | None = None
    effort: str | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be written anywhere."""
        aws = (self.aws.secret_key, self.aws.session_token) if self.aws is not None else ()
        return tuple(secret.get_secret_value() for secret in (self.api_key, *aws) if secret is not None)
