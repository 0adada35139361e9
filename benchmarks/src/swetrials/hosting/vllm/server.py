"""Serving one model of the registry with vLLM on this machine: what to start, how, and when it is ready."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from swetrials.errors import KnownError
from swetrials.hosting import process
from swetrials.hosting.process import Service, ServiceError, Waiting
from swetrials.hosting.vllm.gpus import Gpu
from swetrials.hosting.vllm.huggingface import VARIABLE as TOKEN_VARIABLE
from swetrials.hosting.vllm.huggingface import HubToken
from swetrials.hosting.vllm.machine import instance_type
from swetrials.hosting.vllm.start_failures import likely_reason
from swetrials.records.models import Fit, HostedModel, ModelRegistry, version_at_least
from swetrials.store.redaction import Redactor
from swetrials.wire.connecting import connection
from swetrials.wire.model_list import ModelListError, ServedModel, read_model_list

SERVICE = "vllm"
"""Name of the service: one model is served at a time."""

DEFAULT_PORT = 8000

INSTALL = "python3 -m venv .tools/vllm && .tools/vllm/bin/pip install vllm"
"""The command, run in benchmarks/, that puts vLLM where it is looked for."""

_CHECK_SECONDS = 5.0


class ServeError(KnownError):
    """A model cannot be served on this machine; the message says why and what mends it. Nothing was started."""

    exit_code = 3


@dataclass(frozen=True)
class ServePlan:
    """What will be started: a model on a kind of hardware, and what there is to remark about it."""

    model: HostedModel
    fit: Fit
    vllm: Path
    host: str
    port: int
    remarks: tuple[str, ...] = ()
    gpus: tuple[Gpu, ...] = ()

    @property
    def window(self) -> int:
        """The window that will be served, in tokens."""
        return self.model.window_on(self.fit)

    @property
    def hosting(self) -> dict[str, str]:
        """How the model will be hosted, as far as it is known: by the names of ``Hosting``, as text."""
        version = installed_version(self.vllm)
        told = {
            "instance_type": instance_type(),
            "gpu": " + ".join(sorted({gpu.name for gpu in self.gpus})) or None,
            "tensor_parallel_size": str(self.model.gpus_on(self.fit)),
            "precision": self.model.precision,
            "engine": f"vLLM {version}" if version else None,
        }
        return {name: text for name, text in told.items() if text is not None}

    @property
    def command(self) -> tuple[str, ...]:
        """The words to start; no secret is among them."""
        model = self.model
        words = [str(self.vllm), "serve", model.repository, "--served-model-name", model.served_name]
        words += ["--host", self.host, "--port", str(self.port)]
        words += ["--max-model-len", str(self.window), "--tensor-parallel-size", str(model.gpus_on(self.fit))]
        words += ["--gpu-memory-utilization", f"{model.gpu_memory_utilization:.2f}"]
        words += ["--enable-auto-tool-choice", "--tool-call-parser", model.tool_call_parser]
        if model.reasoning_parser is not None:
            words += ["--reasoning-parser", model.reasoning_parser]
        if model.trust_remote_code:
            words.append("--trust-remote-code")
        # Without these details vLLM's answers tell nothing about cached tokens.
        return (*words, "--enable-prompt-tokens-details", *model.extra_arguments)


def plan(
    registry: ModelRegistry,
    model: HostedModel,
    vllm: Path,
    gpus: Sequence[Gpu] | None,
    *,
    host: str = process.HOST,
    port: int = DEFAULT_PORT,
) -> ServePlan:
    """Settle how a model is served here: with the largest window that the registry endorses for these GPUs.

    Raises:
        ServeError: vLLM is too old, or there are too few GPUs.
    """
    remarks = []
    version = installed_version(vllm)
    if model.min_vllm_version is not None:
        if version is None:
            remarks.append(
                f"{model.served_name} wants vLLM {model.min_vllm_version}; what version {vllm} is is unknown"
            )
        elif version_at_least(version, model.min_vllm_version) is False:
            raise ServeError(
                f"{model.served_name} wants vLLM {model.min_vllm_version} or newer, {vllm} is {version}: upgrade it"
            )
    fit, about_gpus = _best_fit(registry, model, gpus)
    if host != process.HOST:
        remarks.append(f"listening on {host}: whoever reaches this machine can use the model, no key is asked for")
    return ServePlan(model, fit, vllm, host, port, (*remarks, *about_gpus), tuple(gpus or ()))


def find_vllm(tools: Path, path: str | None = None) -> Path:
    """Return the ``vllm`` program: that of the tools folder, else the one on the search path.

    Raises:
        ServeError: there is none.
    """
    found = shutil.which("vllm", path=f"{tools / 'vllm' / 'bin'}{os.pathsep}{path or os.environ.get('PATH', '')}")
    if found is None:
        raise ServeError(f"vllm is not installed; in benchmarks/ run: {INSTALL}")
    return Path(found)


def installed_version(vllm: Path) -> str | None:
    """Return the version from the package's metadata beside the program: asking vLLM itself takes ten seconds."""
    pattern = "lib/python3.*/site-packages/vllm-*.dist-info"
    found = [path.name.removeprefix("vllm-").removesuffix(".dist-info") for path in _prefix(vllm).glob(pattern)]
    return found[0] if len(found) == 1 else None


def server_environment(base: Mapping[str, str], planned: ServePlan, token: HubToken | None) -> dict[str, str]:
    """Return the environment of the server: the invoker's without its secrets, the token, and the model's own.

    A model may bring Python code of its own (``trust_remote_code``), which would read them all.
    """
    redactor = Redactor()
    plain = {name: value for name, value in base.items() if not redactor.hides(name, value)}
    # What vLLM compiles at run time calls programs of its own environment.
    path = f"{planned.vllm.parent}{os.pathsep}{base.get('PATH', os.defpath)}"
    secret = {TOKEN_VARIABLE: token.value.get_secret_value()} if token is not None else {}
    return {**plain, "PATH": path, "VLLM_NO_USAGE_STATS": "1", **planned.model.extra_environment, **secret}


def start(folder: Path, planned: ServePlan, environment: Mapping[str, str]) -> Service:
    """Start the server in the background, after stopping whatever this machine serves already.

    Raises:
        ServiceError: the port is taken, the other server cannot be stopped, or the program cannot be started.
    """
    process.stop(folder, SERVICE)
    return process.start(
        folder,
        SERVICE,
        planned.command,
        environment=environment,
        cwd=folder,
        port=planned.port,
        notes={"model": planned.model.served_name, "window": str(planned.window), **planned.hosting},
    )


def wait(service: Service, timeout_seconds: float, on_progress: Callable[[Waiting], None]) -> ServedModel:
    """Wait until the server answers requests, and return what it serves.

    Raises:
        ServiceError: it died or is not ready in time; the message holds the likely reason and the log's end.
    """
    try:
        process.wait_until_ready(
            service, lambda: served(service) is not None, timeout_seconds=timeout_seconds, on_progress=on_progress
        )
    except ServiceError as error:
        reason = None if process.running(service) else likely_reason(service.log)
        raise ServiceError(f"{reason}\n{error}" if reason else str(error)) from None
    model = served(service)
    if model is None:
        raise ServiceError(f"{service.name} answered and fell silent again; log: {service.log}")
    return model


def served(service: Service) -> ServedModel | None:
    """Return what a service serves at this moment; ``None`` while it is not ready."""
    try:
        with httpx.Client(base_url=service.base_url, timeout=_CHECK_SECONDS, **connection(service.base_url)) as client:
            if client.get("/health").status_code != httpx.codes.OK:
                return None
            models = read_model_list(client.get("/v1/models"))
    except (httpx.HTTPError, ModelListError):
        return None
    return next((model for model in models if model.id == service.notes.get("model")), None)


def _best_fit(registry: ModelRegistry, model: HostedModel, gpus: Sequence[Gpu] | None) -> tuple[Fit, tuple[str, ...]]:
    if gpus is None:
        return _widest(model, model.fits), ("there is no nvidia-smi here that works: the GPUs were not checked",)
    possible = [fit for fit in model.fits if model.gpus_on(fit) <= len(gpus)]
    here = ", ".join(sorted({gpu.name for gpu in gpus})) or "none"
    if not possible:
        least = min(model.gpus_on(fit) for fit in model.fits)
        raise ServeError(
            f"{model.served_name} is spread over {least} GPUs, this machine has {len(gpus)} ({here}): "
            "see docs/models.md for what fits"
        )
    known = [fit for fit in possible if any(registry.machine(fit).gpu in gpu.name for gpu in gpus)]
    if known:
        return _widest(model, known), ()
    meant = ", ".join(fit.hardware for fit in model.fits)
    return _widest(model, possible), (f"known to fit {meant}; these GPUs are {here}: it may run out of memory",)


def _widest(model: HostedModel, fits: Sequence[Fit]) -> Fit:
    return max(fits, key=model.window_on)


def _prefix(program: Path) -> Path:
    return program.resolve().parent.parent
