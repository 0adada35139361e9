"""The real LiteLLM proxy between the real agents and the rehearsal model."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from e2e.harness import QUICKSTART, Workplace, check_witness, needs_agent
from ports import port_for_a_server
from swetrials.agents.codex.config import endpoint_config, exec_argv
from swetrials.agents.install import find as find_agent
from swetrials.agents.packages import PACKAGES
from swetrials.hosting.litellm import install as litellm_install
from swetrials.hosting.litellm import server as litellm
from swetrials.hosting.litellm.provider import LiteLLM
from swetrials.records.check import Check
from swetrials.records.config import RunnerConfig
from swetrials.records.outcome import OutcomeKind
from swetrials.rehearsal import FaultKind, RehearsalServer, Scenario, rehearse
from swetrials.store.documents import load_document
from swetrials.store.project import find_project

PROGRAM = litellm_install.find(find_project().tools)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="LiteLLM is not installed (swetrials proxy start installs it)"),
]

SCENARIO = QUICKSTART.with_suffix("") / "scenario.yaml"
FAULTS = (FaultKind.STATUS_401, FaultKind.STATUS_429, FaultKind.STATUS_500, FaultKind.CUT, FaultKind.HTML)
KINDS = ("openai", "hosted_vllm", "anthropic")


@dataclass(frozen=True)
class Stage:
    """A running proxy, the sound model behind it, and the ones with faults."""

    base_url: str
    model: RehearsalServer
    faulty: dict[FaultKind, RehearsalServer]


def _config(stage: Stage) -> str:
    """Return a configuration in the manner of the shipped one; each model has a key that names it in the ledger."""
    lines = ["litellm_settings: {drop_params: true, num_retries: 0, request_timeout: 300}"]
    lines += ["router_settings: {disable_cooldowns: true, num_retries: 0}", "model_list:"]
    for kind in KINDS:
        base = stage.model.base_url + ("" if kind == "anthropic" else "/v1")
        bridge = ", use_chat_completions_api: true" if kind == "openai" else ""
        lines += [f"  - model_name: by-{kind}"]
        lines += [f"    litellm_params: {{model: {kind}/model, api_base: '{base}', api_key: key-{kind}{bridge}}}"]
    for fault, server in stage.faulty.items():
        lines += [f"  - model_name: fault-{fault}"]
        lines += [f"    litellm_params: {{model: openai/m, api_base: '{server.base_url}/v1', api_key: k}}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    assert PROGRAM is not None
    root = tmp_path_factory.mktemp("litellm")
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        scenario = load_document(SCENARIO, Scenario)
        model = _serve(stack, portal, scenario)
        faulty = {fault: _serve(stack, portal, scenario.with_fault(fault)) for fault in FAULTS}
        port = port_for_a_server()
        stage = Stage(f"http://127.0.0.1:{port}", model, faulty)
        (root / "litellm.yaml").write_text(_config(stage))
        stack.callback(litellm.stop, root)
        litellm.start(root, PROGRAM, root / "litellm.yaml", port=port, environment={"PATH": os.environ["PATH"]})
        yield stage


def _serve(stack: ExitStack, portal: BlockingPortal, scenario: Scenario) -> RehearsalServer:
    return stack.enter_context(portal.wrap_async_context_manager(rehearse(scenario)))


def _run(stage: Stage, place: Workplace, model: str, *options: str) -> subprocess.CompletedProcess[str]:
    words = ["--provider", "litellm", "--endpoint", stage.base_url, "--model", model, "--context-window", "200000"]
    return place.run("run", *words, "--dataset", QUICKSTART, "--tasks", "word-tally", "--skip-probe", *options)


@needs_agent("claude")
@pytest.mark.parametrize("kind", [*KINDS[:-1], pytest.param(KINDS[-1], marks=pytest.mark.once)])
def test_claude_code_does_its_task_and_the_figures_survive(stage: Stage, tmp_path: Path, kind: str) -> None:
    place = Workplace(tmp_path)
    before = len(stage.model.requests)
    done = _run(stage, place, f"by-{kind}")
    assert done.returncode == 0, done.stdout + done.stderr

    record = place.records()["word-tally"]
    served = stage.model.served(f"key-{kind}")
    paths = {request.path for request in stage.model.requests[before:] if request.api_key == f"key-{kind}"}
    assert record.outcome.kind is OutcomeKind.COMPLETED
    assert record.provider == record.serving == "litellm"
    assert paths == {"/v1/messages" if kind == "anthropic" else "/v1/chat/completions"}
    assert record.usage.reported is not None
    assert record.usage.reported.usage == served.usage
    assert record.usage.reported.requests == served.requests
    assert record.usage.source == "metered"
    if kind == "anthropic":
        check_witness(record.usage.metered, served.usage)
    else:  # what a backend without cache writes has told, LiteLLM passes on without a word on them
        assert record.usage.metered is not None
        assert record.usage.metered.completeness == "lower_bound"
        assert record.usage.metered.usage.total == served.usage.total
    assert served.usage.cache_read and served.usage.output
    if kind == "anthropic":
        assert served.usage.cache_write == record.usage.headline.usage.cache_write_5m
        assert served.usage.cache_write
        assert record.findings == ()


@needs_agent("codex")
@pytest.mark.parametrize("kind", ["openai", "hosted_vllm"])
def test_codex_is_answered_and_the_figures_survive(stage: Stage, tmp_path: Path, kind: str) -> None:
    installed = find_agent(PACKAGES["codex"], find_project().tools)
    assert installed is not None
    (tmp_path / "config.toml").write_text(endpoint_config(stage.base_url))
    before = len(stage.model.requests)
    done = subprocess.run(
        exec_argv(installed.binary, model=f"by-{kind}", sandbox="read-only"),
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "CODEX_HOME": str(tmp_path),
            "SWETRIALS_CODEX_KEY": "x",
        },
        input="Say something.",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [request] = stage.model.requests[before:]
    # use_chat_completions_api is what takes the Responses dialect to Chat Completions.
    assert request.path == ("/v1/chat/completions" if kind == "openai" else "/v1/responses")
    reported = json.loads(done.stdout.splitlines()[-1])["usage"]
    assert reported["input_tokens"] == (request.usage.fresh_input or 0) + (request.usage.cache_read or 0)
    assert (reported["cached_input_tokens"], reported["output_tokens"]) == (
        request.usage.cache_read,
        request.usage.output,
    )


@needs_agent("claude")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (FaultKind.STATUS_401, OutcomeKind.AUTH_FAILED),
        (FaultKind.STATUS_429, OutcomeKind.RATE_LIMITED),
        (FaultKind.STATUS_500, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.CUT, OutcomeKind.PROVIDER_ERROR),
        (FaultKind.HTML, OutcomeKind.PROVIDER_ERROR),  # which LiteLLM makes an empty answer of
    ],
)
def test_a_failure_of_the_backend_reaches_the_agent_as_what_it_is(
    stage: Stage, tmp_path: Path, fault: FaultKind, kind: OutcomeKind
) -> None:
    place = Workplace(tmp_path)
    _run(stage, place, f"fault-{fault}", "--request-retries", "1", "--max-retries", "0")
    record = place.records()["word-tally"]
    assert record.outcome.kind is kind, record.outcome.detail
    if fault.startswith("status_"):
        assert str(record.api_error_status) == fault.removeprefix("status_")
        # One attempt and one retry of the agent's own: the proxy adds none, and no cooldown stands in for an answer.
        assert len(stage.faulty[fault].requests) == 2


def test_the_provider_finds_it_in_order(stage: Stage) -> None:
    found = {check.name: check for check in _checks(stage, "by-openai")}
    assert {name: check.status for name, check in found.items()} == {
        "proxy": "ok", "model": "ok", "window": "warning", "router": "ok"
    }  # fmt: skip
    [model] = [check for check in _checks(stage, "by-opnai") if check.name == "model"]
    assert (model.status, model.fix) == ("failed", "--model by-openai")


def _checks(stage: Stage, model: str) -> list[Check]:
    async def look() -> list[Check]:
        async with LiteLLM().open(RunnerConfig(model=model, endpoint=stage.base_url)) as hosting:
            return list(await hosting.checks())

    return anyio.run(look)


def test_a_master_key_is_asked_for_and_the_shipped_configuration_loads(tmp_path: Path) -> None:
    assert PROGRAM is not None
    config = find_project().config / "litellm-mantle.yaml"
    secrets = {"LITELLM_MASTER_KEY": "sk-master-value-1", "MANTLE_API_KEY": "bearer-value-1"}
    try:
        service = litellm.start(
            tmp_path / "run",
            PROGRAM,
            config,
            port=port_for_a_server(),
            environment={"PATH": os.environ["PATH"], **secrets},
        )
        url = f"{service.base_url}/v1/models"
        listed = httpx.get(url, headers={"authorization": "Bearer sk-master-value-1"}).json()["data"]
        refused = httpx.get(url, headers={"authorization": "Bearer sk-other"})
    finally:
        litellm.stop(tmp_path / "run")
    assert len(listed) == 26
    assert "zai.glm-5" in {model["id"] for model in listed}
    assert refused.status_code == 400
    assert refused.json()["error"]["type"] == "no_db_connection"
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert service.log in files
    for path in files:
        data = path.read_bytes()
        assert not [value for value in secrets.values() if value.encode() in data], path
