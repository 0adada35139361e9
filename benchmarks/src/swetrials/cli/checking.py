"""``doctor`` and ``matrix``: what works with what, before anything is spent."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import anyio
import orjson
from rich.table import Table
from rich.text import Text

from swetrials.cli.errors import PREFLIGHT
from swetrials.cli.progress import show_check
from swetrials.cli.rendering import console_for_output
from swetrials.runs.doctor import examine, matrix
from swetrials.store.documents import load_config


def doctor(path: Path | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print the findings on agent, provider and model; exit code 3 when one of them is in the way."""
    checks = anyio.run(examine, load_config(path, os.environ, flags))
    if as_json:
        print(orjson.dumps([asdict(check) for check in checks], option=orjson.OPT_INDENT_2).decode())
    else:
        console = console_for_output()
        for check in checks:
            show_check(console, check)
    return PREFLIGHT if any(check.status == "failed" for check in checks) else 0


def show_matrix(*, as_json: bool) -> int:
    """Print which agent can use which provider, over which dialects, and why not."""
    cells = matrix()
    if as_json:
        print(orjson.dumps([asdict(cell) for cell in cells], option=orjson.OPT_INDENT_2).decode())
        return 0
    table = Table("agent", "provider", "dialects", "why not", box=None, pad_edge=False, header_style="bold")
    for cell in cells:
        table.add_row(cell.agent, cell.provider, Text(", ".join(cell.dialects) or "none"), Text(cell.reason))
    console_for_output().print(table)
    return 0
