"""What the meter costs: the same requests with and without it, and a long response through it.

Endpoint, meter and agent each run in a process of their own. Runs without and with the meter take turns. The reference
is a pipe: a process that stands where the meter stands and passes bytes on without a look at them.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from figures import Figure, difference, percentage
from handed_socket import namespace, serve_handed
from processes import forget_peak, peak_megabytes, processor_seconds, running
from pydantic import SecretStr

from swetrials.agents.install import find
from swetrials.agents.packages import PACKAGES
from swetrials.rehearsal import Scenario, rehearse
from swetrials.store.project import find_project
from swetrials.store.redaction import Redactor
from swetrials.wire.meter import metered
from swetrials.wire.route import Route
from swetrials.wire.sse import frame

REQUESTS = 200
ROUNDS = 5
SHORT_TURN = 20
TURNS = 199
"""Of one run of the agent; the last request makes it 200."""

SECONDS_PER_TOKEN = 1 / 500
"""The pace of the runs that have a limit: several times that of large hosted models."""

PACED_ROUNDS = 2
AGENT_ROUNDS = 3
"""Each has two runs of every kind."""

LONG_BYTES = 100_000_000
MOST_ADDED_MS = 5.0
MOST_ADDED_PERCENT = 2.0
MOST_ADDED_MEGABYTES = 16.0
MOST_ADDED_BY_NAMESPACE_PERCENT = 5.0

KEY = "key-of-the-measurement"
STEP = {
    "say": "I look at the code around the change before I go on, and I say in a few words what I see there. " * 4,
    "shell": "cat code.py",
}
SCRIPT = {"when": "task_id: meter", "steps": [STEP] * TURNS + [{"say": "Done."}]}
BODY = {
    "model": "m",
    "max_tokens": 1000,
    "stream": True,
    "system": "You are an agent. " * 3000,
    "messages": [{"role": "user", "content": "task_id: meter"}],
}
"""About as long as Claude Code's first request."""

Tell = Callable[[str], None]


def measure() -> list[Figure]:
    """Return the figures of the meter."""
    with tempfile.TemporaryDirectory() as folder:
        with (
            running(serve_rehearsal, 0.0) as (endpoint, _),
            running(serve_pipe, endpoint) as (piped, pipe),
            running(serve_meter, endpoint, f"{folder}/at-once.jsonl") as (through, meter),
        ):
            figures = [
                *bare_requests("a pipe", endpoint, piped, pipe, limit=None),
                *bare_requests("the meter", endpoint, through, meter, MOST_ADDED_MS),
                handed_socket(endpoint, through, f"{folder}/handed.jsonl"),
                *agent_runs("at once", AGENT_ROUNDS, endpoint, {"a pipe": piped, "the meter": through}, limit=None),
            ]
        with (
            running(serve_rehearsal, SECONDS_PER_TOKEN) as (endpoint, _),
            running(serve_meter, endpoint, f"{folder}/paced.jsonl") as (through, _),
        ):
            pace = f"{1 / SECONDS_PER_TOKEN:g} tokens/s"
            figures += agent_runs(pace, PACED_ROUNDS, endpoint, {"the meter": through}, MOST_ADDED_PERCENT)
    return [*figures, *long_response()]


def bare_requests(
    what: str,
    endpoint: str,
    through: str,
    process: Any,  # noqa: ANN401  psutil's own
    limit: float | None,
) -> Iterator[Figure]:
    """Measure single requests of a client that does nothing else."""
    without, with_it = list[float](), list[float]()
    ask(endpoint, 20)
    ask(through, 20)
    before = processor_seconds(process)
    for _ in range(ROUNDS):
        without += ask(endpoint, REQUESTS)
        with_it += ask(through, REQUESTS)
    used = (processor_seconds(process) - before) / (ROUNDS * REQUESTS)
    yield difference(f"one request, bare client: {what}", "ms", without, with_it, limit)
    yield Figure(f"... processor time of {what}", "ms", None, used * 1000, used * 1000, "ms")


def handed_socket(endpoint: str, through: str, log: str) -> Figure:
    """Measure requests to a meter whose socket lies in a namespace, against those to one on a socket of its own."""
    own, handed = list[float](), list[float]()
    with namespace() as inside, running(serve_handed, endpoint, log, inside.listening) as (from_inside, _):
        ask(through, 20)
        inside.ask(from_inside, 20)
        # In short turns: what drifts on the machine is then in both.
        for _ in range(ROUNDS * REQUESTS // SHORT_TURN):
            own += ask(through, SHORT_TURN)
            handed += inside.ask(from_inside, SHORT_TURN)
    return percentage(
        "one request: a socket of a namespace", "ms", own, handed, MOST_ADDED_BY_NAMESPACE_PERCENT, median
    )


def ask(base_url: str, times: int) -> list[float]:
    """Return how many milliseconds each of some requests took, one after the other."""
    took = []
    with httpx.Client(base_url=base_url, headers={"x-api-key": KEY}, trust_env=False) as http:
        for _ in range(times):
            started = time.perf_counter()
            response = http.post("/v1/messages", json=BODY)
            took.append((time.perf_counter() - started) * 1000)
            response.raise_for_status()
    return took


def agent_runs(pace: str, rounds: int, endpoint: str, ways: Mapping[str, str], limit: float | None) -> Iterator[Figure]:
    """Measure runs of the real Claude Code, each of ``TURNS`` turns: straight to the endpoint, and each other way."""
    installed = find(PACKAGES["claude"], find_project().tools)
    if installed is None:
        raise SystemExit("Claude Code is not installed: make setup")
    drive(installed.binary, endpoint)
    walls: dict[str, list[float]] = {url: [] for url in (endpoint, *ways.values())}
    for _ in range(rounds):
        # There and back, so that whatever drifts on the machine is in all of them.
        for url in (*walls, *reversed(walls)):
            walls[url].append(drive(installed.binary, url))
    for what, url in ways.items():
        name = f"Claude Code, {TURNS + 1} requests, {pace}: {what}"
        # The median, for the agent keeps a processor busy, and those change their speed over minutes.
        yield percentage(name, "s", walls[endpoint], walls[url], limit, median)


def drive(binary: Path, base_url: str) -> float:
    """Return how many seconds one run of the agent took."""
    with tempfile.TemporaryDirectory() as home:
        Path(home, "code.py").write_text("def f() -> int:\n    return 1\n" * 40)
        argv = [str(binary), "-p", "task_id: meter", "--output-format", "stream-json", "--verbose", "--model", "m"]
        argv += ["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TMPDIR": home,
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        started = time.perf_counter()
        done = subprocess.run(
            argv, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        wall = time.perf_counter() - started
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["num_turns"] == TURNS + 1, result
    return wall


def long_response() -> Iterator[Figure]:
    """Measure a stream of ``LONG_BYTES``: its time, and what memory the meter needs for it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(serve_long_stream) as (endpoint, _),
        running(serve_meter, endpoint, f"{folder}/requests.jsonl") as (through, process),
    ):
        without = [read_all(endpoint) for _ in range(3)]
        read_all(through, at_most=1_000_000)
        forget_peak(process)
        held = peak_megabytes(process)
        with_it = [read_all(through) for _ in range(3)]
        peak = peak_megabytes(process)
    what = f"a stream of {LONG_BYTES // 1_000_000} MB"
    yield percentage(what, "s", without, with_it, limit=None)
    yield Figure(f"peak memory, {what}", "MB", held, peak, peak - held, "MB", MOST_ADDED_MEGABYTES)


def read_all(base_url: str, at_most: int | None = None) -> float:
    """Return how many seconds it took to read a response, or its beginning."""
    started, got = time.perf_counter(), 0
    with httpx.stream("POST", f"{base_url}/v1/messages", json=BODY, trust_env=False, timeout=60) as response:
        for piece in response.iter_raw():
            got += len(piece)
            if at_most is not None and got > at_most:
                return time.perf_counter() - started
    assert got >= LONG_BYTES, got
    return time.perf_counter() - started


async def serve_rehearsal(tell: Tell, seconds_per_token: float) -> None:
    """Serve the script at a pace."""
    scenario = {"schema_version": "1.0", "name": "meter", "scripts": [SCRIPT], "seconds_per_token": seconds_per_token}
    async with rehearse(Scenario.model_validate(scenario)) as server:
        tell(server.base_url)
        await asyncio.Event().wait()


async def serve_pipe(tell: Tell, endpoint: str) -> None:
    """Pass bytes on to an endpoint, and back."""
    there, loop = urlsplit(endpoint), asyncio.get_running_loop()

    class End(asyncio.Protocol):
        def __init__(self, other: "End | None" = None) -> None:
            self.other, self.early = other, list[bytes]()

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast(asyncio.Transport, transport)
            if self.other is None:
                self.connecting = loop.create_task(self.connect())

        async def connect(self) -> None:
            _, self.other = await loop.create_connection(lambda: End(self), there.hostname, there.port)
            self.other.transport.writelines(self.early)

        def data_received(self, data: bytes) -> None:
            if self.other is None:
                self.early.append(data)
            else:
                self.other.transport.write(data)

        def connection_lost(self, error: Exception | None) -> None:
            if self.other is not None:
                self.other.transport.close()

    server = await loop.create_server(End, "127.0.0.1", 0)
    tell(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


async def serve_meter(tell: Tell, endpoint: str, log: str) -> None:
    """Stand before an endpoint."""
    route = Route(frozenset({"anthropic"}), endpoint, SecretStr(KEY), "m")
    async with metered(route, Path(log), Redactor()) as meter:
        tell(meter.route.base_url)
        await asyncio.Event().wait()


async def serve_long_stream(tell: Tell) -> None:
    """Answer every request with the same long stream of Anthropic's events."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word " * 40}}
    event = frame(delta, "content_block_delta")
    piece = event * (65_536 // len(event))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        try:
            for _ in range(LONG_BYTES // len(piece) + 1):
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    tell(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()
