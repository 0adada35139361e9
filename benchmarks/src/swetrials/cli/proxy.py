"""``proxy``: the LiteLLM proxy for open-weight models on Bedrock."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import command_group, leave
from swetrials.cli.options import AsJson

if TYPE_CHECKING:
    from swetrials.hosting.litellm import server as litellm
    from swetrials.hosting.process import Service, Waiting

app = command_group("The LiteLLM proxy to models on Bedrock.")

NOT_RUNNING = 1
_SECONDS_BETWEEN_LINES = 5
_READY_SECONDS = 120.0


@app.command("start", epilog="Example: swetrials proxy start --aws-region us-east-1")
def proxy_start(
    config: Annotated[Path | None, typer.Option(help="LiteLLM's configuration; default: the project's.")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 4000,
    aws_region: Annotated[str, typer.Option(help="Region of the models.")] = "us-east-1",
    timeout_seconds: Annotated[float, typer.Option(min=1, help="How long it may take to answer.")] = _READY_SECONDS,
) -> None:
    """Install the proxy when it is missing, start it, and wait until it answers."""
    leave(start(config, port, aws_region, timeout_seconds))


@app.command("install", epilog="Example: swetrials proxy install")
def proxy_install() -> None:
    """Install the proxy into an environment of its own below .tools; silent when it is there."""
    leave(install())


@app.command("stop", epilog="Example: swetrials proxy stop")
def proxy_stop() -> None:
    """Stop the proxy."""
    leave(stop())


@app.command("status", epilog="Example: swetrials proxy status --json")
def proxy_status(as_json: AsJson = False) -> None:
    """Show what is known of the proxy; exit code 1 when it does not run."""
    leave(status(as_json=as_json))


def start(config: Path | None, port: int, region: str, timeout_seconds: float = _READY_SECONDS) -> int:
    """Install the proxy when it is missing, start it and say how to use it. One that runs already is left alone.

    Exit code 1 when that one has other settings.

    Args:
        config: LiteLLM's configuration; ``None`` for the one that comes with the project.
        port: on loopback.
        region: AWS region of the models.
        timeout_seconds: how long it may take to answer.
    """
    from swetrials.hosting.litellm import install as litellm_install
    from swetrials.hosting.litellm import server as litellm
    from swetrials.store.project import find_project

    project = find_project()
    chosen = config or project.config / "litellm-mantle.yaml"
    if running := litellm.status(_folder(), datetime.now(UTC)):
        service = running.service
        same = (str(chosen.resolve()), port, region) == (service.notes["config"], service.port, service.notes["region"])
        print("it is running already" + ("" if same else ", with other settings: swetrials proxy stop"))
        return _show(running) if same else _show(running) or 1
    program = litellm_install.install(project, _say)
    _say(f"starting the LiteLLM proxy on 127.0.0.1:{port}")
    service = litellm.start(
        _folder(), program, chosen, port=port, region=region, timeout_seconds=timeout_seconds, on_progress=_Progress()
    )
    print(f"LiteLLM proxy on {service.base_url} (pid {service.pid}, log {service.log})")
    _print_token(service)
    print(f"try it: swetrials doctor --provider litellm{_endpoint(port)} --model zai.glm-5")
    return 0


def install() -> int:
    """Install the proxy when it is missing."""
    from swetrials.hosting.litellm import install as litellm_install
    from swetrials.store.project import find_project

    litellm_install.install(find_project(), _say)
    return 0


def stop() -> int:
    """Stop the proxy, and say so."""
    from swetrials.hosting.litellm import server as litellm

    stopped = litellm.stop(_folder())
    if stopped is None:
        print("the LiteLLM proxy is not running")
        return 0
    print(f"the LiteLLM proxy is stopped: {stopped.told}")
    return 0


def status(*, as_json: bool) -> int:
    """Print what is known of the proxy. Exit code 1 when it is not running or does not answer."""
    from swetrials.hosting.litellm import server as litellm

    found = litellm.status(_folder(), datetime.now(UTC))
    if as_json:
        print(json.dumps(_described(found), indent=2))
        return 0 if found and found.healthy else NOT_RUNNING
    if found is None:
        print("the LiteLLM proxy is not running: swetrials proxy start")
        return NOT_RUNNING
    return _show(found)


def _folder() -> Path:
    from swetrials.store.project import find_project

    return find_project().tools / "run"


def _show(found: litellm.Status) -> int:
    service = found.service
    print(f"LiteLLM proxy on {service.base_url}: {'answers' if found.healthy else 'does not answer'}")
    print(f"  pid {service.pid}, up {_age(service.age_seconds)}, log {service.log}")
    print(f"  config {service.notes['config']}, region {service.notes['region']}")
    _print_token(service)
    if found.warning:
        print(f"  warning: {found.warning}")
    return 0 if found.healthy else NOT_RUNNING


def _print_token(service: Service) -> None:
    from swetrials.hosting.litellm import server as litellm

    if (since := litellm.token_since(service)) is not None:
        age = _age((datetime.now(UTC) - since).total_seconds())
        print(f"  token {service.notes['token']} {age} ago, good for 12 h at most")


def _described(found: litellm.Status | None) -> dict[str, object]:
    if found is None:
        return {"running": False}
    service = found.service.model_dump(mode="json", exclude={"mark", "name", "started_seconds"})
    return {"running": True, "healthy": found.healthy, "warning": found.warning, **service}


def _age(seconds: float) -> str:
    hours, minutes = divmod(int(seconds) // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _endpoint(port: int) -> str:
    from swetrials.hosting.litellm import server as litellm

    return "" if port == litellm.DEFAULT_PORT else f" --endpoint http://127.0.0.1:{port}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Progress:
    """Prints a line every few seconds while the proxy starts."""

    def __init__(self) -> None:
        self._next = _SECONDS_BETWEEN_LINES

    def __call__(self, waiting: Waiting) -> None:
        if waiting.elapsed_seconds >= self._next:
            self._next += _SECONDS_BETWEEN_LINES
            _say(f"  {waiting.elapsed_seconds:.0f} s {waiting.last_line[:100]}".rstrip())
