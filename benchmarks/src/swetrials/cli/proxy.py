"""``proxy start|stop|status``: the LiteLLM proxy for open-weight models on Bedrock."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from swetrials.hosting.litellm import install as litellm_install
from swetrials.hosting.litellm import server as litellm
from swetrials.hosting.process import Service, Waiting
from swetrials.store.project import find_project

NOT_RUNNING = 1
_SECONDS_BETWEEN_LINES = 5


def start(config: Path | None, port: int, region: str, timeout_seconds: float = litellm.READY_SECONDS) -> int:
    """Install the proxy when it is missing, start it and say how to use it. One that runs already is left alone.

    Exit code 1 when that one has other settings.

    Args:
        config: LiteLLM's configuration; ``None`` for the one that comes with the project.
        port: on loopback.
        region: AWS region of the models.
        timeout_seconds: how long it may take to answer.
    """
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
    litellm_install.install(find_project(), _say)
    return 0


def stop() -> int:
    """Stop the proxy, and say so."""
    stopped = litellm.stop(_folder())
    if stopped is None:
        print("the LiteLLM proxy is not running")
        return 0
    how = {"gone": "it had ended already", "drained": "it ended in good order", "killed": "it had to be killed"}
    print(f"the LiteLLM proxy is stopped: {how[stopped.how]}")
    return 0


def status(*, as_json: bool) -> int:
    """Print what is known of the proxy. Exit code 1 when it is not running or does not answer."""
    found = litellm.status(_folder(), datetime.now(UTC))
    if as_json:
        print(json.dumps(_described(found), indent=2))
        return 0 if found and found.healthy else NOT_RUNNING
    if found is None:
        print("the LiteLLM proxy is not running: swetrials proxy start")
        return NOT_RUNNING
    return _show(found)


def _folder() -> Path:
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
