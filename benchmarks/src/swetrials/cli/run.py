"""``run``: trials, without judging them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import RunFlags, with_config_keys, with_run_flags

if TYPE_CHECKING:
    from rich.console import Console

    from swetrials.judging.late import Judged
    from swetrials.runs.benchmark import RunResult

app = single_command()


@app.command(epilog="Example: swetrials run --config config/runner.yaml --dataset dataset/quickstart.yaml --yes")
@with_config_keys
@with_run_flags
def run(asked: RunFlags, flags: dict[str, object]) -> None:
    """Run trials: an agent works through a dataset's tasks. Judges nothing."""
    leave(show_plan(asked.config, flags) if asked.dry_run else run_trials(asked, flags))


def show_plan(path: Path | None, flags: Mapping[str, object]) -> int:
    """Print what would run, task by task, and run nothing."""
    from swetrials.runs.dry_run import describe
    from swetrials.runs.prepared_run import lay_out
    from swetrials.store.documents import load_config

    print(describe(lay_out(load_config(path, os.environ, flags))))
    return 0


def run_trials(asked: RunFlags, flags: Mapping[str, object]) -> int:
    """Run trials and summarise them."""
    from swetrials.cli.interrupting import run_async
    from swetrials.cli.rendering import console_for_output
    from swetrials.cli.summarize import show_scopes
    from swetrials.cli.viewing import viewer_of
    from swetrials.runs.benchmark import run_plan
    from swetrials.runs.prepared_run import lay_out
    from swetrials.store.documents import load_config

    prepared = lay_out(load_config(asked.config, os.environ, flags))
    console = console_for_output()

    async def go() -> RunResult:
        with viewer_of(console, prepared, prepared.plan.skill.name, "trial", stream=asked.stream) as viewer:
            async with prepared.provider.open(prepared.config) as hosting:
                return await run_plan(prepared, hosting, asked.options, viewer)

    result = run_async(go)
    show_scopes(console, prepared.plan.scopes)
    return exit_code(console, result, ())


def exit_code(console: Console, result: RunResult, failed: Sequence[Judged]) -> int:
    """Print what failed and not through the model, a line each; return 1 where something did."""
    from rich.text import Text

    failures = [
        f"{metrics.task} (repeat {metrics.trial.repeat}): {metrics.outcome.kind}: {metrics.outcome.detail}"
        for metrics in result.infrastructure_failures
    ]
    failures += [
        f"{word.folder.path.name}: {word.judge} judge: {word.verdict.reason if word.verdict else 'no answer'}"
        for word in failed
    ]
    for failure in failures:
        console.print(Text(f"failed, not through the model: {failure}", style="red"), soft_wrap=True)
    return 1 if failures else 0
