"""How a codex judge reaches its model: a way of its own, apart from the candidate's."""

import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import SecretStr

from swetrials.agents.codex.config import CONFIG_FILE, KEY_VARIABLE, bedrock_config, endpoint_config
from swetrials.agents.jsonl import mapping

_PERSONAL_VARIABLES = frozenset({"CODEX_HOME", "HOME", "CODEX_API_KEY", "OPENAI_API_KEY"})
_PROXIES = frozenset({"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"})
_AWS_PREFIX = "AWS_"
_LOOK_SECONDS = 5.0
_OTHER_WAYS = frozenset({"openai_base_url", "chatgpt_base_url", "profile"})
_MACHINES_CODEX = Path("/etc/codex")


class JudgeRoute(Protocol):
    """A way to the judge's model."""

    @property
    def provider(self) -> str:
        """The name that records carry."""

    @property
    def remedy(self) -> str:
        """What a person can do when a call by this route fails."""

    def config(self) -> str | None:
        """Return the ``config.toml`` of a private ``CODEX_HOME``; ``None`` to use the person's own."""

    def environment(self) -> Mapping[str, str]:
        """Return the variables that Codex needs for this route, on top of the allow-listed ones."""


@dataclass(frozen=True)
class PersonalRoute:
    """The Codex configuration and login that the person already has, found through their environment.

    What they tell every Codex of theirs holds for the judge, too: Codex 0.171 has no setting that leaves out an
    ``AGENTS.md`` in ``CODEX_HOME`` or an MCP server of the configuration.
    """

    invoker: Mapping[str, str] = field(repr=False)
    provider: str = "personal"
    remedy: str = "log in with `codex login`, or choose another --judge-provider"

    def config(self) -> str | None:
        """Return nothing: the person's own configuration stands."""
        return None

    def environment(self) -> Mapping[str, str]:
        """Return their homes, keys and proxies, and the variables that their configuration names."""
        wanted = _PERSONAL_VARIABLES | self._named_in_config()
        return {
            name: value
            for name, value in self.invoker.items()
            if name in wanted or name.upper() in _PROXIES or name.startswith(_AWS_PREFIX)
        }

    @property
    def needs_login(self) -> bool:
        """Whether Codex can reach its model by the person's login alone, as far as can be told without asking anybody.

        Codex 0.171 ``exec`` takes ``CODEX_API_KEY`` in place of a login; ``OPENAI_API_KEY`` does not count for it.
        Another provider, or another address of OpenAI's, may want none; so may what the machine's own
        configuration in ``/etc/codex`` sets up.
        """
        config = self._config()
        told = config.keys() & _OTHER_WAYS or config.get("model_provider", "openai") != "openai"
        return not (told or self.invoker.get("CODEX_API_KEY") or _MACHINES_CODEX.exists())

    def _config(self) -> Mapping[str, object]:
        folder = self.invoker.get("CODEX_HOME") or str(Path(self.invoker.get("HOME", "~")) / ".codex")
        try:
            return tomllib.loads((Path(folder) / CONFIG_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # Codex itself says what is wrong with its configuration, when the route is proved.
            return {}

    def _named_in_config(self) -> set[str]:
        config = self._config()
        blocks = [mapping(block) for block in mapping(config.get("model_providers")).values()]
        keys = [block.get("env_key") for block in blocks]
        headers = [name for block in blocks for name in mapping(block.get("env_http_headers")).values()]
        return {name for name in (*keys, *headers) if isinstance(name, str)}


@dataclass(frozen=True)
class BedrockRoute:
    """Codex's own Bedrock provider, with the AWS credentials and the proxies of the invoker's environment.

    Codex 0.171 asks ``https://bedrock-mantle.<region>.api.aws/openai/v1/responses`` and signs for ``bedrock-mantle``.
    It takes no other address for it, but goes by ``HTTPS_PROXY`` and trusts ``SSL_CERT_FILE``. A provider of our own
    in place of this one would cost what Codex knows of Bedrock's models: their tools, instructions and windows.
    """

    region: str
    invoker: Mapping[str, str] = field(repr=False)
    provider: str = "bedrock"

    @property
    def remedy(self) -> str:
        """What a person can do when a call by this route fails."""
        return f"check the AWS credentials, and that Bedrock serves the model in {self.region}"

    def config(self) -> str | None:
        """Return a configuration for the region."""
        return bedrock_config(self.region)

    def environment(self) -> Mapping[str, str]:
        """Return the AWS variables and proxies; the files of ``~/.aws`` are named, for the private home hides them."""
        own = {
            name: value
            for name, value in self.invoker.items()
            if name.startswith(_AWS_PREFIX) or name.upper() in _PROXIES
        }
        folder = Path(self.invoker.get("HOME", "~")) / ".aws"
        files = {
            "AWS_CONFIG_FILE": str(folder / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        }
        return files | own | {"AWS_REGION": self.region}


@dataclass(frozen=True)
class EndpointRoute:
    """An endpoint that speaks the Responses dialect; ``provider`` tells the rehearsal server from others."""

    base_url: str
    api_key: SecretStr
    provider: str = "endpoint"

    @property
    def remedy(self) -> str:
        """What a person can do when a call by this route fails."""
        return f"check the key, and that {self.base_url} serves the model by /v1/responses"

    def config(self) -> str | None:
        """Return a configuration for the endpoint."""
        return endpoint_config(self.base_url)

    def environment(self) -> Mapping[str, str]:
        """Return the key under the name that the configuration expects."""
        return {KEY_VARIABLE: self.api_key.get_secret_value()}


def refuses(base_url: str) -> bool:
    """Whether nothing listens at an address; ``False`` wherever a look at it from here cannot tell."""
    address = urlsplit(base_url)
    host = address.hostname or ""
    if getproxies().get(address.scheme) and not proxy_bypass(host):
        return False
    try:
        with socket.create_connection(
            (host, address.port or (443 if address.scheme == "https" else 80)), _LOOK_SECONDS
        ):
            return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
