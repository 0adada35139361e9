"""``batch``: many models, one after another, without anybody waiting for them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from swetrials.cli.errors import PREFLIGHT, USAGE
from swetrials.cli.lean import LeanCommand, LeanGroup, command_group, leave
from swetrials.cli.options import ALL_JUDGES, JudgeNames, judge_names, with_config_keys_but
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.batch.plan import BatchOptions
    from swetrials.batch.status import BatchStatus
    from swetrials.hosting.process import Service
    from swetrials.records.models import ModelRegistry
    from swetrials.runs.prepared_run import PreparedRun


class _StartsByDefault(LeanGroup):
    """Takes what is none of its commands as words for ``start``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  Typer keeps its type to itself
        words = args if args and args[0] in self.commands else ["start", *args]
        return super().parse_args(ctx, words)


class _WithCatalogue(LeanCommand):
    """Shows the models that can be served below its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  Typer keeps its types to itself
        super().format_help(ctx, formatter)
        formatter.write(f"\nOther commands: swetrials batch status | tail | stop\n\n{catalogue()}\n")


app = command_group("Run many models one after another.", cls=_StartsByDefault, no_args_is_help=False)

NOT_RUNNING = 1
KEY_VARIABLE = "SWETRIALS_API_KEY"
JUDGE_KEY_VARIABLE = "SWETRIALS_JUDGE_API_KEY"
_SERVICE = "batch"
_STOP_SECONDS = 180.0
_TAIL_SECONDS = 0.5


@app.command(
    "start", cls=_WithCatalogue, epilog="Example: swetrials batch qwen3-coder-30b gemma-4-31b --judge-mode async"
)
@with_config_keys_but(provider="vllm", model="", dataset="dataset/mcp-gateway-registry.yaml")
def batch_start(
    flags: dict[str, object],
    models: Annotated[list[str] | None, typer.Argument(metavar="MODELS", help="Models, in their order.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file.", metavar="FILE")] = None,
    judge_mode: Annotated[
        Literal["inline", "async", "skip"], typer.Option(help="Judge after each model, beside the next one, or never.")
    ] = "inline",
    skip_judge: Annotated[bool, typer.Option("--skip-judge", help="The same as --judge-mode skip.")] = False,
    judge: JudgeNames = ALL_JUDGES,
    judge_parallel: Annotated[int, typer.Option(min=1, help="Models judged at the same time.")] = 1,
    commit: Annotated[bool, typer.Option("--commit", help="Commit each model's summary once it is scored.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept middling windows; move earlier trials away.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Keep finished trials, run the others.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --resume: run again what was asked otherwise.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")] = False,
    no_detach: Annotated[bool, typer.Option("--no-detach", help="Stay in this terminal until it is done.")] = False,
) -> None:
    """Run models one after another, in the background; a model that fails does not stop the rest."""
    from swetrials.batch.plan import BatchOptions

    options = BatchOptions(
        judge_mode="skip" if skip_judge else judge_mode,
        judges=judge_names(judge),
        judge_parallel=judge_parallel,
        commit=commit,
        yes=yes,
        resume=resume,
        force=force,
    )
    also = [str(flags.pop("model"))] if "model" in flags else []
    leave(start([*(models or ()), *also], config, flags, options, detach=not no_detach, dry_run=dry_run))


@app.command("work", hidden=True, epilog="Example: swetrials batch work .tools/run/batch-plan.json")
def batch_work(plan: Annotated[Path, typer.Argument(help="The plan's file.")]) -> None:
    """Work through a plan: what goes on in the background."""
    leave(work(plan))


@app.command("status", epilog="Example: swetrials batch status")
def batch_status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show how the batch stands, or how the last one came out; exit code 1 when none is running."""
    leave(status(as_json=as_json))


@app.command("tail", epilog="Example: swetrials batch tail")
def batch_tail(lines: Annotated[int, typer.Option(min=1, help="Lines to begin with.")] = 20) -> None:
    """Follow the log of the batch until it ends."""
    leave(tail(lines))


@app.command("stop", epilog="Example: swetrials batch stop")
def batch_stop() -> None:
    """Stop the batch; what has finished is saved."""
    leave(stop())


def start(
    models: Sequence[str],
    path: Path | None,
    flags: Mapping[str, object],
    options: BatchOptions,
    *,
    detach: bool,
    dry_run: bool = False,
) -> int:
    """Check a batch and start it: in the background, or here. With ``dry_run``, print what would run, model by model.

    Returns:
        Exit code. In the background: 0 once it has been started. Here: 1 when a model's run or judging failed.

    Raises:
        UsageError: what is asked for contradicts itself, or another batch runs.
        DocumentError: configuration, registry or dataset have faults.
    """
    from swetrials.batch.plan import batch_config, lay_out_batch, plan_batch
    from swetrials.hosting import process
    from swetrials.runs.dry_run import describe
    from swetrials.runs.judge_choice import JudgeChoice
    from swetrials.store.files import write_record

    config = batch_config(path, flags)
    if wrong := _wrong_models(models, config.provider):
        print(f"{catalogue()}\n\n{wrong}", file=sys.stderr)
        return USAGE
    prepared_runs = lay_out_batch(config, models, options)
    plan = plan_batch(prepared_runs, options)
    if dry_run:
        print("\n\n".join(describe(prepared) for prepared in prepared_runs))
        return 0
    if (running := process.find(_folder(), _SERVICE)) is not None:
        raise UsageError(f"a batch is running already: pid {running.pid}; see: swetrials batch status")
    if not _checked(prepared_runs, options):
        print("pre-flight failed: nothing was run", file=sys.stderr)
        return PREFLIGHT
    for variable, key in {KEY_VARIABLE: config.api_key, JUDGE_KEY_VARIABLE: JudgeChoice.of(config).api_key}.items():
        if key is not None:
            os.environ[variable] = key.get_secret_value()
    file = _folder() / "batch-plan.json"
    write_record(file, plan)
    return _detach(file) if detach else work(file)


def work(file: Path) -> int:
    """Work through a plan until ALL DONE. Exit code 1 when a model's run or judging failed; each is named.

    Raises:
        UsageError: another batch is at work.
        RecordError: the plan cannot be read.
    """
    from filelock import FileLock, Timeout

    from swetrials.batch.control import run_batch
    from swetrials.batch.plan import BatchPlan
    from swetrials.batch.status import Board
    from swetrials.batch.step import run_step
    from swetrials.cli.interrupting import run_async
    from swetrials.store.files import read_record

    plan = read_record(file, BatchPlan)
    lock = FileLock(_folder() / "batch-at-work.lock", timeout=0)
    try:
        with lock:
            board = Board(_status_file(), [model.model for model in plan.models], _say)
            status = run_async(lambda: run_batch(plan, board, partial(run_step, say=_say)))
    except Timeout:
        raise UsageError("another batch is at work in this clone: swetrials batch status") from None
    for model in status.models:
        for remark in model.remarks:
            _say(f"{model.model}: {remark}")
    for model in status.failed:
        for problem in model.problems:
            _say(f"failed: {model.model}: {problem}")
    _say(f"ALL DONE: {len(status.models)} models, {len(status.failed)} failed")
    return 1 if status.failed else 0


def status(*, as_json: bool) -> int:
    """Print how the batch stands, or how the last one came out. Exit code 1 when none is running."""
    from swetrials.hosting import process

    service, known = process.find(_folder(), _SERVICE), _status()
    if as_json:
        described = known.model_dump(mode="json") if known else None
        pid, log = (service.pid, str(service.log)) if service else (None, None)
        print(json.dumps({"running": service is not None, "pid": pid, "log": log, "batch": described}))
        return 0 if service else NOT_RUNNING
    print(_headline(service, known))
    for model in known.models if known else ():
        print(f"  {model.model}: run {model.run}, judging {model.judging}")
        for line in (*model.problems, *model.remarks):
            print(f"    {line}")
    return 0 if service else NOT_RUNNING


def tail(lines: int) -> int:
    """Print the end of the batch's log, and what is added to it until the batch ends."""
    from swetrials.hosting import process

    log = _folder() / f"{_SERVICE}.log"
    service = process.find(_folder(), _SERVICE)
    if not log.is_file():
        print("no batch was started in the background here")
        return NOT_RUNNING
    try:
        _follow(log, service, lines)
    except KeyboardInterrupt:
        print("\nno longer following; the batch goes on: swetrials batch status", file=sys.stderr)
    return 0


def _follow(log: Path, service: Service | None, lines: int) -> None:
    from swetrials.hosting import process

    with log.open(encoding="utf-8", errors="replace") as file:
        print("".join(file.readlines()[-lines:]), end="", flush=True)
        while True:
            alive = service is not None and process.running(service)
            for line in file:
                print(line, end="", flush=True)
            if not alive:
                return
            time.sleep(_TAIL_SECONDS)


def stop() -> int:
    """Stop the batch in good order: the run under way saves what it has, server and collector end."""
    from swetrials.hosting import process

    service = process.find(_folder(), _SERVICE)
    if service is None:
        process.stop(_folder(), _SERVICE)
        print("no batch is running")
        return 0
    print(f"stopping the batch, pid {service.pid}: its run saves what it has", flush=True)
    in_time = process.ask_to_end(service, _STOP_SECONDS)
    process.stop(_folder(), _SERVICE)
    print("the batch is stopped" if in_time else "the batch had to be killed")
    print("next: the same command with --resume goes on where it stopped")
    return 0


def catalogue() -> str:
    """Return the models that can be served, with the fit key."""
    from swetrials.results.report.model_catalogue import catalogue_text, fit_key_text

    registry = _registry()
    return f"{catalogue_text(registry)}\n\nfit key\n{fit_key_text(registry)}"


def _wrong_models(models: Sequence[str], provider: str) -> str:
    """Return what is wrong with the models that were named, and nothing when nothing is."""
    from swetrials.store.validation import did_you_mean

    if not models:
        return "name at least one model: swetrials batch MODEL..."
    if provider != "vllm":
        return ""
    registry = _registry()
    known = [model.served_name for model in registry.models]
    strange = [f"{name!r} is not in config/models.yaml{did_you_mean(name, known)}" for name in models
               if name not in known]  # fmt: skip
    return "; ".join(strange)


def _checked(prepared_runs: Sequence[PreparedRun], options: BatchOptions) -> bool:
    from swetrials.batch.checks import batch_checks
    from swetrials.cli.interrupting import run_async
    from swetrials.cli.progress import show_check
    from swetrials.cli.rendering import console_for_output

    console = console_for_output()

    async def look() -> bool:
        good = True
        async for check in batch_checks(prepared_runs, options):
            show_check(console, check)
            good = good and check.status != "failed"
        return good

    return run_async(look)


def _detach(file: Path) -> int:
    from swetrials.batch.step import COMMAND
    from swetrials.hosting import process

    words = [*COMMAND, "batch", "work", str(file)]
    service = process.start(
        _folder(),
        _SERVICE,
        words,
        environment={**os.environ, "PYTHONUNBUFFERED": "1"},
        cwd=Path.cwd(),
        port=None,
    )
    print(f"the batch runs in the background: pid {service.pid}")
    print(f"  log     {service.log}")
    print(f"  follow  tail -f {service.log}")
    print("  also    swetrials batch status | tail | stop")
    return 0


def _headline(service: Service | None, known: BatchStatus | None) -> str:
    from swetrials.results.report.wording import seconds

    if service is not None:
        return f"a batch is running: pid {service.pid}, for {seconds(service.age_seconds)}, log {service.log}"
    if known is None:
        return "no batch has run here"
    if known.ended_at is None:
        return f"no batch is running; the last one, of {known.started_at:%Y-%m-%d %H:%M} UTC, was killed"
    how = "was stopped" if known.unfinished else "ended"
    return f"no batch is running; the last one {how} at {known.ended_at:%Y-%m-%d %H:%M} UTC"


def _say(line: str) -> None:
    with suppress(OSError):  # a full disk takes no line of the log, and ends no batch
        print(line, flush=True)


def _folder() -> Path:
    from swetrials.store.project import find_project

    return find_project().tools / "run"


def _status_file() -> Path:
    return _folder() / "batch-status.json"


def _status() -> BatchStatus | None:
    from swetrials.batch.status import BatchStatus
    from swetrials.store.files import RecordError, read_record

    try:
        return read_record(_status_file(), BatchStatus)
    except RecordError:
        return None


def _registry() -> ModelRegistry:
    from swetrials.records.models import ModelRegistry
    from swetrials.store.documents import load_document
    from swetrials.store.project import find_project

    return load_document(find_project().config / "models.yaml", ModelRegistry)
