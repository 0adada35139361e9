"""``serve``: one self-hosted model at a time, by vLLM on this machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.errors import PREFLIGHT
from swetrials.cli.lean import command_group, leave
from swetrials.cli.options import AsJson
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.hosting.process import Service, ServiceError, Waiting
    from swetrials.records.models import HostedModel, ModelRegistry, WindowVerdict
    from swetrials.store.redaction import Redactor

app = command_group("Serve a self-hosted model by vLLM.")

NOT_SERVING = 1
HOSTS = ("127.0.0.1", "0.0.0.0")
_SECONDS_BETWEEN_LINES = 10.0


Yes = Annotated[bool, typer.Option("--yes", help="Go on with a window between 64,000 and 200,000 tokens.")]


Host = Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in.")]


Wait = Annotated[float, typer.Option(min=1, help="How long it may take to be ready, downloads included.")]


_READY_SECONDS = 5400.0


@app.command("start", epilog="Example: swetrials serve start qwen3-coder-30b")
def serve_start(
    model: Annotated[str, typer.Argument(help="Served name, see `swetrials serve catalogue`.")],
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen.")] = 8000,
    yes: Yes = False,
    timeout_seconds: Wait = _READY_SECONDS,
) -> None:
    """Start vLLM with a model of config/models.yaml and wait until it answers."""
    leave(start(model, host=host, port=port, yes=yes, timeout_seconds=timeout_seconds))


@app.command("restart", epilog="Example: swetrials serve restart")
def serve_restart(
    model: Annotated[str | None, typer.Argument(help="Served name; default: what is served.")] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Where to listen; default: as before.")] = None,
    yes: Yes = False,
    timeout_seconds: Wait = _READY_SECONDS,
) -> None:
    """Stop the server and start it anew."""
    leave(restart(model, host=host, port=port, yes=yes, timeout_seconds=timeout_seconds))


@app.command("stop", epilog="Example: swetrials serve stop")
def serve_stop() -> None:
    """Stop the server."""
    leave(stop())


@app.command("status", epilog="Example: swetrials serve status --json")
def serve_status(as_json: AsJson = False) -> None:
    """Show what is served; exit code 1 when nothing is."""
    leave(status(as_json=as_json))


@app.command("catalogue", epilog="Example: swetrials serve catalogue")
def serve_catalogue(
    out: Annotated[Path | None, typer.Option(help="Write it as markdown into this file.")] = None,
) -> None:
    """List the models that can be served, and what hardware they fit."""
    leave(catalogue(out))


def start(name: str, *, host: str, port: int, yes: bool, timeout_seconds: float) -> int:
    """Serve a model of the registry, whatever was served before, and wait until it answers.

    Args:
        name: its served name.
        host: where to listen; ``0.0.0.0`` lets other machines in.
        port: where to listen.
        yes: go on with a window between 64,000 and 200,000 tokens without asking.
        timeout_seconds: how long the server may take to be ready, its first download included.

    Raises:
        UsageError: the registry has no such model, or the host is another.
        ServeError: vLLM is missing or too old, or there are too few GPUs; nothing was started.
        TokenError: the Hugging Face token's file cannot be used.
        ServiceError: the server did not come up.
    """
    from swetrials.hosting.process import ServiceError
    from swetrials.hosting.vllm import server as vllm
    from swetrials.hosting.vllm.gpus import find_gpus
    from swetrials.hosting.vllm.huggingface import WITHOUT_TOKEN, find_token
    from swetrials.records.models import window_verdict
    from swetrials.results.report.wording import seconds
    from swetrials.store.project import find_project
    from swetrials.store.redaction import Redactor

    if host not in HOSTS:
        raise UsageError(f"--host: {host!r} is not one of {', '.join(HOSTS)}")
    project, registry = find_project(), _registry()
    model = _model(registry, name)
    token = find_token(os.environ, project.root)
    redactor = Redactor.from_environment(os.environ, [token.value.get_secret_value()] if token else [])
    planned = vllm.plan(registry, model, vllm.find_vllm(project.tools), find_gpus(), host=host, port=port)
    _say(f"Hugging Face token: {token.source}" if token else f"warning: {WITHOUT_TOKEN}")
    for remark in planned.remarks:
        _say(f"warning: {remark}")
    if not _agreed(window_verdict(planned.window), yes=yes):
        return PREFLIGHT
    _say(f"starting: {' '.join(planned.command)}")
    service = vllm.start(_folder(), planned, vllm.server_environment(os.environ, planned, token))
    try:
        served = vllm.wait(service, timeout_seconds, _Progress(redactor))
    except ServiceError as error:
        raise ServiceError(redactor.text(_with_ending(service, error))) from None
    print(f"{served.id} on {service.base_url}, ready after {seconds(service.age_seconds)}, log {service.log}")
    found = window_verdict(served.max_model_len)
    print(f"window: {found.verdict}: {found.reason}")
    endpoint = "" if port == vllm.DEFAULT_PORT else f" --endpoint {service.base_url}"
    print(f"next: swetrials doctor --provider vllm{endpoint} --model {served.id}")
    return PREFLIGHT if found.verdict == "refuse" else 0


def restart(name: str | None, *, host: str, port: int | None, yes: bool, timeout_seconds: float) -> int:
    """Stop the server and start it anew, with the model and on the port it had unless others are given.

    Raises:
        UsageError: no model is named and none is served.
        ServeError: as with :func:`start`.
        TokenError: as with :func:`start`.
        ServiceError: as with :func:`start`.
    """
    from swetrials.hosting import process
    from swetrials.hosting.vllm import server as vllm

    running = process.find(_folder(), vllm.SERVICE)
    wanted = name or (running.notes["model"] if running else None)
    if wanted is None:
        raise UsageError("nothing is served that could be restarted; name a model: swetrials serve restart MODEL")
    chosen = port or (running.port if running else None) or vllm.DEFAULT_PORT
    return start(wanted, host=host, port=chosen, yes=yes, timeout_seconds=timeout_seconds)


def stop() -> int:
    """Stop the server, and say so."""
    from swetrials.hosting import process
    from swetrials.hosting.vllm import server as vllm

    stopped = process.stop(_folder(), vllm.SERVICE)
    if stopped is None:
        print("nothing is served")
        return 0
    print(f"{stopped.service.notes['model']} is no longer served: {stopped.told}")
    return 0


def status(*, as_json: bool) -> int:
    """Print what is served. Exit code 1 when nothing is, or when it does not answer."""
    from swetrials.hosting import process
    from swetrials.hosting.vllm import server as vllm
    from swetrials.records.models import window_verdict
    from swetrials.results.report.wording import seconds

    service = process.find(_folder(), vllm.SERVICE)
    served = vllm.served(service) if service else None
    if as_json:
        print(json.dumps(_described(service, served.max_model_len if served else None, ready=served is not None)))
    elif service is None:
        print("nothing is served: swetrials serve start MODEL")
    else:
        state = "ready" if served else "does not answer (yet)"
        print(f"{service.notes['model']} on {service.base_url}: {state}")
        print(f"  pid {service.pid}, up {seconds(service.age_seconds)}, log {service.log}")
        if served:
            found = window_verdict(served.max_model_len)
            print(f"  window: {found.verdict}: {found.reason}")
    return 0 if served else NOT_SERVING


def catalogue(out: Path | None) -> int:
    """Print the models that can be served, or write the whole catalogue as markdown."""
    from swetrials.results.report.model_catalogue import catalogue_markdown, catalogue_text
    from swetrials.store.files import write_atomically

    registry = _registry()
    if out is None:
        print(catalogue_text(registry))
    else:
        write_atomically(out, catalogue_markdown(registry))
    return 0


def _registry() -> ModelRegistry:
    from swetrials.records.models import ModelRegistry
    from swetrials.store.documents import load_document
    from swetrials.store.project import find_project

    return load_document(find_project().config / "models.yaml", ModelRegistry)


def _model(registry: ModelRegistry, name: str) -> HostedModel:
    from swetrials.store.validation import did_you_mean

    model = registry.model(name)
    if model is None:
        hint = did_you_mean(name, [known.served_name for known in registry.models])
        raise UsageError(f"{name!r} is not in config/models.yaml{hint}; swetrials serve catalogue lists what is")
    return model


def _folder() -> Path:
    from swetrials.hosting.vllm.served_here import SERVICES_FOLDER
    from swetrials.store.project import find_project

    return find_project().tools / SERVICES_FOLDER


def _agreed(found: WindowVerdict, *, yes: bool) -> bool:
    if found.verdict == "go" or (found.verdict == "ask" and yes):
        return True
    _say(f"window: {found.reason}")
    if found.verdict == "refuse":
        _say("refused: use more or larger GPUs (docs/models.md)")
        return False
    if sys.stdin.isatty():
        return typer.confirm("serve it all the same?", err=True)
    _say("add --yes to serve it all the same")
    return False


def _with_ending(service: Service, error: ServiceError) -> str:
    from swetrials.hosting import process
    from swetrials.hosting.vllm import server as vllm

    if process.running(service):
        return f"{error}\nit goes on in the background: swetrials serve status, swetrials serve stop"
    process.stop(_folder(), vllm.SERVICE)
    return str(error)


def _described(service: Service | None, window: int | None, *, ready: bool) -> dict[str, object]:
    from swetrials.records.models import window_verdict

    if service is None:
        return {"running": False, "ready": False}
    known = service.model_dump(mode="json", exclude={"mark", "name", "started_seconds", "notes"})
    found = window_verdict(window).model_dump() if ready else None
    details = {"model": service.notes["model"], "max_model_len": window, "window": found, "base_url": service.base_url}
    return {"running": True, "ready": ready, **details, **known}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Progress:
    """Says every few seconds how far the server has come."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._next_seconds = _SECONDS_BETWEEN_LINES

    def __call__(self, waiting: Waiting) -> None:
        from swetrials.results.report.wording import seconds

        if waiting.elapsed_seconds >= self._next_seconds:
            self._next_seconds += _SECONDS_BETWEEN_LINES
            _say(f"  {seconds(waiting.elapsed_seconds)}: {self._redactor.text(waiting.last_line)[:140]}")
