"""``--provider vllm`` pointed at what is no server of the model: one finding, what mends it, and nothing spent."""

import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, needs_agent
from hosting.server import Server, json_answer, plain
from hosting.stand_in_vllm import stand_in
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude")]

MODEL = "qwen3-coder-30b"
PAGE = b"<!doctype html><html><body>Sign in</body></html>"

CallsOfAModel = Callable[[], int]


@contextmanager
def another_models() -> Iterator[tuple[str, CallsOfAModel]]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        url, server = stack.enter_context(portal.wrap_async_context_manager(stand_in("glm-5.2")))
        yield url, lambda: len(server.rehearsal.requests)


@contextmanager
def litellms() -> Iterator[tuple[str, CallsOfAModel]]:
    """Answer as LiteLLM does: it lists models in OpenAI's shape, and says of itself that it is alive."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/health/liveliness":
            json_answer("I'm alive!")(handler)
        else:
            json_answer({"data": [{"id": MODEL, "object": "model", "owned_by": "openai"}]})(handler)

    with answering(answer) as found:
        yield found


@contextmanager
def a_web_sites() -> Iterator[tuple[str, CallsOfAModel]]:
    with answering(plain(200, PAGE)) as found:
        yield found


@contextmanager
def nobodys() -> Iterator[tuple[str, CallsOfAModel]]:
    with socket.socket() as taken:
        # Bound and not listening: nobody else can get it meanwhile, and who connects is refused.
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}", lambda: 0


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[tuple[str, CallsOfAModel]]:
    server = Server()  # which knows no POST, so that it has no model to call
    server.answer = answer
    try:
        yield server.url, lambda: 0
    finally:
        server.close()


@dataclass(frozen=True)
class Wrong:
    """A server that is not the one meant, what is said of it, and what mends it."""

    open: Callable[[], AbstractContextManager[tuple[str, CallsOfAModel]]]
    said: str
    fix: str


WRONG = [
    Wrong(another_models, f"{MODEL} is not served; URL serves: glm-5.2", f"swetrials serve start {MODEL} --port PORT"),
    Wrong(litellms, "URL is a LiteLLM proxy, not a vLLM server", "--provider litellm, or"),
    Wrong(nobodys, "nothing listens at URL", f"swetrials serve start {MODEL} --port PORT"),
    Wrong(a_web_sites, "URL answers with a web page", "mend --endpoint, or"),
]


@pytest.mark.parametrize("command", ["run", "e2e", "doctor"])
@pytest.mark.parametrize("wrong", WRONG, ids=["another model", "litellm", "closed port", "web page"])
def test_the_wrong_server(tmp_path: Path, wrong: Wrong, command: str) -> None:
    place = Workplace(tmp_path)
    with wrong.open() as (url, calls):
        words = [command, "--provider", "vllm", "--model", MODEL, "--endpoint", url]
        done = place.command(*words) if command == "doctor" else place.run(*words, "--dataset", QUICKSTART)
        assert calls() == 0
    assert done.returncode == 3, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    [failed] = [index for index, line in enumerate(lines) if "FAIL" in line]
    port = url.rsplit(":", 1)[1]
    assert wrong.said.replace("URL", url) in lines[failed]
    assert lines[failed + 1].split("->")[1].strip().startswith(wrong.fix.replace("PORT", port))
    assert "Traceback" not in done.stderr
    assert not list(trial_folders(place.results))
