"""The commands of ``swetrials batch``. ``batch MODEL...`` is short for ``batch start MODEL...``."""

from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand

from swetrials.cli.lean import LeanGroup
from swetrials.cli.options import ALL_JUDGES, JudgeNames, judge_names, with_config_keys


class _StartsByDefault(LeanGroup):
    """Takes what is none of its commands as words for ``start``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  Typer keeps its type to itself
        words = args if args and args[0] in self.commands else ["start", *args]
        return super().parse_args(ctx, words)


class _WithCatalogue(TyperCommand):
    """Shows the models that can be served below its help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  Typer keeps its types to itself
        from swetrials.cli import batch

        super().format_help(ctx, formatter)
        formatter.write(f"\nOther commands: swetrials batch status | tail | stop\n\n{batch.catalogue()}\n")


batch_app = typer.Typer(cls=_StartsByDefault, help="Run many models one after another.", rich_markup_mode=None)


@batch_app.command(
    "start", cls=_WithCatalogue, epilog="Example: swetrials batch qwen3-coder-30b gemma-4-31b --judge-mode async"
)
@with_config_keys
def start(
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
    from swetrials.cli import batch

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
    _leave(batch.start([*(models or ()), *also], config, flags, options, detach=not no_detach, dry_run=dry_run))


@batch_app.command(hidden=True, epilog="Example: swetrials batch work .tools/run/batch-plan.json")
def work(plan: Annotated[Path, typer.Argument(help="The plan's file.")]) -> None:
    """Work through a plan: what goes on in the background."""
    from swetrials.cli import batch

    _leave(batch.work(plan))


@batch_app.command(epilog="Example: swetrials batch status")
def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show how the batch stands, or how the last one came out; exit code 1 when none is running."""
    from swetrials.cli import batch

    _leave(batch.status(as_json=as_json))


@batch_app.command(epilog="Example: swetrials batch tail")
def tail(lines: Annotated[int, typer.Option(min=1, help="Lines to begin with.")] = 20) -> None:
    """Follow the log of the batch until it ends."""
    from swetrials.cli import batch

    _leave(batch.tail(lines))


@batch_app.command(epilog="Example: swetrials batch stop")
def stop() -> None:
    """Stop the batch; what has finished is saved."""
    from swetrials.cli import batch

    _leave(batch.stop())


def _leave(code: int) -> NoReturn:
    raise typer.Exit(code)
