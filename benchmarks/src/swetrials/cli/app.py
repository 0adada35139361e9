"""The one command: its own switches, and the table of all others."""

import sys
from typing import Annotated

import typer

from swetrials import __version__
from swetrials.cli.lean import TableGroup
from swetrials.cli.table import SECTIONS


class _Root(TableGroup):
    sections = SECTIONS


app = typer.Typer(
    cls=_Root,
    name="swetrials",
    help="Benchmark coding agents and models on real repositories: quality, tokens, dollars, latency.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    if version:
        typer.echo(f"swetrials {__version__}")
        raise typer.Exit


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit.

    0: done, 1: done but not all, 2: bad usage, 3: pre-flight failed, 4: a task failed its check, 130: interrupted.
    """
    from swetrials.cli.errors import guarded

    sys.exit(guarded(app, sys.argv[1:] if argv is None else argv))
