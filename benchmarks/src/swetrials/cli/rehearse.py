"""``rehearse``: the rehearsal model on a port, for trying agents and proxies by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.errors import UsageError

app = single_command()


@app.command(epilog="Example: swetrials rehearse dataset/quickstart/scenario.yaml --port 8765")
def rehearse(
    scenario: Annotated[Path, typer.Argument(help="The scenario to play.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 0,
    fault: Annotated[str | None, typer.Option(help="A fault that every scripted request meets.")] = None,
) -> None:
    """Serve the rehearsal model on loopback until interrupted."""
    leave(serve(scenario, port, fault))


def serve(path: Path, port: int, fault: str | None) -> int:
    """Serve a scenario until interrupted."""
    import anyio

    from swetrials.rehearsal import FaultKind, Scenario, rehearse
    from swetrials.store.documents import load_document

    scenario = load_document(path, Scenario)
    if fault is not None:
        if fault not in set(FaultKind):
            raise UsageError(f"--fault: {fault!r} is not one of {', '.join(FaultKind)}")
        scenario = scenario.with_fault(FaultKind(fault))

    async def go() -> None:
        async with rehearse(scenario, port=port) as server:
            print(
                f"rehearsal model on {server.base_url} (Anthropic Messages, OpenAI Chat and Responses); Ctrl-C ends it"
            )
            await anyio.sleep_forever()

    try:
        anyio.run(go)
    except OSError as error:
        raise UsageError(f"--port: {error.strerror}") from None
    return 0
