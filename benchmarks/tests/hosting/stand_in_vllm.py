"""A stand-in for ``vllm serve``: its surface, as vLLM 0.32 shows it, in front of the rehearsal model.

``/metrics`` is a recorded one whose counters move with what the rehearsal server really served. Installed by
:func:`install` it is a program that takes vLLM's flags and prints its failures.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.listener import Listener, bind
from swetrials.store.documents import load_document

TESTS = Path(__file__).parents[1]
RECORDED = (TESTS / "fixtures" / "vllm-metrics.txt").read_text()
SCENARIO = Scenario.model_validate({"schema_version": "1.0", "name": "stand-in", "scripts": []})

FAILURES = {
    "parser": "KeyError: 'invalid tool call parser: hermes (chose from { apertus,cohere_command3 })'",
    "memory": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "riddle": "Segmentation fault",
}
"""What goes wrong when ``STAND_IN_FAILURE`` names it, as vLLM says it."""


class StandIn:
    """The surface of one vLLM server. ``started`` is what tells one run of it from the next."""

    def __init__(self, rehearsal: RehearsalServer, model: str, window: int | None, *, started: float = 1.0) -> None:
        self.rehearsal = rehearsal
        self.model = model
        self.window = window
        self.started = started
        self.metrics_status = 200
        self.has_tool_parser = True

    def application(self) -> ASGIApp:
        return Starlette(
            routes=[
                Route("/health", lambda _: Response()),
                Route("/version", lambda _: JSONResponse({"version": "0.32.0"})),
                Route("/v1/models", self._models),
                Route("/metrics", self._metrics),
                Route("/{path:path}", self._pass_on, methods=["POST"]),
            ]
        )

    def metrics(self) -> str:
        usages = [request.usage for request in self.rehearsal.requests]
        read = sum(usage.cache_read or 0 for usage in usages)
        prompt = read + sum((usage.fresh_input or 0) + (usage.cache_write or 0) for usage in usages)
        moved = {
            "vllm:prompt_tokens_total": prompt,
            "vllm:prefix_cache_queries_total": prompt,
            "vllm:prefix_cache_hits_total": read,
            "vllm:generation_tokens_total": sum(usage.output or 0 for usage in usages),
            "process_start_time_seconds": self.started,
        }
        text = RECORDED
        for name, value in moved.items():
            text = re.sub(rf"^({name}(?:{{.*}})?) .*$", rf"\g<1> {value}", text, flags=re.MULTILINE)
        if not self.has_tool_parser:
            text = re.sub(r"^.*vllm:tool_call_parser.*\n", "", text, flags=re.MULTILINE)
        return text.replace("tinyrand", self.model)

    async def _models(self, request: Request) -> Response:
        entry = {"id": self.model, "object": "model", "created": 1, "owned_by": "vllm", "max_model_len": self.window}
        return JSONResponse({"object": "list", "data": [entry]})

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(self.metrics(), self.metrics_status)

    async def _pass_on(self, request: Request) -> Response:
        client = httpx.AsyncClient(timeout=60, trust_env=False)
        headers = {name: value for name, value in request.headers.items() if name not in {"host", "content-length"}}
        call = client.build_request(
            "POST", f"{self.rehearsal.base_url}{request.url.path}", content=await request.body(), headers=headers
        )
        answer = await client.send(call, stream=True)

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in answer.aiter_raw():
                yield chunk
            await client.aclose()

        kept = {"content-type": answer.headers["content-type"]}
        return StreamingResponse(chunks(), answer.status_code, kept)


@asynccontextmanager
async def listening(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """Serve any application on loopback and yield its base URL."""
    socket = bind(port)
    socket.listen()
    listener = Listener(app)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: listener.serve(sockets=[socket]))
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}"
        finally:
            listener.should_exit = True


@asynccontextmanager
async def stand_in(
    model: str = "qwen3-coder-30b", window: int | None = 200_000, scenario: Scenario = SCENARIO
) -> AsyncIterator[tuple[str, StandIn]]:
    """Serve a stand-in in this process and yield its base URL with it."""
    async with rehearse(scenario, model=model) as rehearsal:
        standing = StandIn(rehearsal, model, window)
        async with listening(standing.application()) as base_url:
            yield base_url, standing


def install(prefix: Path, version: str = "0.32.0") -> Path:
    """Put the stand-in where a virtual environment would have ``vllm`` and return the program."""
    (prefix / "lib" / "python3.11" / "site-packages" / f"vllm-{version}.dist-info").mkdir(parents=True)
    program = prefix / "bin" / "vllm"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(TESTS)!r})\n"
        "from hosting.stand_in_vllm import main\nmain()\n"
    )
    program.chmod(0o755)
    return program


def main() -> None:
    """Behave as ``vllm serve REPOSITORY ...``."""
    parser = argparse.ArgumentParser("vllm serve")
    parser.add_argument("serve", choices=["serve"])
    parser.add_argument("repository")
    parser.add_argument("--served-model-name", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-model-len", type=int, required=True)
    known, rest = parser.parse_known_args()
    Path("started.json").write_text(json.dumps({"argv": sys.argv, "environment": dict(os.environ)}))
    print(f"serving {known.repository} with {' '.join(rest)}", flush=True)
    if failure := os.environ.get("STAND_IN_FAILURE"):
        sys.exit(f"INFO loading\n{FAILURES[failure]}\nINFO the end")
    anyio.run(_serve, known.served_model_name, known.max_model_len, known.port)


async def _serve(model: str, window: int, port: int) -> None:
    served = int(os.environ.get("STAND_IN_WINDOW", window))
    played = os.environ.get("STAND_IN_SCENARIO")
    scenario = load_document(Path(played), Scenario) if played else SCENARIO
    async with (
        rehearse(scenario, model=model) as rehearsal,
        listening(StandIn(rehearsal, model, served).application(), port),
    ):
        await anyio.sleep_forever()
