"""Why a vLLM server did not come up, told from its log. The patterns are what vLLM 0.32 prints."""

import os
import re
from pathlib import Path

_LOOKED_AT_BYTES = 262_144

_REASONS: tuple[tuple[str, str], ...] = (
    (
        r"invalid tool call parser: (\S+)",
        "this vLLM knows no tool-call parser {0}: upgrade vLLM, or mend tool_call_parser in config/models.yaml",
    ),
    (
        r"invalid reasoning parser: (\S+)",
        "this vLLM knows no reasoning parser {0}: upgrade vLLM, or mend reasoning_parser in config/models.yaml",
    ),
    (
        r"error: unrecognized arguments: (.+)",
        "this vLLM does not know the arguments {0}: upgrade vLLM, or mend extra_arguments in config/models.yaml",
    ),
    (
        r"error: argument (.+)",
        "vLLM does not take an argument: {0}: mend config/models.yaml",
    ),
    (
        r"architectures (.+?) are not supported|does not recognize this architecture",
        "this vLLM, or its transformers, is too old for the model: upgrade both",
    ),
    (
        r"GatedRepoError|Access to model .+ is restricted|401 Client Error|403 Client Error",
        "Hugging Face refuses the download: accept the model's licence there, and set HF_TOKEN",
    ),
    (
        r"RepositoryNotFoundError|404 Client Error",
        "Hugging Face knows no such repository, or it is private: mend repository in config/models.yaml",
    ),
    (
        r"LocalEntryNotFoundError|Cannot find an appropriate cached snapshot|huggingface\.co.*Max retries",
        "Hugging Face cannot be reached, and the model is not in the cache on this machine",
    ),
    (
        r"No space left on device|Errno 28",
        "the disk is full: make room where HF_HOME is, or move it",
    ),
    (
        r"Free memory on device .+ is less than desired",
        "another program holds memory of the GPUs: nvidia-smi shows which",
    ),
    (
        r"larger than the available KV cache memory|No available memory for the cache blocks",
        "out of memory: the window does not fit beside the weights: use more or larger GPUs (docs/models.md)",
    ),
    (
        r"OutOfMemoryError|CUDA out of memory|HIP out of memory|DefaultCPUAllocator: can't allocate",
        "out of memory: the weights do not fit: use more or larger GPUs (docs/models.md)",
    ),
    (
        r"World size .+ is larger than the number of|No CUDA GPUs are available",
        "there are fewer GPUs than the model is spread over",
    ),
    (
        r"greater than the derived max_model_len",
        "the window is larger than the model's own: mend context_window in config/models.yaml",
    ),
    (
        r"[Aa]ddress already in use|Errno 98",
        "another program took the port meanwhile: choose another --port",
    ),
)


def likely_reason(log: Path) -> str | None:
    """Return why the server ended, in a line that says what mends it; ``None`` when its log gives no hint."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOOKED_AT_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    for pattern, reason in _REASONS:
        if found := re.search(pattern, text):
            return reason.format(*((group or "").strip() for group in found.groups()))
    return None
