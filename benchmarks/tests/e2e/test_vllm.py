"""The real vLLM, its CPU build, with a tiny model of random weights: served, gated, driven and watched.

It is 3.5 GB, so nobody has to have it: docs/path-self-hosted-vllm.md tells how to install it for these tests.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from anyio.to_thread import run_sync

from e2e.harness import QUICKSTART, Workplace, needs_agent
from ports import port_for_a_server
from swetrials.cli import serve
from swetrials.hosting import process
from swetrials.hosting.vllm import server as vllm
from swetrials.hosting.vllm.provider import Vllm
from swetrials.records.config import RunnerConfig
from swetrials.records.models import ModelRegistry
from swetrials.store.documents import load_document
from swetrials.store.project import HOME_VARIABLE, find_project

PROJECT = find_project({})
VLLM = PROJECT.tools / "vllm"
HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not (VLLM / "bin" / "vllm").exists(),
        reason="vLLM is not installed in .tools/vllm (docs/path-self-hosted-vllm.md has the recipe)",
    ),
]

REGISTRY = """\
schema_version: "1.0"
hardware:
  - {key: any, gpu: none, gpus: 1, gpu_memory_gb: 1, instance: this machine}
models:
  - served_name: tiny
    repository: made/tiny
    context_window: 200000
    tool_call_parser: hermes
    extra_arguments: [--enforce-eager, --dtype, bfloat16]
    extra_environment: {VLLM_CPU_KVCACHE_SPACE: "1", HF_HUB_OFFLINE: "1"}
    fits: [{hardware: any}]
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def make_model(folder: Path) -> Path:
    """Make the tiny model with the Python that vLLM is installed for."""
    folder.mkdir(parents=True)
    texts = [str(path) for path in (PROJECT.root / "src").rglob("*.py")]
    subprocess.run([VLLM / "bin" / "python", HERE / "tiny_model.py", folder, *texts], check=True, capture_output=True)
    return folder


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    """Serve the tiny model by ``swetrials serve start`` in a project of its own, and yield where."""
    root = tmp_path / "project"
    (root / "src" / "swetrials").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "config").mkdir()
    (root / "config" / "models.yaml").write_text(REGISTRY)
    (root / ".tools").mkdir()
    (root / ".tools" / "vllm").symlink_to(VLLM)
    run = root / ".tools" / "run"
    # The server's working folder is the one its state is in: the repository's name is then a folder there.
    make_model(run / "made" / "tiny")
    port = port_for_a_server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(root))
        try:
            assert serve.start("tiny", host="127.0.0.1", port=port, yes=False, timeout_seconds=300) == 0
            assert serve.status(as_json=True) == 0
            yield f"http://127.0.0.1:{port}"
        finally:
            stopped = process.stop(run, vllm.SERVICE)
    assert stopped is not None and stopped.how != "gone"
    assert process.port_is_free(port)


def config(endpoint: str) -> RunnerConfig:
    return RunnerConfig(provider="vllm", model="tiny", endpoint=endpoint)


@needs_agent("claude")
async def test_served_gated_driven_and_watched(endpoint: str, tmp_path: Path) -> None:
    # One test, since each worker of the suite would start a server of its own for a second one.
    await check_the_gate(endpoint)
    await check_the_responses_dialect(endpoint)
    await check_that_claude_code_reports_what_the_server_counts(endpoint, Workplace(tmp_path))


async def check_that_claude_code_reports_what_the_server_counts(endpoint: str, place: Workplace) -> None:
    words = ["--provider", "vllm", "--endpoint", endpoint, "--model", "tiny", "--dataset", str(QUICKSTART)]
    words += ["--tasks", "word-tally", "--max-output-tokens", "100", "--max-turns", "6", "--skip-probe"]
    async with Vllm().open(config(endpoint)) as hosting, hosting.telemetry(single_tenant=True) as watch:
        done = await run_sync(partial(place.run, "run", *words, timeout_seconds=300))
    folder = place.results / "tiny" / "claude-code" / "swe3" / "quickstart" / "word-tally"
    record = json.loads((folder / "metrics.json").read_text())
    assert record["outcome"]["blame"] in {"model", None}, done.stdout + done.stderr

    block = watch.block()
    assert block.available and block.restarts == 0 and block.note == ""
    reported = record["usage"]["reported"]["usage"]
    prompt = reported["fresh_input"] + reported["cache_read"] + reported["cache_write"]
    assert prompt == block.counters["vllm:prompt_tokens_total"] > 1_000
    assert reported["output"] == block.counters["vllm:generation_tokens_total"] > 0
    assert reported["cache_read"] == block.counters["vllm:prompt_tokens_cached_total"] > 0
    assert block.derived["prefix_cache_hit_rate"] == pytest.approx(reported["cache_read"] / prompt)
    waited = block.histograms["vllm:time_to_first_token_seconds"]
    assert waited.count >= 1 and waited.mean and waited.p50 and waited.p90 and waited.p50 <= waited.p90
    assert max(reading.max for name, reading in block.gauges.items() if name == "vllm:kv_cache_usage_perc") <= 1


async def check_the_gate(endpoint: str) -> None:
    async with Vllm().open(config(endpoint)) as hosting:
        found = {check.name: check for check in await hosting.checks()}
        assert {name: check.status for name, check in found.items()} == {"server": "ok", "model": "ok", "window": "ok"}
        assert hosting.route("a").context_window == 200_000
    assert found["server"].detail == f"vLLM 0.32.0 at {endpoint}"


async def check_the_responses_dialect(endpoint: str) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        body = {"model": "tiny", "input": "hello", "max_output_tokens": 5}
        answer = (await client.post(f"{endpoint}/v1/responses", json=body)).json()
    assert answer["usage"]["output_tokens"] == 5


async def test_the_real_vllm_takes_every_command_of_the_registry(tmp_path: Path) -> None:
    registry = load_document(PROJECT.config / "models.yaml", ModelRegistry)
    plans = {model.served_name: vllm.plan(registry, model, VLLM / "bin" / "vllm", None) for model in registry.models}
    folder = make_model(tmp_path / "unscaled")
    described = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**described, "max_position_embeddings": 40_960}))
    asked = {
        "commands": {name: planned.command[2:] for name, planned in plans.items()},
        "scaled": "qwen3-32b",
        "folder": str(folder),
    }
    done = subprocess.run(
        [VLLM / "bin" / "python", HERE / "ask_vllm.py"],
        input=json.dumps(asked), env={**os.environ, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["windows"] == {name: planned.window for name, planned in plans.items()}
    assert {model.tool_call_parser for model in registry.models} <= set(answer["tool_call_parsers"])
    assert {m.reasoning_parser for m in registry.models if m.reasoning_parser} <= set(answer["reasoning_parsers"])
    assert answer["scaled_window"] == 131_072
