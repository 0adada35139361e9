"""vLLM as a provider: what it finds at an endpoint, the window it gives on, and the counters it watches."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route as Path_
from starlette.types import ASGIApp

from hosting.stand_in_vllm import SCENARIO, listening, stand_in
from ports import port_for_a_server
from swetrials.hosting.base import hosting_record
from swetrials.hosting.vllm.counters import CounterWatch
from swetrials.hosting.vllm.provider import RESPONSES_BREAKERS, Vllm, VllmHosting
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.metrics import HostingRecord
from swetrials.records.models import ModelRegistry
from swetrials.records.telemetry import VllmPrometheus
from swetrials.rehearsal import rehearse
from swetrials.store.documents import load_document
from swetrials.store.project import HOME_VARIABLE, find_project

pytestmark = pytest.mark.anyio

MODEL = "qwen3-coder-30b"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def config(endpoint: str | None = None, **keys: object) -> RunnerConfig:
    return RunnerConfig.model_validate({"provider": "vllm", "model": MODEL, "endpoint": endpoint, **keys})


async def checks(endpoint: str, **keys: object) -> list[Check]:
    async with Vllm().open(config(endpoint, **keys)) as hosting:
        return list(await hosting.checks())


@asynccontextmanager
async def other_server(answer: Response, liveliness: Response | None = None) -> AsyncIterator[str]:
    """Serve something else: the same answer to every request but LiteLLM's health check."""

    async def always(request: Request) -> Response:
        return answer

    async def alive(request: Request) -> Response:
        return liveliness or answer

    app: ASGIApp = Starlette(routes=[Path_("/health/liveliness", alive), Path_("/{path:path}", always)])
    async with listening(app) as base_url:
        yield base_url


def the_one_failure(found: list[Check]) -> Check:
    [check] = [check for check in found if check.status == "failed"]
    assert "\n" not in check.detail
    return check


def test_the_route_before_anything_is_asked() -> None:
    route = Vllm().preview(config())
    assert (route.base_url, route.model, route.context_window) == ("http://127.0.0.1:8000", MODEL, None)
    assert route.dialects == {"anthropic", "openai-chat", "openai-responses"}
    assert route.api_key.get_secret_value() != ""
    assert Vllm().preview(config("http://gpu:9000/v1/")).base_url == "http://gpu:9000"
    assert Vllm().preview(config(api_key="secret-key")).api_key == SecretStr("secret-key")


async def test_a_good_server() -> None:
    async with stand_in() as (endpoint, _), Vllm().open(config(endpoint)) as hosting:
        found = list(await hosting.checks())
        assert [(check.name, check.status) for check in found] == [("server", "ok"), ("model", "ok"), ("window", "ok")]
        assert found[0].detail == f"vLLM 0.32.0 at {endpoint}"
        assert hosting.route("attempt-1").context_window == 200_000
        assert hosting.served("attempt-1") is None


async def test_a_closed_port(free_port: int) -> None:
    check = the_one_failure(await checks(f"http://127.0.0.1:{free_port}"))
    assert check.detail == f"nothing listens at http://127.0.0.1:{free_port}"
    assert check.fix == f"swetrials serve start {MODEL} --port {free_port}"


async def test_a_web_page() -> None:
    async with other_server(HTMLResponse("<!doctype html><title>Welcome</title>")) as endpoint:
        check = the_one_failure(await checks(endpoint))
    assert check.detail == f"{endpoint} answers with a web page: it is no model API"
    assert check.fix == f"mend --endpoint, or swetrials serve start {MODEL}, without --endpoint"


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"data": [{"id": MODEL, "object": "model", "owned_by": "openai"}], "object": "list"}),
        JSONResponse({"error": {"message": "Authentication Error, No api key passed in.", "code": "401"}}, 401),
    ],
)
async def test_a_litellm_proxy_with_or_without_a_key_of_its_own(answer: Response) -> None:
    async with other_server(answer, JSONResponse("I'm alive!")) as endpoint:
        check = the_one_failure(await checks(endpoint))
    assert check.detail == f"{endpoint} is a LiteLLM proxy, not a vLLM server"
    assert check.fix == f"--provider litellm, or swetrials serve start {MODEL}, without --endpoint"


async def test_another_server_with_a_list_of_models() -> None:
    async with rehearse(SCENARIO, model=MODEL) as server:
        check = the_one_failure(await checks(server.base_url))
    assert check.detail == f"{server.base_url} is not a vLLM server"
    assert check.fix == "--provider endpoint"


async def test_a_refused_key() -> None:
    async with other_server(JSONResponse({"error": "Unauthorized"}, 401)) as endpoint:
        check = the_one_failure(await checks(endpoint))
    assert check.detail.endswith("refuses the key (status 401)")
    assert check.fix == "set SWETRIALS_API_KEY"


async def test_another_model() -> None:
    async with stand_in("glm-5.2", 300_000) as (endpoint, _):
        known = the_one_failure(await checks(endpoint))
        strange = the_one_failure(await checks(endpoint, model="my-own"))
    assert known.detail == f"{MODEL} is not served; {endpoint} serves: glm-5.2"
    assert known.fix == f"swetrials serve start {MODEL} --port {endpoint.rpartition(':')[2]}"
    assert strange.fix == "--model glm-5.2, or add my-own to config/models.yaml and serve it"


@pytest.mark.parametrize(
    ("window", "status", "asks", "said"),
    [
        (200_000, "ok", False, "200,000 tokens"),
        (131_072, "warning", True, "131,072 tokens, below 200,000"),
        (64_000, "warning", True, "64,000 tokens"),
        (63_999, "failed", False, "63,999 tokens, below 64,000"),
        (None, "warning", True, "does not say how large its window is"),
    ],
)
async def test_the_window_gate(window: int | None, status: str, asks: bool, said: str) -> None:
    async with stand_in(window=window) as (endpoint, _), Vllm().open(config(endpoint)) as hosting:
        [check] = [check for check in await hosting.checks() if check.name == "window"]
        assert (check.status, check.asks) == (status, asks)
        assert said in check.detail
        assert bool(check.fix) is (status != "ok")
        assert hosting.route("a").context_window == window


async def test_the_smaller_of_the_served_and_the_configured_window_counts() -> None:
    async with stand_in(window=262_144) as (endpoint, _):
        async with Vllm().open(config(endpoint, context_window=100_000)) as hosting:
            assert hosting.route("a").context_window == 100_000
        async with Vllm().open(config(endpoint, context_window=500_000)) as hosting:
            assert hosting.route("a").context_window == 262_144
            [check] = [check for check in await hosting.checks() if check.status == "warning"]
    assert (check.name, check.asks) == ("window", False)
    assert "--context-window 500,000 is more, and is not used" in check.detail


async def test_a_server_without_a_tool_call_parser() -> None:
    async with stand_in() as (endpoint, standing):
        standing.has_tool_parser = False
        [check] = [check for check in await checks(endpoint) if check.status != "ok"]
    assert (check.name, check.status, check.asks) == ("tools", "warning", True)
    assert check.fix == "serve it with --enable-auto-tool-choice --tool-call-parser qwen3_coder"


async def test_a_parser_that_breaks_responses_takes_that_dialect_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src" / "swetrials").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    shipped = (find_project().config / "models.yaml").read_text()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.yaml").write_text(shipped.replace("qwen3_coder", "step3p5", 1))
    monkeypatch.setenv("SWETRIALS_HOME", str(tmp_path))
    assert Vllm().preview(config()).dialects == {"anthropic", "openai-chat"}
    async with stand_in() as (endpoint, _):
        [check] = [check for check in await checks(endpoint) if check.name == "dialect"]
    assert check.detail == "the tool-call parser step3p5 crashes on the Responses dialect"


def test_no_shipped_model_has_a_parser_that_breaks_responses() -> None:
    registry = load_document(find_project().config / "models.yaml", ModelRegistry)
    assert not {model.tool_call_parser for model in registry.models} & RESPONSES_BREAKERS


async def test_a_vllm_that_is_older_than_the_model_wants() -> None:
    entry = {"id": "kimi-k3", "owned_by": "vllm", "max_model_len": 200_000}
    app = Starlette(
        routes=[
            Path_("/v1/models", lambda _: JSONResponse({"data": [entry]})),
            Path_("/version", lambda _: JSONResponse({"version": "0.27.1"})),
        ]
    )
    async with listening(app) as endpoint:
        [check] = [check for check in await checks(endpoint, model="kimi-k3") if check.status != "ok"]
    assert (check.name, check.status, check.detail) == ("version", "warning", "vLLM 0.27.1: kimi-k3 wants 0.28")


async def ask(endpoint: str, words: str = "hello") -> dict[str, int]:
    """Make one call of the model and return the usage it reports."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        body = {"model": MODEL, "max_tokens": 50, "messages": [{"role": "user", "content": words}]}
        answer = await client.post(f"{endpoint}/v1/messages", json=body, headers={"x-api-key": "k"})
    usage: dict[str, int] = answer.json()["usage"]
    return usage


async def watched(
    endpoint: str, during: Callable[[VllmHosting], Awaitable[None]] | None = None, *, single_tenant: bool = True
) -> VllmPrometheus:
    async with Vllm().open(config(endpoint)) as hosting, hosting.telemetry(single_tenant=single_tenant) as watch:
        if during is not None:
            await during(hosting)
    return watch.block()


async def test_counters_are_what_the_attempt_was_served() -> None:
    async with stand_in() as (endpoint, standing):
        await ask(endpoint, "before the window")
        before = len(standing.rehearsal.requests)

        async def attempt(_: VllmHosting) -> None:
            await ask(endpoint, "one")
            await anyio.sleep(1.2)
            await ask(endpoint, "one, and a little more")

        block = await watched(endpoint, attempt)
        served = [request.usage for request in standing.rehearsal.requests[before:]]
    prompt = sum((u.fresh_input or 0) + (u.cache_read or 0) + (u.cache_write or 0) for u in served)
    assert block.available and block.single_tenant and block.note == ""
    assert prompt > 0
    assert block.counters["vllm:prompt_tokens_total"] == prompt
    assert block.counters["vllm:generation_tokens_total"] == sum(u.output or 0 for u in served)
    hits = sum(u.cache_read or 0 for u in served)
    assert block.derived["prefix_cache_hit_rate"] == hits / prompt
    assert block.window_seconds is not None and 1.2 <= block.window_seconds < 30
    assert block.derived["prompt_tokens_per_second"] == prompt / block.window_seconds
    assert block.gauges["vllm:num_requests_running"].samples == block.scrapes >= 3
    assert VllmPrometheus.model_validate_json(block.model_dump_json()) == block


async def test_concurrency_is_said() -> None:
    async with stand_in() as (endpoint, _):
        block = await watched(endpoint, single_tenant=False)
    assert not block.single_tenant
    assert block.note.startswith("other trials used the server at the same time")


async def test_a_restart_is_said_and_makes_a_lower_bound() -> None:
    async with stand_in() as (endpoint, standing):

        async def attempt(_: VllmHosting) -> None:
            standing.started += 1

        block = await watched(endpoint, attempt)
    assert block.restarts == 1
    assert block.note == "server restarts meanwhile: 1: increases are lower bounds"


async def test_a_server_that_goes_silent_keeps_what_was_seen() -> None:
    async with stand_in() as (endpoint, standing):

        async def attempt(_: VllmHosting) -> None:
            standing.metrics_status = 500

        block = await watched(endpoint, attempt)
    assert block.available
    assert "scrapes that failed: 1: " in block.note
    assert "were not seen: increases are lower bounds" in block.note


async def test_a_server_without_counters() -> None:
    async with stand_in() as (endpoint, standing):
        standing.metrics_status = 404
        block = await watched(endpoint)
    assert not block.available
    assert block.note == f"{endpoint}/metrics answers with status 404"
    assert block.counters == {} and block.window_seconds is None


async def test_what_fails_inside_is_passed_on_as_it_is_and_a_stop_too() -> None:
    async with stand_in() as (endpoint, _), httpx.AsyncClient(trust_env=False) as client:
        watch = CounterWatch(client, endpoint, single_tenant=True)
        with pytest.raises(ZeroDivisionError):
            async with watch:
                raise ZeroDivisionError
        assert watch.block().scrapes == 2
        stopped = CounterWatch(client, endpoint, single_tenant=True)
        with anyio.move_on_after(0.3) as scope:
            async with stopped:
                await anyio.sleep_forever()
        assert scope.cancelled_caught
        assert stopped.block().scrapes == 2


@pytest.fixture
def free_port() -> int:
    return port_for_a_server()


async def test_the_record_says_how_the_server_hosts_the_model() -> None:
    async with stand_in() as (endpoint, _), Vllm().open(config(endpoint)) as hosting:
        assert hosting.hosted_as() == HostingRecord(context_window=200_000, engine="vLLM 0.32.0")


async def test_what_the_user_says_of_the_machine_is_in_the_record_and_the_window_is_the_servers() -> None:
    said = {"instance_type": "p5en.48xlarge", "tensor_parallel_size": 8, "precision": "FP8", "context_window": 900_000}
    async with stand_in() as (endpoint, _):
        asked = config(endpoint, **said)
        async with Vllm().open(asked) as hosting:
            found = hosting_record(asked, hosting)
    assert found == HostingRecord(
        instance_type="p5en.48xlarge",
        tensor_parallel_size=8,
        precision="FP8",
        context_window=200_000,
        engine="vLLM 0.32.0",
    )


async def test_what_serve_wrote_down_is_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "project"
    home.mkdir()
    for name in ("config", "pyproject.toml", "src"):
        (home / name).symlink_to(find_project().root / name)
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    async with stand_in() as (endpoint, _):
        state = {
            "pid": os.getpid(),
            "port": urlsplit(endpoint).port,
            "notes": {"model": MODEL, "gpu": "NVIDIA L40S", "tensor_parallel_size": "4", "engine": "vLLM 0.32.0"},
        }
        services = find_project().tools / "run"
        services.mkdir(parents=True)
        (services / "vllm.json").write_text(json.dumps(state))
        async with Vllm().open(config(endpoint)) as hosting:
            found = hosting.hosted_as()
        assert found == HostingRecord(
            gpu="NVIDIA L40S", tensor_parallel_size=4, context_window=200_000, engine="vLLM 0.32.0"
        )
        (services / "vllm.json").write_text(json.dumps({**state, "port": 1}))
        async with Vllm().open(config(endpoint)) as hosting:
            assert hosting.hosted_as() == HostingRecord(context_window=200_000, engine="vLLM 0.32.0")


async def test_a_model_whose_chat_template_refuses_an_effort_is_asked_for_one_that_it_takes() -> None:
    model = "qwen3.8-27b"
    async with stand_in(model) as (endpoint, _), Vllm().open(config(endpoint, model=model)) as hosting:
        assert hosting.route("a").effort == "xhigh"
        [check] = [check for check in await hosting.checks() if check.name == "effort"]
    assert (check.status, check.detail) == (
        "ok",
        "the chat template accepts xhigh, medium, low alone: Claude Code is made to ask for xhigh",
    )
    assert Vllm().preview(config(model=MODEL)).effort is None
