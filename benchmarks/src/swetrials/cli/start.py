"""The first lines of the command that run. They import nothing, so that Ctrl-C is heard from the beginning."""

import sys


def main(argv: list[str] | None = None) -> None:
    """Run the command line, as :func:`swetrials.cli.app.main` does; interrupted while it loads, end with 130."""
    try:
        from swetrials.cli.app import main as run
    except KeyboardInterrupt:
        print("interrupted; nothing was begun", file=sys.stderr)
        sys.exit(130)
    run(argv)
