"""``rehearse``: the rehearsal model on a port, for trying agents and proxies by hand."""

from pathlib import Path

import anyio

from swetrials.errors import UsageError
from swetrials.rehearsal import FaultKind, Scenario, rehearse
from swetrials.store.documents import load_document


def serve(path: Path, port: int, fault: str | None) -> int:
    """Serve a scenario until interrupted."""
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
