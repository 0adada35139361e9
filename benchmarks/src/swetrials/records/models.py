"""The registry of self-hosted models: how each is served by vLLM, on what hardware, with which window."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from swetrials.records.config import model_id
from swetrials.records.record import Record, fault_at, safe_path_part

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PARSER = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VERSION = re.compile(r"\d+(?:\.\d+){1,2}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD", re.IGNORECASE)

_OWN_FLAGS = frozenset(
    {
        "--api-key",
        "--enable-auto-tool-choice",
        "--enable-prompt-tokens-details",
        "--gpu-memory-utilization",
        "--host",
        "--max-model-len",
        "--model",
        "--port",
        "--reasoning-parser",
        "--served-model-name",
        "--tensor-parallel-size",
        "--tool-call-parser",
        "--trust-remote-code",
        "-tp",
    }
)
"""What the registry has a key of its own for, or the harness decides."""

COMFORTABLE_WINDOW_TOKENS = 200_000
"""From here on a coding agent works as it does with its vendor's models."""

SMALLEST_WINDOW_TOKENS = 64_000
"""Below this an agent's own prompt, the code it reads and the reserved output leave no room to work in."""


def _repository(value: str) -> str:
    if not _REPOSITORY.fullmatch(value):
        raise ValueError(f"{value!r} is not a Hugging Face repository: write organisation/name")
    return value


def _parser(value: str) -> str:
    if not _PARSER.fullmatch(value):
        raise ValueError(f"{value!r} is not the name of a parser; vllm serve --help lists them")
    return value


def _version(value: str) -> str:
    if not _VERSION.fullmatch(value):
        raise ValueError(f"{value!r} is not a version: write it in quotes, like '0.28'")
    return value


def _served_name(value: str) -> str:
    return safe_path_part(model_id(value))


ServedName = Annotated[str, AfterValidator(_served_name)]
ParserName = Annotated[str, AfterValidator(_parser)]
Version = Annotated[str, AfterValidator(_version)]
ReasoningEffort = Literal["low", "medium", "high", "xhigh", "max"]
"""The scale of ``output_config.effort`` in Anthropic Messages, which vLLM hands to the chat template as it is."""


class Hardware(Record):
    """A machine that models are served on. ``key`` is the fit key that the catalogue speaks of, like ``8xH200``."""

    key: str = Field(min_length=1)
    gpu: str = Field(min_length=1, description="part of the name that nvidia-smi gives the GPU")
    gpus: int = Field(ge=1)
    gpu_memory_gb: int = Field(ge=1, description="memory of one GPU")
    instance: str = Field(min_length=1, description="the cloud's name for such a machine")


class Fit(Record):
    """One kind of hardware that a model fits, and what differs there from the model's own figures."""

    hardware: str = Field(min_length=1, description="key of the hardware")
    context_window: int | None = Field(None, gt=0, description="tokens, where it is less than the model's own")
    tensor_parallel_size: int | None = Field(None, ge=1, description="GPUs, where they are not the model's own number")


class HostedModel(Record):
    """One model and the ``vllm serve`` flags that make it fit for agents."""

    served_name: ServedName = Field(description="the name that requests ask for")
    repository: Annotated[str, AfterValidator(_repository)] = Field(description="on Hugging Face")
    context_window: int = Field(gt=0, description="the largest window, in tokens, that it is known to serve well")
    tool_call_parser: ParserName = Field(description="without it tool calls come back as text and an agent stalls")
    reasoning_parser: ParserName | None = Field(
        None, description="a thinking model without it leaks reasoning into the answer"
    )
    no_reasoning_parser: str = Field("", description="why there is no reasoning_parser")
    reasoning_efforts: tuple[ReasoningEffort, ...] = Field(
        (), description="what the chat template accepts, the one to ask for first; empty: whatever an agent asks for"
    )
    precision: str | None = Field(None, min_length=1, description="of the weights, such as BF16; None: not known")
    tensor_parallel_size: int = Field(1, ge=1, description="GPUs that one copy is spread over")
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1, description="share of each GPU's memory that vLLM takes")
    trust_remote_code: bool = Field(False, description="runs Python out of the model's repository: official ones only")
    extra_arguments: tuple[str, ...] = Field((), description="more words for vllm serve")
    extra_environment: dict[str, str] = Field({}, description="more variables for vllm serve; no secrets")
    fits: tuple[Fit, ...] = Field(min_length=1, description="from the best to the least")
    min_vllm_version: Version | None = Field(None, description="None: none is known")
    notes: str = ""

    @model_validator(mode="after")
    def _no_flag_has_two_places(self) -> Self:
        for index, word in enumerate(self.extra_arguments):
            if word.partition("=")[0] in _OWN_FLAGS:
                raise fault_at(f"{word} has its own place and cannot be an extra", "extra_arguments", index)
        return self

    @model_validator(mode="after")
    def _a_parser_or_the_reason(self) -> Self:
        if self.reasoning_parser is not None and self.no_reasoning_parser:
            raise fault_at("there is a reasoning_parser: leave the reason out", "no_reasoning_parser")
        return self

    @property
    def effort(self) -> ReasoningEffort | None:
        """The reasoning effort to ask for; ``None``: what an agent asks for by itself is accepted."""
        return self.reasoning_efforts[0] if self.reasoning_efforts else None

    @model_validator(mode="after")
    def _environment_is_plain(self) -> Self:
        for name in self.extra_environment:
            if not _VARIABLE.fullmatch(name):
                raise fault_at(f"{name!r} is not the name of a variable", "extra_environment", name)
            if _SECRET.search(name):
                raise fault_at("a secret does not belong in this file", "extra_environment", name)
        return self

    @model_validator(mode="after")
    def _some_hardware_takes_the_whole_window(self) -> Self:
        for index, fit in enumerate(self.fits):
            if fit.context_window is not None and fit.context_window > self.context_window:
                raise fault_at("is larger than the model's own window", "fits", index, "context_window")
        if all(fit.context_window is not None for fit in self.fits):
            raise fault_at("no hardware takes the model's whole window", "fits")
        return self

    def window_on(self, fit: Fit) -> int:
        """Return the tokens that the model is served with on some hardware."""
        return fit.context_window or self.context_window

    def gpus_on(self, fit: Fit) -> int:
        """Return the GPUs that the model is spread over on some hardware."""
        return fit.tensor_parallel_size or self.tensor_parallel_size


class ModelRegistry(Record):
    """``config/models.yaml``."""

    schema_version: Literal["1.0"]
    hardware: tuple[Hardware, ...] = Field(min_length=1)
    models: tuple[HostedModel, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for key, names in (
            ("hardware", [hardware.key for hardware in self.hardware]),
            ("models", [model.served_name for model in self.models]),
        ):
            for index, name in enumerate(names):
                if name in names[:index]:
                    raise fault_at(f"{name!r} is listed twice", key, index)
        return self

    @model_validator(mode="after")
    def _fits_are_possible(self) -> Self:
        machines = {hardware.key: hardware for hardware in self.hardware}
        for index, model in enumerate(self.models):
            for place, fit in enumerate(model.fits):
                at = ("models", index, "fits", place)
                if fit.hardware not in machines:
                    known = ", ".join(machines)
                    raise fault_at(f"{fit.hardware!r} is not one of the hardware listed: {known}", *at, "hardware")
                gpus, wanted = machines[fit.hardware].gpus, model.gpus_on(fit)
                if wanted > gpus:
                    raise fault_at(f"{model.served_name} is spread over {wanted} GPUs, {fit.hardware} has {gpus}", *at)
        return self

    def model(self, served_name: str) -> HostedModel | None:
        """Return the model that is served under a name."""
        return next((model for model in self.models if model.served_name == served_name), None)

    def machine(self, fit: Fit) -> Hardware:
        """Return the hardware that a fit speaks of."""
        return next(hardware for hardware in self.hardware if hardware.key == fit.hardware)


class WindowVerdict(Record):
    """Whether a served window will do for a coding agent. ``ask``: only with a person's yes."""

    verdict: Literal["go", "ask", "refuse"]
    reason: str


def window_verdict(max_model_len: int | None) -> WindowVerdict:
    """Judge the window that a server gives in ``/v1/models``, in tokens; ``None`` when it gives none."""
    if max_model_len is None:
        return WindowVerdict(verdict="ask", reason="the server does not say how large its window is")
    window = f"the served window is {max_model_len:,} tokens"
    if max_model_len >= COMFORTABLE_WINDOW_TOKENS:
        return WindowVerdict(verdict="go", reason=window)
    if max_model_len >= SMALLEST_WINDOW_TOKENS:
        reason = (
            f"{window}, below {COMFORTABLE_WINDOW_TOKENS:,}: long tasks will be compacted often, which costs quality"
        )
        return WindowVerdict(verdict="ask", reason=reason)
    reason = (
        f"{window}, below {SMALLEST_WINDOW_TOKENS:,}: the agent's own prompt, the code it reads and the "
        "reserved output do not fit"
    )
    return WindowVerdict(verdict="refuse", reason=reason)


def version_at_least(version: str, minimum: str) -> bool | None:
    """Whether a version is a minimum or newer; ``None`` when it cannot be told, as for a build of one's own."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    if found is None:
        return None
    mine, least = ([int(part) for part in text.split(".")] for text in (found[0], minimum))
    length = max(len(mine), len(least))
    return [*mine, *[0] * (length - len(mine))] >= [*least, *[0] * (length - len(least))]
