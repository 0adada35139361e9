"""The litellm provider: its route, and what its checks find at every kind of address.

Small servers answer here as LiteLLM does; the real one is in tests/e2e/test_litellm.py.
"""

import http.server
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
import pytest
from pydantic import SecretStr

from swetrials.hosting.base import ProviderError
from swetrials.hosting.litellm.provider import LiteLLM, start_command
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.rehearsal import Scenario, rehearse

MODELS = ("zai.glm-4.6", "zai.glm-5", "qwen.qwen3-coder-next")
QUIET = {"disable_cooldowns": True, "num_retries": 0}


Pages = Mapping[str, tuple[int, str, str]]
"""Path to status, media type and body."""


class Server(http.server.ThreadingHTTPServer):
    """Answers with pages; with a key, only to those who have it."""

    def __init__(self, pages: Pages, key: str) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages = pages
        self.key = key


class Answer(http.server.BaseHTTPRequestHandler):
    """One request and its page."""

    server: Server

    def do_GET(self) -> None:
        key = self.server.key
        if self.path != "/health/liveliness" and key and self.headers["authorization"] != f"Bearer {key}":
            status, media_type, body = 400, "application/json", json.dumps({"error": {"type": "no_db_connection"}})
        else:
            unknown = (404, "application/json", '{"detail":"Not Found"}')
            status, media_type, body = self.server.pages.get(self.path, unknown)
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(pages: Pages, key: str = "") -> Iterator[str]:
    """Serve pages on loopback and give the base URL."""
    with Server(pages, key) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def proxy_pages(settings: Mapping[str, object] = QUIET) -> Pages:
    """Return what LiteLLM answers on the paths that are looked at."""
    models = {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "openai"} for name in MODELS]}
    return {
        "/health/liveliness": (200, "application/json", '"I\'m alive!"'),
        "/v1/models": (200, "application/json", json.dumps(models)),
        "/router/settings": (200, "application/json", json.dumps({"fields": [], "current_values": settings})),
    }


def checks(endpoint: str, **config: object) -> dict[str, Check]:
    """Return what the provider finds at an address, by name."""

    async def look() -> Sequence[Check]:
        chosen = RunnerConfig.model_validate({"model": "zai.glm-5", "endpoint": endpoint, **config})
        async with LiteLLM().open(chosen) as hosting:
            assert hosting.served("a") is None
            return await hosting.checks()

    return {check.name: check for check in anyio.run(look)}


@pytest.fixture(autouse=True)
def no_master_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LITELLM_MASTER_KEY", raising=False)


def test_the_route_of_a_plain_configuration() -> None:
    route = LiteLLM().preview(RunnerConfig(model="zai.glm-5"))
    assert route.base_url == "http://127.0.0.1:4000"
    assert route.dialects == {"anthropic", "openai-chat", "openai-responses"}
    assert route.api_key.get_secret_value() == "none"


def test_the_key_is_the_configured_one_or_the_master_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_MASTER_KEY", "sk-master")
    config = RunnerConfig(model="m", endpoint="http://127.0.0.1:4000/v1/", context_window=1000)
    route = LiteLLM().preview(config)
    assert (route.base_url, route.api_key, route.context_window) == (
        "http://127.0.0.1:4000",
        SecretStr("sk-master"),
        1000,
    )
    own = LiteLLM().preview(config.model_copy(update={"api_key": SecretStr("sk-own")}))
    assert own.api_key.get_secret_value() == "sk-own"


@pytest.mark.parametrize("key", ["clé", "a b", "a\n"])
def test_a_master_key_that_no_header_carries(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("LITELLM_MASTER_KEY", key)
    with pytest.raises(ProviderError, match=r"^LITELLM_MASTER_KEY: holds") as caught:
        LiteLLM().preview(RunnerConfig(model="m"))
    assert key not in str(caught.value)


def test_a_proxy_that_is_as_it_should_be() -> None:
    with serving(proxy_pages()) as endpoint:
        found = checks(endpoint, context_window=200_000)
    assert {name: check.status for name, check in found.items()} == dict.fromkeys(
        ("proxy", "model", "window", "router"), "ok"
    )


def test_a_closed_port() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        found = checks(f"http://127.0.0.1:{port}")
    assert found == {
        "proxy": Check(
            "proxy",
            "failed",
            f"nothing listens at http://127.0.0.1:{port}",
            f"swetrials proxy start --port {port}",
        )
    }


def test_the_default_port_needs_no_flag_and_another_machine_no_port() -> None:
    assert start_command("http://127.0.0.1:4000") == "swetrials proxy start"
    assert start_command("http://10.0.0.7:4100") == "start it there: swetrials proxy start"


@pytest.mark.parametrize("status", [200, 404])
def test_a_web_page(status: int) -> None:
    page = (status, "text/html; charset=utf-8", "<!doctype html><title>Sign in</title>")
    with serving({"/health/liveliness": page}) as endpoint:
        found = checks(endpoint)
    assert [(check.status, check.detail) for check in found.values()] == [
        ("failed", f"{endpoint} answers with a web page: it is no LiteLLM proxy")
    ]
    assert "swetrials proxy start" in found["proxy"].fix


def test_another_model_server() -> None:
    async def look() -> Sequence[Check]:
        empty = Scenario(schema_version="1.0", name="empty", scripts=())
        async with (
            rehearse(empty) as server,
            LiteLLM().open(RunnerConfig(model="m", endpoint=server.base_url)) as hosting,
        ):
            return await hosting.checks()

    [found] = anyio.run(look, backend="asyncio")
    assert (found.name, found.status) == ("proxy", "failed")
    assert found.detail.endswith("is no LiteLLM proxy: it has no /health/liveliness (status 404)")


def test_a_server_that_accepts_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swetrials.hosting.litellm.provider._TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = checks(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert found["proxy"].detail.endswith("does not answer: nothing within 0.2 s")


def test_a_key_that_the_proxy_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(proxy_pages(), key="sk-right") as endpoint:
        refused = checks(endpoint)
        monkeypatch.setenv("LITELLM_MASTER_KEY", "sk-right")
        accepted = checks(endpoint)
    assert [(check.name, check.status) for check in refused.values()] == [("proxy", "ok"), ("key", "failed")]
    assert refused["key"].fix.startswith("set LITELLM_MASTER_KEY")
    assert accepted["model"].status == "ok"


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ("zai.glm5", "--model zai.glm-5"),
        ("glm-4.6", "--model zai.glm-4.6"),
        ("xxxx", "add it to the proxy's configuration"),
    ],
)
def test_a_model_that_is_not_configured(asked: str, fix: str) -> None:
    with serving(proxy_pages()) as endpoint:
        found = checks(endpoint, model=asked)["model"]
    assert (found.status, found.fix) == ("failed", fix)
    assert found.detail == f"the proxy has no model {asked}; it has: {', '.join(MODELS)}"


def test_a_window_hint_is_not_part_of_the_id() -> None:
    with serving(proxy_pages()) as endpoint:
        assert checks(endpoint, model="zai.glm-5[1m]")["model"].status == "ok"


def test_a_window_that_nobody_told() -> None:
    with serving(proxy_pages()) as endpoint:
        found = checks(endpoint)["window"]
    assert (found.status, found.fix) == ("warning", "--context-window TOKENS")


def test_cooldowns_and_retries_are_warned_of() -> None:
    with serving(proxy_pages({"disable_cooldowns": None, "num_retries": 2})) as endpoint:
        found = checks(endpoint)
    assert found["cooldowns"].status == found["retries"].status == "warning"
    assert "disable_cooldowns: true" in found["cooldowns"].fix
    assert "2 times" in found["retries"].detail
    assert "router" not in found


@pytest.mark.parametrize(
    "answer", [(401, "application/json", "{}"), (200, "application/json", "[1]"), (200, "text/html", "<p>")]
)
def test_settings_that_are_not_told_are_skipped(answer: tuple[int, str, str]) -> None:
    with serving({**proxy_pages(), "/router/settings": answer}) as endpoint:
        assert checks(endpoint)["router"].status == "skipped"


@pytest.mark.parametrize("answer", [(500, "text/plain", "no"), (200, "application/json", '{"data": 1}')])
def test_a_proxy_without_a_list_of_models(answer: tuple[int, str, str]) -> None:
    with serving({**proxy_pages(), "/v1/models": answer}) as endpoint:
        found = checks(endpoint)
    assert [(check.name, check.status) for check in found.values()] == [("proxy", "ok"), ("model", "failed")]
