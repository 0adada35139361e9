"""The commands around long-lived services: self-hosted models, the LiteLLM proxy, the metrics collector."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from swetrials.cli.lean import LeanGroup

serve_app = typer.Typer(
    cls=LeanGroup, help="Serve a self-hosted model by vLLM.", no_args_is_help=True, rich_markup_mode=None
)
proxy_app = typer.Typer(
    cls=LeanGroup, help="The LiteLLM proxy to models on Bedrock.", no_args_is_help=True, rich_markup_mode=None
)
collect_app = typer.Typer(
    cls=LeanGroup, help="Collect a server's metrics.", no_args_is_help=True, rich_markup_mode=None
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Go on with a window between 64,000 and 200,000 tokens.")]
Host = Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 lets other machines in.")]
Wait = Annotated[float, typer.Option(min=1, help="How long it may take to be ready, downloads included.")]
Folder = Annotated[Path | None, typer.Option(help="Where the database is; default: beside the results.")]
Model = Annotated[str | None, typer.Option(help="For the archive's name; default: what `serve` has started.")]
Scope = Annotated[str | None, typer.Option(help="For the archive's name: the results' scope.")]

_READY_SECONDS = 5400.0
# A first start downloads up to a terabyte of weights and compiles for an hour.


@serve_app.command("start", epilog="Example: swetrials serve start qwen3-coder-30b")
def serve_start(
    model: Annotated[str, typer.Argument(help="Served name, see `swetrials serve catalogue`.")],
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen.")] = 8000,
    yes: Yes = False,
    timeout_seconds: Wait = _READY_SECONDS,
) -> None:
    """Start vLLM with a model of config/models.yaml and wait until it answers."""
    from swetrials.cli import serving

    _leave(serving.start(model, host=host, port=port, yes=yes, timeout_seconds=timeout_seconds))


@serve_app.command("restart", epilog="Example: swetrials serve restart")
def serve_restart(
    model: Annotated[str | None, typer.Argument(help="Served name; default: what is served.")] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Where to listen; default: as before.")] = None,
    yes: Yes = False,
    timeout_seconds: Wait = _READY_SECONDS,
) -> None:
    """Stop the server and start it anew."""
    from swetrials.cli import serving

    _leave(serving.restart(model, host=host, port=port, yes=yes, timeout_seconds=timeout_seconds))


@serve_app.command("stop", epilog="Example: swetrials serve stop")
def serve_stop() -> None:
    """Stop the server."""
    from swetrials.cli import serving

    _leave(serving.stop())


@serve_app.command("status", epilog="Example: swetrials serve status --json")
def serve_status(as_json: AsJson = False) -> None:
    """Show what is served; exit code 1 when nothing is."""
    from swetrials.cli import serving

    _leave(serving.status(as_json=as_json))


@serve_app.command("catalogue", epilog="Example: swetrials serve catalogue")
def serve_catalogue(
    out: Annotated[Path | None, typer.Option(help="Write it as markdown into this file.")] = None,
) -> None:
    """List the models that can be served, and what hardware they fit."""
    from swetrials.cli import serving

    _leave(serving.catalogue(out))


@proxy_app.command("start", epilog="Example: swetrials proxy start --aws-region us-east-1")
def proxy_start(
    config: Annotated[Path | None, typer.Option(help="LiteLLM's configuration; default: the project's.")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 4000,
    aws_region: Annotated[str, typer.Option(help="Region of the models.")] = "us-east-1",
    timeout_seconds: Annotated[float, typer.Option(min=1, help="How long it may take to answer.")] = 120.0,
) -> None:
    """Install the proxy when it is missing, start it, and wait until it answers."""
    from swetrials.cli import proxy

    _leave(proxy.start(config, port, aws_region, timeout_seconds))


@proxy_app.command("install", epilog="Example: swetrials proxy install")
def proxy_install() -> None:
    """Install the proxy into an environment of its own below .tools; silent when it is there."""
    from swetrials.cli import proxy

    _leave(proxy.install())


@proxy_app.command("stop", epilog="Example: swetrials proxy stop")
def proxy_stop() -> None:
    """Stop the proxy."""
    from swetrials.cli import proxy

    _leave(proxy.stop())


@proxy_app.command("status", epilog="Example: swetrials proxy status --json")
def proxy_status(as_json: AsJson = False) -> None:
    """Show what is known of the proxy; exit code 1 when it does not run."""
    from swetrials.cli import proxy

    _leave(proxy.status(as_json=as_json))


@collect_app.command("start", epilog="Example: swetrials collect start --scope quickstart")
def collect_start(
    endpoint: Annotated[str | None, typer.Option(help="Server; default: what `serve` has started.")] = None,
    interval_seconds: Annotated[float, typer.Option(min=0.1, help="Between two scrapes.")] = 1.0,
    model: Model = None,
    scope: Scope = None,
    folder: Folder = None,
) -> None:
    """Start scraping /metrics, and nvidia-smi where there is one, into DuckDB."""
    from swetrials.cli import collecting

    _leave(collecting.start(endpoint, interval_seconds=interval_seconds, model=model, scope=scope, folder=folder))


@collect_app.command("stop", epilog="Example: swetrials collect stop")
def collect_stop() -> None:
    """Stop the collector once it has written what it has."""
    from swetrials.cli import collecting

    _leave(collecting.stop())


@collect_app.command("status", epilog="Example: swetrials collect status")
def collect_status(folder: Folder = None, as_json: AsJson = False) -> None:
    """Show what is being collected; exit code 1 when no collector runs."""
    from swetrials.cli import collecting

    _leave(collecting.status(folder, as_json=as_json))


@collect_app.command("archive", epilog="Example: swetrials collect archive --scope quickstart")
def collect_archive(
    folder: Folder = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the archive.")] = None,
    model: Model = None,
    scope: Scope = None,
) -> None:
    """Write all that was collected into one file named by model, scope and time."""
    from swetrials.cli import collecting

    _leave(collecting.archive(folder, out=out, model=model, scope=scope))


def _leave(code: int) -> NoReturn:
    raise typer.Exit(code)
