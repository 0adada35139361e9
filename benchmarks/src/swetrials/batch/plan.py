"""What a batch of models consists of, settled before anything starts: folders, and the exact words of every step.

Each step is a command of this package, run in a process of its own, and not a call: so the crash of one model's run
takes neither the batch nor another model's judging with it, every step can be repeated by hand, and each has the
checks, the locks and the exit code of the command that a person would type.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from swetrials.errors import UsageError
from swetrials.hosting.vllm.provider import DEFAULT_ENDPOINT
from swetrials.judging import JUDGES
from swetrials.records.config import RunnerConfig
from swetrials.records.record import Record
from swetrials.records.slug import model_slug
from swetrials.runs.defaults import with_benchmark
from swetrials.runs.judge_choice import JudgeChoice
from swetrials.runs.prepared_run import PreparedRun, lay_out
from swetrials.store.documents import load_config
from swetrials.store.project import find_project
from swetrials.wire.model_list import is_loopback

JudgeMode = Literal["inline", "async", "skip"]
"""When a model's trials are judged: before the next model, while the next one generates, or not at all."""

SERVED_BY_BATCH = "vllm"
"""The provider whose models a batch serves itself, one after another; the default."""

_PER_MODEL = frozenset({"model", "api_key", "judge_api_key", "max_budget_usd"})
# What the others have left of the budget is another sum for each model. The key goes to the steps in their
# environment: words can be read by everybody on the machine.


@dataclass(frozen=True)
class BatchOptions:
    """What a person decides for a batch beside the configuration that all its runs share."""

    judge_mode: JudgeMode = "inline"
    judges: tuple[str, ...] = JUDGES.own
    judge_parallel: int = 1
    commit: bool = False
    yes: bool = False
    resume: bool = False
    force: bool = False


class PlannedModel(Record):
    """One model of a batch. ``scopes`` are the folders of its run."""

    model: str
    scopes: tuple[Path, ...]

    @property
    def slug(self) -> str:
        """The model's name in paths."""
        return model_slug(self.model)


class BatchPlan(Record):
    """A batch, as it is handed to the process that works through it. No secret is in it."""

    provider: str
    models: tuple[PlannedModel, ...]
    run_flags: tuple[str, ...]
    judge_flags: tuple[str, ...]
    judge_mode: JudgeMode
    judge_parallel: int
    commit: bool
    yes: bool
    resume: bool
    max_budget_usd: float | None
    port: int | None
    metrics: Path

    @property
    def serves(self) -> bool:
        """Whether each model has to be served on this machine first."""
        return self.provider == SERVED_BY_BATCH

    def serve(self, model: PlannedModel) -> tuple[str, ...]:
        """Return the words that serve a model, which judge its window, too."""
        return ("serve", "start", model.model, f"--port={self.port}", *(("--yes",) if self.yes else ()))

    def collect(self, model: PlannedModel) -> tuple[str, ...]:
        """Return the words that start collecting the server's metrics."""
        scope = model.scopes[0].name
        return ("collect", "start", f"--model={model.model}", f"--scope={scope}", f"--folder={self._metrics_of(model)}")

    def archive(self, model: PlannedModel) -> tuple[str, ...]:
        """Return the words that archive what was collected."""
        return ("collect", "archive", f"--folder={self._metrics_of(model)}", f"--out={self.metrics / 'archive'}")

    def run(self, model: PlannedModel, budget_usd: float | None) -> tuple[str, ...]:
        """Return the words that run a model's trials for at most so many dollars."""
        limit = () if budget_usd is None else (f"--max-budget-usd={budget_usd}",)
        return ("run", f"--model={model.model}", *limit, *self.run_flags)

    def judge(self, scope: Path) -> tuple[str, ...]:
        """Return the words that judge what is not judged yet in one folder."""
        return ("judge", "--recursive", "--no-overwrite", f"--folder={scope}", *self.judge_flags)

    def _metrics_of(self, model: PlannedModel) -> Path:
        return self.metrics / model.slug


def batch_config(path: Path | None, flags: Mapping[str, object]) -> RunnerConfig:
    """Return the configuration that the runs of a batch share.

    What they are hosted by is vLLM unless it is said, and the dataset is the benchmark's.

    Raises:
        DocumentError: a key has a fault.
    """
    config = load_config(path, os.environ, flags)
    if "provider" not in config.model_fields_set:
        config = load_config(path, os.environ, {**flags, "provider": SERVED_BY_BATCH})
    return with_benchmark(config, find_project())


def lay_out_batch(config: RunnerConfig, models: Sequence[str], options: BatchOptions) -> list[PreparedRun]:
    """Plan the run of each model.

    Raises:
        UsageError: what is asked for contradicts itself, or agent, provider or sandbox are not to be had.
        DocumentError: the dataset has faults.
        PlanError: a task or the skill is unknown.
    """
    if options.commit and options.judge_mode == "skip":
        raise UsageError("--commit needs scores, --judge-mode skip leaves none: leave one of them out")
    if options.judge_mode != "skip" and not options.judges:
        raise UsageError(f"--judge: name at least one of {', '.join(JUDGES.own)}, or --judge-mode skip")
    prepared_runs: list[PreparedRun] = []
    owners: dict[Path, str] = {}
    for model in models:
        prepared = lay_out(_for_model(config, model))
        for scope in prepared.plan.scopes:
            if (other := owners.setdefault(scope, model)) != model or model in models[: len(prepared_runs)]:
                raise UsageError(f"{model} and {other} would write to the same folder {scope}: name one of them")
        prepared_runs.append(prepared)
    return prepared_runs


def plan_batch(prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> BatchPlan:
    """Return what has to be done for some planned runs.

    Raises:
        UsageError: vLLM is to be started on another machine.
    """
    config = prepared_runs[0].config
    results = Path(config.output_dir).absolute()
    return BatchPlan(
        provider=config.provider,
        models=tuple(
            PlannedModel(model=b.config.model, scopes=tuple(s.absolute() for s in b.plan.scopes)) for b in prepared_runs
        ),
        run_flags=(*_flags(config), *(f"--{name}" for name in ("yes", "resume", "force") if getattr(options, name))),
        judge_flags=_judge_flags(config, options),
        judge_mode=options.judge_mode,
        judge_parallel=options.judge_parallel,
        commit=options.commit,
        yes=options.yes,
        resume=options.resume,
        max_budget_usd=config.max_budget_usd,
        port=_port(config) if config.provider == SERVED_BY_BATCH else None,
        metrics=results / ".metrics",
    )


def _for_model(config: RunnerConfig, model: str) -> RunnerConfig:
    return load_config(None, {}, {**_given(config), "model": model})


def _given(config: RunnerConfig) -> dict[str, object]:
    return {key: getattr(config, key) for key in config.model_fields_set}


def _flags(config: RunnerConfig) -> tuple[str, ...]:
    """Return the settings as words, so that a file that is changed in the meantime changes no later model."""
    words = []
    for key, value in sorted(_given(config).items()):
        flag = key.replace("_", "-")
        if key in _PER_MODEL or key.startswith("judge_") or value is None or value == ():
            continue
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag}={_word(value)}")
    return tuple(words)


def _word(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _judge_flags(config: RunnerConfig, options: BatchOptions) -> tuple[str, ...]:
    given = {
        "judge": ",".join(options.judges),
        "dataset": config.dataset,
        "clone-root": config.clone_dir,
        "environment": config.environment,
        "preparations-max-gb": config.preparations_max_gb,
        **JudgeChoice.of(config).flags(),
    }
    return tuple(f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None)


def _port(config: RunnerConfig) -> int:
    address = urlsplit(config.endpoint or DEFAULT_ENDPOINT)
    if not is_loopback(address.geturl()) or address.port is None:
        raise UsageError(
            f"--endpoint: a batch serves its models on this machine, {config.endpoint} is another: "
            "leave it out, or run it there"
        )
    return address.port
