"""``doctor``: is anything in the way, before anything is spent?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from swetrials.cli.errors import PREFLIGHT
from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import AsJson, ConfigFile, with_config_keys

app = single_command()


@app.command(epilog="Example: swetrials doctor --provider vllm --model qwen3-coder-30b --agent claude")
@with_config_keys
def doctor(flags: dict[str, object], config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check agent, provider and model; spends nothing. Exit code 3 when something is in the way."""
    leave(check(config, flags, as_json=as_json))


def check(path: Path | None, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Print the findings on agent, provider and model; exit code 3 when one of them is in the way."""
    import anyio
    import orjson

    from swetrials.cli.progress import show_check
    from swetrials.cli.rendering import console_for_output
    from swetrials.runs.doctor import examine
    from swetrials.store.documents import load_config

    checks = anyio.run(examine, load_config(path, os.environ, flags))
    if as_json:
        print(orjson.dumps([asdict(found) for found in checks], option=orjson.OPT_INDENT_2).decode())
    else:
        console = console_for_output()
        for found in checks:
            show_check(console, found)
    return PREFLIGHT if any(found.status == "failed" for found in checks) else 0
