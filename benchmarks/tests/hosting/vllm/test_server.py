"""Serving with vLLM: what is started and with what, and the whole life of a server, played by a stand-in program."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hosting.stand_in_vllm import FAILURES, install
from kinds import first_is_quick
from ports import port_for_a_server
from swetrials.cli import serve
from swetrials.errors import UsageError
from swetrials.hosting import process
from swetrials.hosting.process import ServiceError
from swetrials.hosting.vllm import server as vllm
from swetrials.hosting.vllm.gpus import Gpu, find_gpus
from swetrials.hosting.vllm.huggingface import TokenError, find_token
from swetrials.hosting.vllm.machine import instance_type
from swetrials.hosting.vllm.served_here import hosted_here
from swetrials.hosting.vllm.server import ServeError, find_vllm, installed_version, server_environment
from swetrials.hosting.vllm.start_failures import likely_reason
from swetrials.records.metrics import HostingRecord
from swetrials.records.models import HostedModel, ModelRegistry
from swetrials.store.documents import load_document
from swetrials.store.project import find_project

REGISTRY = load_document(find_project().config / "models.yaml", ModelRegistry)
L40S, H200, T4 = Gpu("NVIDIA L40S", 46_068), Gpu("NVIDIA H200", 143_771), Gpu("Tesla T4", 15_360)
TOKEN = "hf_0123456789abcdefghij"


def model(name: str) -> HostedModel:
    found = REGISTRY.model(name)
    assert found is not None
    return found


def planned(
    name: str, gpus: tuple[Gpu, ...] | None = None, program: Path = Path("/opt/vllm/bin/vllm")
) -> vllm.ServePlan:
    return vllm.plan(REGISTRY, model(name), program, gpus)


def test_the_command_of_a_model_with_everything() -> None:
    assert planned("glm-5.3").command == (
        "/opt/vllm/bin/vllm", "serve", "zai-org/GLM-5.3", "--served-model-name", "glm-5.3",
        "--host", "127.0.0.1", "--port", "8000", "--max-model-len", "300000", "--tensor-parallel-size", "8",
        "--gpu-memory-utilization", "0.95", "--enable-auto-tool-choice", "--tool-call-parser", "glm47",
        "--reasoning-parser", "glm47", "--trust-remote-code", "--enable-prompt-tokens-details",
        "--kv-cache-dtype", "fp8", "--speculative-config", '{"method": "mtp", "num_speculative_tokens": 5}',
    )  # fmt: skip


def test_a_plain_model_gets_no_flag_that_is_not_its_own() -> None:
    command = planned("qwen3-coder-30b").command
    assert "--trust-remote-code" not in command
    assert "--reasoning-parser" not in command
    assert command[-1] == "--enable-prompt-tokens-details"


@pytest.mark.parametrize(
    ("name", "gpus", "window", "spread", "remark"),
    [
        ("qwen3-coder-next", None, 200_000, 8, "no nvidia-smi"),
        ("qwen3-coder-next", (L40S,) * 8, 200_000, 8, None),
        ("qwen3-coder-next", (L40S,) * 4, 16_384, 4, None),
        ("qwen3-coder-30b", (L40S,) * 4, 200_000, 4, None),
        ("minimax-m2.5", (H200,) * 4, 196_608, 4, None),
        ("qwen3-coder-30b", (T4,) * 4, 200_000, 4, "known to fit 4xL40S; these GPUs are Tesla T4"),
    ],
)
def test_the_largest_window_that_is_endorsed_for_these_gpus(
    name: str, gpus: tuple[Gpu, ...] | None, window: int, spread: int, remark: str | None
) -> None:
    plan = planned(name, gpus)
    assert (plan.window, plan.model.gpus_on(plan.fit)) == (window, spread)
    assert plan.command[plan.command.index("--max-model-len") + 1] == str(window)
    assert plan.command[plan.command.index("--tensor-parallel-size") + 1] == str(spread)
    assert [remark in said for said in plan.remarks] == [True] if remark else not plan.remarks


@pytest.mark.parametrize("gpus", [(), (L40S,), (L40S,) * 3])
def test_too_few_gpus_are_refused_with_the_numbers(gpus: tuple[Gpu, ...]) -> None:
    with pytest.raises(ServeError, match=rf"qwen3-coder-30b is spread over 4 GPUs, this machine has {len(gpus)} "):
        planned("qwen3-coder-30b", gpus)


def test_a_vllm_that_is_too_old_is_refused(tmp_path: Path) -> None:
    old, new = install(tmp_path / "old", "0.27.1"), install(tmp_path / "new", "0.28.0")
    with pytest.raises(ServeError, match=r"kimi-k3 wants vLLM 0.28 or newer, .*/old/bin/vllm is 0.27.1: upgrade it"):
        planned("kimi-k3", program=old)
    assert installed_version(new) == "0.28.0"
    assert "0.28" not in " ".join(planned("kimi-k3", program=new).remarks)
    assert "what version" in " ".join(planned("kimi-k3").remarks)


def test_where_vllm_is_looked_for(tmp_path: Path) -> None:
    tools, elsewhere = tmp_path / "tools", tmp_path / "elsewhere"
    with pytest.raises(ServeError, match=r"^vllm is not installed; in benchmarks/ run: python3 -m venv .tools/vllm"):
        find_vllm(tools, path=str(tmp_path))
    other = install(elsewhere)
    assert find_vllm(tools, path=str(other.parent)) == other
    own = install(tools / "vllm")
    assert find_vllm(tools, path=str(other.parent)) == own


def program(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("body", "gpus"),
    [
        ("printf 'NVIDIA L40S, 46068\\nNVIDIA L40S, 46068\\n'", (L40S, L40S)),
        ("true", ()),
        ("echo 'NVIDIA-SMI has failed' >&2; exit 9", None),
        ("echo 'No devices were found'", None),
    ],
)
def test_gpus_are_what_nvidia_smi_tells(tmp_path: Path, body: str, gpus: tuple[Gpu, ...] | None) -> None:
    program(tmp_path / "bin", "nvidia-smi", body)
    assert find_gpus(str(tmp_path / "bin")) == gpus


def test_without_nvidia_smi_nothing_is_known(tmp_path: Path) -> None:
    assert find_gpus(str(tmp_path)) is None


def test_the_token_comes_from_the_environment_or_the_file(tmp_path: Path) -> None:
    assert find_token({}, tmp_path) is None
    (tmp_path / ".hf_token").write_text(f"{TOKEN}\n")
    from_file, from_environment = find_token({}, tmp_path), find_token({"HF_TOKEN": "hf_other"}, tmp_path)
    assert from_file is not None and from_environment is not None
    assert (from_file.value.get_secret_value(), from_file.source) == (TOKEN, str(tmp_path / ".hf_token"))
    assert (from_environment.value.get_secret_value(), from_environment.source) == ("hf_other", "HF_TOKEN")
    assert TOKEN not in repr(from_file)


@pytest.mark.parametrize("content", [b"", b"\n", f"{TOKEN} {TOKEN}".encode(), b"\xff\xfe"])
def test_a_file_without_one_token_is_named_and_not_shown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".hf_token").write_bytes(content)
    with pytest.raises(TokenError) as raised:
        find_token({}, tmp_path)
    assert str(raised.value).startswith(str(tmp_path / ".hf_token"))
    assert TOKEN not in str(raised.value)


def test_the_server_gets_the_token_and_none_of_the_invokers_other_secrets(tmp_path: Path) -> None:
    token = find_token({"HF_TOKEN": TOKEN}, tmp_path)
    base = {"PATH": "/bin", "HOME": "/h", "HF_HOME": "/cache", "AWS_SECRET_ACCESS_KEY": "x", "GITHUB_TOKEN": "y"}
    environment = server_environment(base, planned("qwen3-coder-30b"), token)
    assert environment == {
        "PATH": "/opt/vllm/bin:/bin", "HOME": "/h", "HF_HOME": "/cache", "HF_TOKEN": TOKEN, "VLLM_NO_USAGE_STATS": "1",
    }  # fmt: skip
    assert "HF_TOKEN" not in server_environment({**base, "HF_TOKEN": "stale"}, planned("qwen3-coder-30b"), None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (FAILURES["parser"], "knows no tool-call parser hermes: upgrade vLLM"),
        (FAILURES["memory"], "out of memory: the weights do not fit"),
        ("ValueError: To serve at least one request with the models's max seq len (200000), 9 GiB KV cache is needed, "
         "which is larger than the available KV cache memory (2 GiB).", "the window does not fit beside the weights"),
        ("ValueError: Free memory on device cuda:0 (3/44 GiB) on startup is less than desired GPU memory utilization",
         "another program holds memory of the GPUs"),
        ("vllm: error: unrecognized arguments: --frobnicate 3", "does not know the arguments --frobnicate 3"),
        ("Value error, User-specified max_model_len (400000) is greater than the derived max_model_len",
         "larger than the model's own"),
        ("huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot folder",
         "Hugging Face cannot be reached"),
        ("huggingface_hub.errors.GatedRepoError: 401 Client Error.", "accept the model's licence"),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("OSError: [Errno 98] Address already in use", "took the port"),
        ("ValueError: Model architectures ['GlmNext'] are not supported for now.", "too old for the model"),
    ],
)  # fmt: skip
def test_reasons_are_told_from_the_log(tmp_path: Path, said: str, reason: str) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(f"INFO starting\n{said}\n" + "INFO more\n" * 200)
    assert reason in (likely_reason(log) or "")


def test_no_reason_is_made_up(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_text("INFO starting\nSegmentation fault\n")
    assert likely_reason(tmp_path / "vllm.log") is None
    assert likely_reason(tmp_path / "missing.log") is None


class Place:
    """A project with the stand-in installed as its vLLM, and a machine without GPUs to look at."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / ".tools" / "run"
        self.port = port_for_a_server()

    def start(self, name: str, *, yes: bool = False, timeout_seconds: float = 30) -> int:
        return serve.start(name, host="127.0.0.1", port=self.port, yes=yes, timeout_seconds=timeout_seconds)

    @property
    def service(self) -> process.Service | None:
        return process.find(self.run, vllm.SERVICE)

    @property
    def started(self) -> dict[str, object]:
        return dict(json.loads((self.run / "started.json").read_text()))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    (tmp_path / "src" / "swetrials").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    shutil.copytree(find_project().config, tmp_path / "config")
    install(tmp_path / ".tools" / "vllm")
    monkeypatch.setenv("SWETRIALS_HOME", str(tmp_path))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    made = Place(tmp_path)
    yield made
    process.stop(made.run, vllm.SERVICE, drain_seconds=1)


def test_what_is_served_can_be_told_from_the_state_file(place: Place) -> None:
    assert place.start("glm-5.2") == 0
    hosting = hosted_here(place.run, place.port, "glm-5.2")
    assert (hosting.tensor_parallel_size, hosting.precision, hosting.engine) == (8, "FP8", "vLLM 0.32.0")
    assert hosting.gpu is None  # there is no nvidia-smi here
    assert hosted_here(place.run, place.port + 1, "glm-5.2") == HostingRecord()
    assert hosted_here(place.run, place.port, "glm-5.3") == HostingRecord()
    process.stop(place.run, vllm.SERVICE, drain_seconds=1)
    assert hosted_here(place.run, place.port, "glm-5.2") == HostingRecord()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "port": 1, "notes": {"model": 1}}'])
def test_a_state_file_of_another_shape_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "vllm.json").write_text(text)
    assert hosted_here(tmp_path, 1, "m") == HostingRecord()


@pytest.mark.parametrize(
    ("vendor", "product", "told"),
    [
        ("Amazon EC2", "g6e.12xlarge", "g6e.12xlarge"),
        ("Amazon EC2", "HVM domU", None),
        ("Dell Inc.", "PowerEdge R750", None),
    ],
)
def test_the_firmware_tells_the_instance_type(tmp_path: Path, vendor: str, product: str, told: str | None) -> None:
    assert instance_type(tmp_path) is None
    (tmp_path / "sys_vendor").write_text(f"{vendor}\n")
    (tmp_path / "product_name").write_text(f"{product}\n")
    assert instance_type(tmp_path) == told


def test_one_model_after_another(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    assert place.start("qwen3-coder-30b") == 0
    first = place.service
    assert first is not None
    assert serve.status(as_json=True) == 0
    said = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert (said["model"], said["ready"], said["max_model_len"]) == ("qwen3-coder-30b", True, 200_000)
    assert said["window"]["verdict"] == "go"

    assert place.start("glm-5.2") == 0
    second = place.service
    assert second is not None
    assert not process.running(first)
    listed = httpx.get(f"{second.base_url}/v1/models", trust_env=False).json()
    assert [entry["id"] for entry in listed["data"]] == ["glm-5.2"]
    out = capfd.readouterr().out
    assert "window: go: the served window is 300,000 tokens" in out
    assert f"next: swetrials doctor --provider vllm --endpoint http://127.0.0.1:{place.port} --model glm-5.2" in out

    assert serve.stop() == 0
    assert not process.running(second)
    assert serve.status(as_json=False) == serve.NOT_SERVING
    assert "nothing is served: swetrials serve start MODEL" in capfd.readouterr().out
    assert serve.stop() == 0


@pytest.mark.slow
def test_restart_keeps_model_and_port(place: Place) -> None:
    with pytest.raises(UsageError, match="nothing is served that could be restarted"):
        serve.restart(None, host="127.0.0.1", port=None, yes=False, timeout_seconds=30)
    assert place.start("qwen3-coder-30b") == 0
    first = place.service
    assert serve.restart(None, host="127.0.0.1", port=None, yes=False, timeout_seconds=30) == 0
    second = place.service
    assert first is not None and second is not None
    assert (second.port, second.notes) == (first.port, first.notes)
    assert second.pid != first.pid


def test_the_token_reaches_the_server_and_nothing_else(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    assert place.start("qwen3-coder-30b") == 0
    environment = place.started["environment"]
    assert isinstance(environment, dict)
    assert environment["HF_TOKEN"] == TOKEN
    assert TOKEN not in str(place.started["argv"])
    captured = capfd.readouterr()
    assert "Hugging Face token: HF_TOKEN" in captured.err
    assert TOKEN not in captured.out + captured.err
    for file in place.run.iterdir():
        assert file.name == "started.json" or TOKEN not in file.read_text()


def test_without_a_token_its_price_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert place.start("qwen3-coder-30b") == 0
    assert "warning: no Hugging Face token (HF_TOKEN, or a file .hf_token in benchmarks/)" in capfd.readouterr().err


def test_a_middling_window_wants_a_yes_before_anything_starts(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    assert place.start("qwen3-32b") == 3
    assert "131,072 tokens, below 200,000" in (said := capfd.readouterr().err)
    assert "add --yes" in said
    assert place.service is None and not (place.run / "started.json").exists()
    assert place.start("qwen3-32b", yes=True) == 0
    assert "window: ask: the served window is 131,072 tokens" in capfd.readouterr().out


def test_a_small_window_is_refused_in_spite_of_a_yes(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program(place.root / "gpus", "nvidia-smi", "for i in 1 2 3 4; do echo 'NVIDIA L40S, 46068'; done")
    monkeypatch.setenv("PATH", f"{place.root / 'gpus'}:/usr/bin:/bin")
    assert place.start("qwen3-coder-next", yes=True) == 3
    assert "16,384 tokens, below 64,000" in capfd.readouterr().err
    assert place.service is None


def test_the_window_that_counts_is_the_one_served(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STAND_IN_WINDOW", "32768")
    assert place.start("qwen3-coder-30b") == 3
    assert "window: refuse: the served window is 32,768 tokens" in capfd.readouterr().out


@first_is_quick(
    ("failure", "reason"),
    [("parser", "this vLLM knows no tool-call parser hermes"), ("memory", "out of memory"), ("riddle", None)],
)
def test_a_server_that_does_not_come_up(
    place: Place, monkeypatch: pytest.MonkeyPatch, failure: str, reason: str | None
) -> None:
    monkeypatch.setenv("STAND_IN_FAILURE", failure)
    with pytest.raises(ServiceError) as raised:
        place.start("qwen3-coder-30b")
    first, *rest = str(raised.value).splitlines()
    if reason is not None:
        assert reason in first
        first, *rest = rest
    assert "before it was ready; the end of " in first
    assert FAILURES[failure] in "\n".join(rest)
    assert place.service is None
    monkeypatch.delenv("STAND_IN_FAILURE")
    assert place.start("qwen3-coder-30b") == 0


def test_a_taken_port_is_said(place: Place) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", place.port))
        other.listen()
        with pytest.raises(ServiceError, match=f"port {place.port} on 127.0.0.1 is taken by another program"):
            place.start("qwen3-coder-30b")


def test_a_slow_server_goes_on_in_the_background(place: Place) -> None:
    slow = place.root / ".tools" / "vllm" / "bin" / "vllm"
    slow.write_text("#!/bin/sh\necho downloading\nexec sleep 60\n")
    with pytest.raises(ServiceError) as raised:
        place.start("qwen3-coder-30b", timeout_seconds=0.5)
    assert "downloading" in str(raised.value)
    assert str(raised.value).endswith("swetrials serve status, swetrials serve stop")
    assert place.service is not None
    assert serve.status(as_json=False) == serve.NOT_SERVING


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("qwen3-coder-30", "'qwen3-coder-30' is not in config/models.yaml; did you mean 'qwen3-coder-30b'?"),
        ("gpt", "'gpt' is not in config/models.yaml"),
    ],
)
def test_an_unknown_model(place: Place, name: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        place.start(name)
    assert str(raised.value).startswith(said)
    assert "swetrials serve catalogue" in str(raised.value)


def test_only_two_places_to_listen(place: Place) -> None:
    with pytest.raises(UsageError, match=r"--host: 'example.com' is not one of"):
        serve.start("glm-5.2", host="example.com", port=1, yes=True, timeout_seconds=1)


def test_the_catalogue_is_listed_and_written(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    assert serve.catalogue(None) == 0
    assert "qwen3-coder-30b" in capfd.readouterr().out
    assert serve.catalogue(place.root / "models.md") == 0
    assert (place.root / "models.md").read_text().startswith("# Self-hosted models\n")
