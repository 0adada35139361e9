"""``matrix``: which agent works with which provider."""

from __future__ import annotations

from dataclasses import asdict

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import AsJson

app = single_command()


@app.command(epilog="Example: swetrials matrix")
def matrix(as_json: AsJson = False) -> None:
    """Show which agent works with which provider, and why not."""
    leave(show_matrix(as_json=as_json))


def show_matrix(*, as_json: bool) -> int:
    """Print which agent can use which provider, over which dialects, and why not."""
    import orjson
    from rich.table import Table
    from rich.text import Text

    from swetrials.cli.rendering import console_for_output
    from swetrials.runs.doctor import matrix

    cells = matrix()
    if as_json:
        print(orjson.dumps([asdict(cell) for cell in cells], option=orjson.OPT_INDENT_2).decode())
        return 0
    table = Table("agent", "provider", "dialects", "why not", box=None, pad_edge=False, header_style="bold")
    for cell in cells:
        table.add_row(cell.agent, cell.provider, Text(", ".join(cell.dialects) or "none"), Text(cell.reason))
    console_for_output().print(table)
    return 0
