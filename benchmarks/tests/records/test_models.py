"""The registry of self-hosted models: what it may hold, what it holds, and when a window will do."""

from pathlib import Path

import pytest

from swetrials.records.models import HostedModel, ModelRegistry, version_at_least, window_verdict
from swetrials.store.documents import DocumentError, load_document
from swetrials.store.project import find_project

SHIPPED = load_document(find_project().config / "models.yaml", ModelRegistry)

GOOD = """\
schema_version: "1.0"
hardware:
  - {key: 4xL40S, gpu: L40S, gpus: 4, gpu_memory_gb: 48, instance: g6e.12xlarge}
models:
  - served_name: small
    repository: someone/Small
    context_window: 200000
    tool_call_parser: hermes
    tensor_parallel_size: 4
    extra_arguments: [--max-num-seqs, "32"]
    extra_environment: {MODE: fast}
    fits:
      - hardware: 4xL40S
"""

SECOND = """\
  - served_name: other
    repository: someone/Other
    context_window: 200000
    tool_call_parser: hermes
    fits: [{hardware: 4xL40S}]
"""


def loaded(folder: Path, text: str) -> ModelRegistry:
    file = folder / "models.yaml"
    file.write_text(text)
    return load_document(file, ModelRegistry)


@pytest.mark.parametrize(
    ("name", "repository", "window", "tools", "reasoning", "gpus", "share"),
    [
        ("qwen3-coder-30b", "Qwen/Qwen3-Coder-30B-A3B-Instruct", 200_000, "qwen3_coder", None, 4, 0.90),
        ("qwen3.6-35b", "Qwen/Qwen3.6-35B-A3B", 200_000, "qwen3_coder", "qwen3", 4, 0.90),
        ("gemma-4-31b", "google/gemma-4-31B-it", 200_000, "gemma4", "gemma4", 4, 0.90),
        ("qwen3.8-27b", "Qwen/Qwen3.8-27B", 200_000, "qwen3_coder", "qwen3", 4, 0.90),
        ("qwen3-32b", "Qwen/Qwen3-32B", 131_072, "hermes", "qwen3", 4, 0.90),
        ("qwen3-coder-next", "Qwen/Qwen3-Coder-Next", 200_000, "qwen3_coder", None, 4, 0.90),
        ("minimax-m2.5", "MiniMaxAI/MiniMax-M2.5", 196_608, "minimax_m2", "minimax_m2", 4, 0.92),
        ("minimax-m3", "MiniMaxAI/MiniMax-M3-MXFP8", 262_144, "minimax_m3", "minimax_m3", 8, 0.90),
        ("qwen3-coder-480b", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", 200_000, "qwen3_coder", None, 4, 0.95),
        ("kimi-k2.7-code", "moonshotai/Kimi-K2.7-Code", 131_072, "kimi_k2", "kimi_k2", 8, 0.90),
        ("kimi-k3", "moonshotai/Kimi-K3", 131_072, "kimi_k3", "kimi_k3", 8, 0.90),
        ("glm-5.2", "zai-org/GLM-5.2-FP8", 300_000, "glm47", "glm47", 8, 0.95),
        ("glm-5.3", "zai-org/GLM-5.3", 300_000, "glm47", "glm47", 8, 0.95),
        ("deepseek-v3.2", "deepseek-ai/DeepSeek-V3.2", 131_072, "deepseek_v32", None, 8, 0.90),
        ("devstral-2-123b", "mistralai/Devstral-2-123B-Instruct-2512", 262_144, "mistral", None, 4, 0.90),
    ],
)
def test_what_is_shipped(
    name: str, repository: str, window: int, tools: str, reasoning: str | None, gpus: int, share: float
) -> None:
    model = SHIPPED.model(name)
    assert model is not None
    assert (model.repository, model.context_window) == (repository, window)
    assert (model.tool_call_parser, model.reasoning_parser) == (tools, reasoning)
    assert (model.tensor_parallel_size, model.gpu_memory_utilization) == (gpus, share)


def test_every_row_has_a_reasoning_parser_or_says_why_not() -> None:
    """A thinking model without one leaks its reasoning into the answer."""
    assert [m.served_name for m in SHIPPED.models if not m.reasoning_parser and not m.no_reasoning_parser] == []


def test_a_reason_beside_a_reasoning_parser_is_refused(tmp_path: Path) -> None:
    both = "tool_call_parser: hermes\n    reasoning_parser: qwen3\n    no_reasoning_parser: it does not think"
    with pytest.raises(DocumentError, match="there is a reasoning_parser: leave the reason out"):
        loaded(tmp_path, GOOD.replace("tool_call_parser: hermes", both))


def test_the_efforts_that_a_chat_template_takes_are_in_its_row() -> None:
    model = SHIPPED.model("qwen3.8-27b")
    assert model is not None
    assert (model.reasoning_efforts, model.effort) == (("xhigh", "medium", "low"), "xhigh")
    other = SHIPPED.model("glm-5.2")
    assert other is not None
    assert other.effort is None


def test_remote_code_is_trusted_per_model() -> None:
    assert {model.served_name for model in SHIPPED.models if model.trust_remote_code} == {
        "minimax-m2.5", "minimax-m3", "qwen3-coder-480b", "kimi-k2.7-code", "kimi-k3", "glm-5.2", "glm-5.3",
    }  # fmt: skip


def test_a_fit_may_have_a_smaller_window_and_other_gpus() -> None:
    model = SHIPPED.model("qwen3-coder-next")
    assert model is not None
    assert {fit.hardware: (model.window_on(fit), model.gpus_on(fit)) for fit in model.fits} == {
        "8xL40S": (200_000, 8),
        "4xL40S": (16_384, 4),
    }


def test_an_unknown_name_is_no_model() -> None:
    assert SHIPPED.model("gpt-2") is None


def test_the_example_of_the_faults_below_is_good(tmp_path: Path) -> None:
    assert [model.served_name for model in loaded(tmp_path, GOOD + SECOND).models] == ["small", "other"]


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("served_name: small", "served_name: ../small", 5, "'../small' is not a safe folder name"),
        ("served_name: small", "served_name: --small", 5, "models[0].served_name: '--small' is not a model id"),
        ("someone/Small", "Small", 6, "'Small' is not a Hugging Face repository: write organisation/name"),
        ("someone/Small", "--config=/x", 6, "is not a Hugging Face repository"),
        ("context_window: 200000", "context_window: 0", 7, "must be greater than 0"),
        ("context_window: 200000", "context_window: -5", 7, "must be greater than 0"),
        ("tool_call_parser: hermes", "tool_call_parser: Her mes", 8, "'Her mes' is not the name of a parser"),
        ("tensor_parallel_size: 4", "tensor_parallel_size: 8", 13, "small is spread over 8 GPUs, 4xL40S has 4"),
        ("[--max-num-seqs, ", "[--max-model-len, ", 10, "--max-model-len has its own place and cannot be an extra"),
        ("[--max-num-seqs, ", "[--port=1, ", 10, "--port=1 has its own place and cannot be an extra"),
        ("MODE: fast", "HF_TOKEN: hf_abc", 11, "a secret does not belong in this file"),
        ("MODE: fast", "'A B': x", 11, "'A B' is not the name of a variable"),
        ("hardware: 4xL40S", "hardware: 5xL40S", 13, "'5xL40S' is not one of the hardware listed: 4xL40S"),
        ("hardware: 4xL40S", "hardware: 4xL40S\n        context_window: 300000", 14, "larger than the model's own"),
        ("hardware: 4xL40S", "hardware: 4xL40S\n        context_window: 100000", 13, "takes the model's whole window"),
        ("served_name: other", "served_name: small", 14, "'small' is listed twice"),
        ("{MODE: fast}", "{MODE: fast}\n    min_vllm_version: 0.28", 12, "got the number 0.28; write it in quotes"),
        ("tool_call_parser: hermes", "tool_parser: hermes", 8, "unknown key; did you mean 'tool_call_parser'?"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    with pytest.raises(DocumentError) as raised:
        loaded(tmp_path, (GOOD + SECOND).replace(old, new, 1))
    assert any(problem.line == line and said in str(problem) for problem in raised.value.problems), str(raised.value)


def test_a_model_has_some_hardware() -> None:
    fields = {"served_name": "a", "repository": "a/b", "context_window": 1, "tool_call_parser": "x", "fits": []}
    with pytest.raises(ValueError, match="fits"):
        HostedModel.model_validate(fields)


@pytest.mark.parametrize(
    ("window", "verdict"),
    [
        (1_000_000, "go"),
        (200_000, "go"),
        (199_999, "ask"),
        (64_000, "ask"),
        (63_999, "refuse"),
        (2_048, "refuse"),
        (None, "ask"),
    ],
)
def test_the_window_gate(window: int | None, verdict: str) -> None:
    found = window_verdict(window)
    assert found.verdict == verdict
    if window is not None:
        assert f"{window:,} tokens" in found.reason


@pytest.mark.parametrize(
    ("version", "minimum", "enough"),
    [
        ("0.28.0", "0.28", True),
        ("0.28", "0.28.0", True),
        ("0.9.2", "0.28", False),
        ("0.32.0+cpu", "0.28", True),
        ("0.27.1rc1.dev3+gabc", "0.28", False),
        ("1.0", "0.28", True),
        ("dev", "0.28", None),
    ],
)
def test_versions_are_compared_as_numbers(version: str, minimum: str, enough: bool | None) -> None:
    assert version_at_least(version, minimum) is enough
