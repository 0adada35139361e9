"""Looking at somebody else's server, which is a real one here, before anything is spent on it."""

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import anyio
import pytest

from hosting.server import Answer, Server, json_answer, models, plain
from swetrials.hosting import endpoint
from swetrials.hosting.base import ProviderError, hosting_record
from swetrials.hosting.endpoint import Endpoint
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord

KEY = "sk-secret-123"


FOR_EVER_SECONDS = 5.0


def dripping(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        try:
            handler.wfile.write(b" ")
            time.sleep(0.05)
        except OSError:
            return


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def checks(url: str, model: str = "some-model", key: str = KEY) -> dict[str, Check]:
    config = RunnerConfig.model_validate({"provider": "endpoint", "endpoint": url, "model": model, "api_key": key})

    async def look() -> dict[str, Check]:
        async with Endpoint().open(config) as hosting:
            return {check.name: check for check in await hosting.checks()}

    found = anyio.run(look)
    for check in found.values():
        assert key not in check.detail + check.fix
        assert check.status in {"ok", "warning"} or check.fix
    return found


def states(found: dict[str, Check]) -> dict[str, str]:
    return {name: check.status for name, check in found.items()}


@pytest.mark.parametrize("model", ["some-model", "some-model[1m]"])
def test_a_model_that_is_served(server: Server, model: str) -> None:
    server.answer = models("other", "some-model")
    assert states(checks(server.url, model)) == {"endpoint": "ok", "model": "ok"}


def test_the_key_is_sent_in_both_ways_and_no_path_twice(server: Server) -> None:
    server.answer = models("some-model")
    for url in (server.url, server.url + "/", server.url + "/v1", server.url + "/v1/"):
        assert states(checks(url)) == {"endpoint": "ok", "model": "ok"}
    assert {path for path, _ in server.asked} == {"/v1/models"}
    headers = server.asked[0][1]
    assert (headers["x-api-key"], headers["authorization"]) == (KEY, f"Bearer {KEY}")


def test_another_model_is_served(server: Server) -> None:
    server.answer = models("other-1", "other-2")
    found = checks(server.url)
    assert states(found) == {"endpoint": "ok", "model": "failed"}
    assert found["model"].detail == "some-model is not served here; served: other-1, other-2"
    server.answer = models()
    assert checks(server.url)["model"].detail.endswith("served: nothing")


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused(server: Server, status: int) -> None:
    server.answer = json_answer({"error": "no"}, status)
    found = checks(server.url)
    assert states(found) == {"endpoint": "failed"}
    assert (str(status) in found["endpoint"].detail, found["endpoint"].fix) == (True, "set SWETRIALS_API_KEY")


def test_a_server_that_lists_no_models(server: Server) -> None:
    server.answer = plain(404, b"not found")
    assert states(checks(server.url)) == {"endpoint": "warning"}


@pytest.mark.parametrize("status", [301, 429, 500, 503])
def test_a_server_in_trouble_is_not_one_that_answers(server: Server, status: int) -> None:
    server.answer = plain(status, b"sorry", "text/plain")
    found = checks(server.url)
    assert states(found) == {"endpoint": "failed"}
    assert str(status) in found["endpoint"].detail


@pytest.mark.parametrize(
    "answer",
    [
        plain(200, b"<html><body>Sign in</body></html>"),
        plain(200, b""),
        plain(200, b'{"data": [{"id": "some-mo', "application/json"),
        json_answer(["some-model"]),
        json_answer({"data": None}),
        json_answer({"data": [{"name": "some-model"}]}),
        json_answer({"data": ["some-model"]}),
        json_answer("some-model"),
        plain(200, b"\xff\xfe{", "application/json"),
    ],
)
def test_a_page_that_is_no_list_of_models(server: Server, answer: Answer) -> None:
    server.answer = answer
    found = checks(server.url)
    assert states(found) == {"endpoint": "failed"}
    assert "web page" in found["endpoint"].detail or "not a list of models" in found["endpoint"].detail


def test_a_closed_port() -> None:
    with socket.socket() as taken:
        # Bound and not listening: nobody else can get it meanwhile, and who connects is refused.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        found = checks(f"http://127.0.0.1:{port}")
    assert states(found) == {"endpoint": "failed"}
    assert f"http://127.0.0.1:{port}/v1/models does not answer" in found["endpoint"].detail


def silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(FOR_EVER_SECONDS)


@pytest.mark.parametrize("answer", [silent, dripping])
def test_a_server_that_takes_for_ever(server: Server, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.setattr(endpoint, "_TIMEOUT_SECONDS", 0.3)
    server.answer = answer
    started = time.monotonic()
    found = checks(server.url)
    assert time.monotonic() - started < FOR_EVER_SECONDS
    assert states(found) == {"endpoint": "failed"}
    assert "does not answer" in found["endpoint"].detail


@pytest.mark.parametrize(
    ("config", "key"), [({"api_key": KEY}, "endpoint"), ({"endpoint": "https://models.example"}, "api_key")]
)
def test_what_is_not_given_is_named(config: dict[str, str], key: str) -> None:
    with pytest.raises(ProviderError, match=f"^{key}: "):
        Endpoint().preview(RunnerConfig.model_validate({"provider": "endpoint", **config}))


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses"])
def test_the_route_speaks_the_one_dialect_that_was_named(dialect: str) -> None:
    given = {"provider": "endpoint", "endpoint": "http://127.0.0.1:11434/v1", "dialect": dialect}
    route = Endpoint().preview(RunnerConfig.model_validate(given))
    assert route.dialects == {dialect}
    assert route.base_url == "http://127.0.0.1:11434"
    assert route.api_key.get_secret_value(), "agents refuse to start without a key"


def opened(url: str, **keys: object) -> tuple[HostingRecord, int | None, dict[str, Check]]:
    config = RunnerConfig.model_validate({"provider": "endpoint", "endpoint": url, "model": "some-model", **keys})

    async def look() -> tuple[HostingRecord, int | None, dict[str, Check]]:
        async with Endpoint().open(config) as hosting:
            found = {check.name: check for check in await hosting.checks()}
            return hosting_record(config, hosting), hosting.route("a").context_window, found

    return anyio.run(look)


def test_the_window_that_the_server_tells_is_used_and_recorded(server: Server) -> None:
    server.answer = json_answer({"data": [{"id": "some-model", "max_model_len": 131_072}]})
    hosting, window, found = opened(server.url)
    assert (hosting, window) == (HostingRecord(context_window=131_072), 131_072)
    assert (found["window"].status, found["window"].detail) == ("ok", "the served window is 131,072 tokens")


@pytest.mark.parametrize(("asked", "window", "status"), [(200_000, 131_072, "warning"), (64_000, 64_000, "ok")])
def test_a_larger_window_than_the_served_one_is_not_used(server: Server, asked: int, window: int, status: str) -> None:
    server.answer = json_answer({"data": [{"id": "some-model", "max_model_len": 131_072}]})
    hosting, found_window, found = opened(server.url, context_window=asked, precision="FP8")
    assert (hosting, found_window) == (HostingRecord(context_window=131_072, precision="FP8"), window)
    assert found["window"].status == status


def test_a_server_that_tells_no_window_leaves_the_one_asked_for(server: Server) -> None:
    server.answer = models("some-model")
    assert opened(server.url, context_window=64_000)[:2] == (HostingRecord(), 64_000)
    assert opened(server.url, context_window=0)[:2] == (HostingRecord(), None)
