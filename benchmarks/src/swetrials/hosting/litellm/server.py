"""The LiteLLM proxy as a service of our own: it gives Bedrock's open-weight models the dialects that agents speak.

It listens on loopback and asks for no key, unless ``LITELLM_MASTER_KEY`` is set where it is started: so there is no
key to keep, and whoever can log in to this machine can use it while it runs. Facts it rests on (LiteLLM 1.108):

- Without a master key it starts only when told that this is meant.
- It loads any ``.env`` between its package and the root of the disk, unless ``LITELLM_MODE`` is ``PRODUCTION``; and
  a ``DATABASE_URL`` in its environment is a database that it migrates and uses.
- ``/health/liveliness`` (its spelling) answers once it serves; it wants no key and calls no model.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx

from swetrials.hosting import bearer, process
from swetrials.hosting.litellm.provider import MASTER_KEY_VARIABLE
from swetrials.hosting.process import HOST, Service, ServiceError, Stopped, Waiting
from swetrials.store.yaml_source import read_yaml
from swetrials.wire.connecting import connection
from swetrials.workspace.variables import allowed_environment

NAME = "litellm"
DEFAULT_PORT = 4000
DEFAULT_REGION = "us-east-1"

BASE_VARIABLE = "MANTLE_API_BASE"
"""Environment variable for the base URL of Bedrock's OpenAI-compatible endpoint; by default that of the region."""

READY_SECONDS = 120.0
"""Time that a proxy is given to answer, unless told otherwise."""
_ANSWER_SECONDS = 5.0
_REFERENCE = re.compile(r"os\.environ/(\w+)")


@dataclass(frozen=True)
class Status:
    """What can be told of the running proxy.

    Attributes:
        service: what was started.
        healthy: it answers.
        warning: what to do about its token; empty when there is nothing.
    """

    service: Service
    healthy: bool
    warning: str


def start(
    folder: Path,
    program: Path,
    config: Path,
    *,
    port: int = DEFAULT_PORT,
    region: str = DEFAULT_REGION,
    timeout_seconds: float = READY_SECONDS,
    environment: Mapping[str, str] = os.environ,
    on_progress: Callable[[Waiting], None] = lambda _: None,
) -> Service:
    """Start the proxy and wait until it serves.

    Of ``environment`` the proxy gets what any program of ours gets, the master key, and the variables that the
    configuration names as ``os.environ/NAME``. A token for Bedrock is obtained when it names that one.

    Args:
        folder: for state, log and the proxy's own home.
        program: the proxy's program.
        config: LiteLLM's configuration.
        port: where to listen on loopback.
        region: AWS region of the models.
        timeout_seconds: how long it may take to answer.
        environment: the user's.
        on_progress: told while the proxy starts.

    Raises:
        DocumentError: the configuration is no YAML.
        ServiceError: it runs already, the port is taken, a variable is not set, or it does not start.
    """
    named = _variables(config)
    own = {BASE_VARIABLE: environment.get(BASE_VARIABLE) or f"https://bedrock-mantle.{region}.api.aws/v1"}
    notes = {"config": str(config.resolve()), "region": region}
    if bearer.KEY_VARIABLE in named:
        obtained = bearer.obtain(region, environment)
        own[bearer.KEY_VARIABLE] = obtained.token.get_secret_value()
        notes |= {"token": obtained.source, "token_since": obtained.since.isoformat()}
    given = _given(config, named - own.keys(), environment)
    home = folder / f"{NAME}-home"
    home.mkdir(parents=True, exist_ok=True)
    service = process.start(
        folder,
        NAME,
        _argv(program, config, port),
        environment=allowed_environment(home, home, {**given, **own, **_settings(environment)}, environment),
        cwd=home,
        port=port,
        notes=notes,
    )
    try:
        process.wait_until_ready(
            service, lambda: _answers(service), timeout_seconds=timeout_seconds, on_progress=on_progress
        )
    except BaseException:
        process.stop(folder, NAME)
        raise
    return service


def status(folder: Path, now: datetime) -> Status | None:
    """Return what can be told of the proxy, or ``None`` when it is not running.

    Raises:
        ServiceError: its state file cannot be understood.
    """
    service = process.find(folder, NAME)
    if service is None:
        return None
    since = token_since(service)
    return Status(service, _answers(service), "" if since is None else bearer.warning(since, now))


def token_since(service: Service) -> datetime | None:
    """Return since when the proxy's token is known; ``None`` for a configuration that uses none."""
    since = service.notes.get("token_since")
    return None if since is None else datetime.fromisoformat(since)


def stop(folder: Path) -> Stopped | None:
    """Stop the proxy; ``None`` when none is known.

    Raises:
        ServiceError: it cannot be stopped.
    """
    return process.stop(folder, NAME)


def _argv(program: Path, config: Path, port: int) -> tuple[str, ...]:
    where = ("--host", HOST, "--port", str(port))
    return (str(program), "--config", str(config.resolve()), *where, "--telemetry", "False")


def _settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return how the proxy is to behave, as far as that is set by its environment."""
    settings = {
        "LITELLM_MODE": "PRODUCTION",
        # Its table of prices comes with the package; otherwise it is fetched from the network at each start.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        # Otherwise /v1/messages for an openai/... model goes to the backend's Responses API, which few models have.
        "LITELLM_USE_CHAT_COMPLETIONS_URL_FOR_ANTHROPIC_MESSAGES": "true",
    }
    if key := environment.get(MASTER_KEY_VARIABLE):
        return {**settings, MASTER_KEY_VARIABLE: key}
    return {**settings, "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}


def _variables(config: Path) -> set[str]:
    """Return the environment variables that a configuration names."""
    places = read_yaml(config).places.values()
    return {found[1] for place in places if place.text and (found := _REFERENCE.fullmatch(place.text))}


def _given(config: Path, named: set[str], environment: Mapping[str, str]) -> dict[str, str]:
    if missing := sorted(name for name in named if not environment.get(name)):
        raise ServiceError(f"{config}: names environment variables that are not set: {', '.join(missing)}")
    return {name: environment[name] for name in named}


def _answers(service: Service) -> bool:
    try:
        with httpx.Client(timeout=_ANSWER_SECONDS, **connection(service.base_url)) as client:
            return client.get(f"{service.base_url}/health/liveliness").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False
