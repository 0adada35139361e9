"""The catalogue of self-hosted models, for ``docs/models.md`` and for the terminal."""

from collections.abc import Sequence

from swetrials.records.models import Fit, HostedModel, ModelRegistry, window_verdict
from swetrials.results.report.markdown import table
from swetrials.results.report.wording import UNKNOWN

_COLUMNS = ("model", "repository", "window", "tool parser", "reasoning parser", "GPUs", "fits", "memory", "vLLM")
_INTRODUCTION = """\
# Self-hosted models

Generated from `benchmarks/config/models.yaml` by `make docs`; edit that file.

Each model is served with vLLM by its name: `swetrials serve start MODEL`. The columns: **window** is the largest that
is known to be served well, in tokens; **GPUs** is how many one copy is spread over (tensor parallel); **fits** names
hardware by the fit key below, with what differs there; **memory** is the share of each GPU's memory that vLLM takes;
**vLLM** is the oldest version that serves the model, where one is known.
"""
_WINDOWS = """\
The window is looked at again before every run: from 200,000 tokens on a coding agent is at ease, down to 64,000 you
are asked (`--yes` answers), and below that a run is refused. A thinking model needs its reasoning parser, or its
reasoning leaks into the answer. Trusting remote code runs Python out of the model's repository: it is set per model,
and for official repositories only.
"""


def catalogue_markdown(registry: ModelRegistry) -> str:
    """Return the catalogue as GitHub-flavoured markdown."""
    lines = [*_INTRODUCTION.splitlines(), ""]
    lines += table(_COLUMNS, [_row(registry, model) for model in registry.models])
    lines += [
        "",
        "## Fit key",
        "",
        *table(("key", "GPUs", "memory of each", "instance", "models"), _machines(registry)),
    ]
    lines += ["", "## Windows and parsers", "", *_WINDOWS.splitlines(), "", "## Notes", ""]
    lines += [f"- `{model.served_name}`: {' '.join(notes)}" for model in registry.models if (notes := _notes(model))]
    return "\n".join([*lines, ""])


def catalogue_text(registry: ModelRegistry) -> str:
    """Return the models, their windows and what they fit, one a line, for a terminal."""
    rows = [
        ("model", "window", "fits"),
        *((m.served_name, f"{m.context_window:,}", _fits(registry, m)) for m in registry.models),
    ]
    names, windows = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{name:<{names}}  {window:>{windows}}  {fits}" for name, window, fits in rows)


def fit_key_text(registry: ModelRegistry) -> str:
    """Return what the names of hardware in the catalogue stand for, one a line, for a terminal."""
    rows = [(m.key, f"{m.gpus} x {m.gpu}", f"{m.gpu_memory_gb} GB each", m.instance) for m in registry.hardware]
    keys, gpus, memory = (max(len(row[column]) for row in rows) for column in (0, 1, 2))
    lines = [f"{key:<{keys}}  {gpu:<{gpus}}  {each:<{memory}}  {instance}" for key, gpu, each, instance in rows]
    return "\n".join(lines)


def _row(registry: ModelRegistry, model: HostedModel) -> tuple[str, ...]:
    return (
        f"`{model.served_name}`",
        model.repository,
        f"{model.context_window:,}" + ("" if window_verdict(model.context_window).verdict == "go" else " (asks)"),
        model.tool_call_parser,
        model.reasoning_parser or UNKNOWN,
        str(model.tensor_parallel_size),
        _fits(registry, model),
        f"{model.gpu_memory_utilization:.2f}",
        f">= {model.min_vllm_version}" if model.min_vllm_version else UNKNOWN,
    )


def _fits(registry: ModelRegistry, model: HostedModel) -> str:
    return "; ".join(_fit(registry, model, fit) for fit in model.fits)


def _fit(registry: ModelRegistry, model: HostedModel, fit: Fit) -> str:
    machine, used = registry.machine(fit), model.gpus_on(fit)
    differs = [f"{used} of its GPUs"] if used < machine.gpus else []
    differs += [f"{used} GPUs"] if used == machine.gpus and fit.tensor_parallel_size else []
    differs += [f"{fit.context_window:,} tokens only"] if fit.context_window else []
    return f"{fit.hardware} ({', '.join(differs)})" if differs else fit.hardware


def _machines(registry: ModelRegistry) -> Sequence[Sequence[str]]:
    rows = []
    for machine in registry.hardware:
        fitting = [m.served_name for m in registry.models if any(fit.hardware == machine.key for fit in m.fits)]
        gpus, memory = f"{machine.gpus} x {machine.gpu}", f"{machine.gpu_memory_gb} GB"
        rows.append((machine.key, gpus, memory, machine.instance, ", ".join(fitting) or UNKNOWN))
    return rows


def _notes(model: HostedModel) -> list[str]:
    notes = [model.notes] if model.notes else []
    if model.no_reasoning_parser:
        notes.append(f"No reasoning parser: {model.no_reasoning_parser}.")
    if model.effort:
        notes.append(f"Claude Code is made to ask for the effort `{model.effort}`.")
    if model.precision:
        notes.append(f"{model.precision}.")
    if model.trust_remote_code:
        notes.append("Trusts remote code.")
    if model.extra_arguments:
        notes.append(f"Served with `{' '.join(model.extra_arguments)}`.")
    if model.extra_environment:
        notes.append(f"Environment: {', '.join(f'`{k}={v}`' for k, v in model.extra_environment.items())}.")
    return notes
