"""``run``, ``e2e``, ``--dry-run`` and ``summarize``: from flags to exit codes."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from swetrials.cli import answering
from swetrials.cli.interrupting import run_async
from swetrials.cli.judging import judged_line
from swetrials.cli.recovering import recover_below
from swetrials.cli.rendering import console_for_output, show_summary
from swetrials.cli.viewing import viewer_of
from swetrials.judging.late import Judged
from swetrials.results.report.run_summary import summarize_scope
from swetrials.runs.benchmark import RunOptions, RunResult, run_plan
from swetrials.runs.dry_run import describe
from swetrials.runs.end_to_end import run_and_judge
from swetrials.runs.judge_choice import JudgeChoice
from swetrials.runs.prepared_run import lay_out
from swetrials.store.documents import load_config
from swetrials.store.files import to_json


def dry_run(path: Path | None, flags: Mapping[str, object]) -> int:
    """Print what would run, task by task, and run nothing."""
    print(describe(lay_out(load_config(path, os.environ, flags))))
    return 0


def run(path: Path | None, flags: Mapping[str, object], options: RunOptions, *, stream: bool) -> int:
    """Run trials and summarise them; with ``stream``, show what the agents do meanwhile."""
    prepared = lay_out(load_config(path, os.environ, flags))
    console = console_for_output()

    async def go() -> RunResult:
        with viewer_of(console, prepared, prepared.config.skill, "trial", stream=stream) as viewer:
            async with prepared.provider.open(prepared.config) as hosting:
                return await run_plan(prepared, hosting, options, viewer)

    result = run_async(go)
    _show_scopes(console, prepared.plan.scopes)
    return _exit_code(console, result, ())


def end_to_end(
    path: Path | None,
    flags: Mapping[str, object],
    options: RunOptions,
    judges: Sequence[str],
    *,
    stream: bool,
) -> int:
    """Run trials, judge them, summarise them; with ``stream``, show what the agents do meanwhile."""
    prepared = lay_out(load_config(path, os.environ, flags))
    console = console_for_output()

    async def go() -> tuple[RunResult, list[Judged]]:
        with viewer_of(console, prepared, prepared.config.skill, "trial", stream=stream) as viewer:
            return await run_and_judge(
                prepared,
                options,
                judges,
                JudgeChoice.of(prepared.config),
                viewer,
                lambda judged: viewer.say(judged_line(judged)),
            )

    result, words = run_async(go)
    _show_scopes(console, prepared.plan.scopes)
    answering.show_scopes(console, prepared.plan.scopes)
    return _exit_code(console, result, words)


def summarize(folder: Path, *, judge: str | None = None, as_json: bool) -> int:
    """Summarise one run's folder; what a killed run had spent there is put into its records first."""
    recover_below(folder)
    if as_json:
        print(to_json(summarize_scope(folder, judge)).decode(), end="")
    else:
        _show_scopes(console_for_output(), [folder], judge)
    return 0


def _show_scopes(console: Console, scopes: Sequence[Path], judge: str | None = None) -> None:
    for scope in scopes:
        show_summary(console, summarize_scope(scope, judge))
        console.print(Text(f"\nwritten to {scope}/"), soft_wrap=True)
        console.print("  run-summary.md and run-summary.json; in each trial's folder: metrics.json,")
        console.print("  eval.json once it is judged, the artifacts, attempts/*/stream.jsonl")


def _exit_code(console: Console, result: RunResult, words: Sequence[Judged]) -> int:
    failures = [
        f"{metrics.task} (repeat {metrics.trial.repeat}): {metrics.outcome.kind}: {metrics.outcome.detail}"
        for metrics in result.infrastructure_failures
    ]
    failures += [
        f"{word.folder.path.name}: {word.judge} judge: {word.verdict.reason if word.verdict else 'no answer'}"
        for word in words
        if word.failed
    ]
    for failure in failures:
        console.print(Text(f"failed, not through the model: {failure}", style="red"), soft_wrap=True)
    return 1 if failures else 0
