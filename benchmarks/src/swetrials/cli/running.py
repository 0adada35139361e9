"""``run``, ``e2e``, ``--dry-run`` and ``summarize``: from flags to exit codes."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from rich.console import Console
from rich.text import Text

from swetrials.cli.progress import ConsoleViewer
from swetrials.cli.rendering import console_for_output, show_summary
from swetrials.judges.base import Bench, Judge
from swetrials.judges.tests import TestsJudge
from swetrials.pipeline.benchmark import RunOptions, RunResult, run_plan, summarize_scope
from swetrials.pipeline.dry_run import describe
from swetrials.pipeline.judge_choice import JudgeChoice, codex_judge
from swetrials.pipeline.judging import Datasets, Judged, judge_trials
from swetrials.pipeline.workbench import Workbench, clear_up, lay_out
from swetrials.records.config import RunnerConfig
from swetrials.reports import figures
from swetrials.store.documents import load_config
from swetrials.store.files import to_json


def configuration(path: Path | None, flags: Mapping[str, object]) -> RunnerConfig:
    """Read the configuration from its four layers."""
    return load_config(path, os.environ, flags)


def dry_run(path: Path | None, flags: Mapping[str, object]) -> int:
    """Print what would run, task by task, and run nothing."""
    bench = lay_out(configuration(path, flags))
    print(describe(bench))
    return 0


def run(path: Path | None, flags: Mapping[str, object], options: RunOptions) -> int:
    """Run trials and summarise them."""
    bench = lay_out(configuration(path, flags))
    console = console_for_output()

    async def go() -> RunResult:
        with ConsoleViewer(console, len(bench.plan.trials)) as viewer:
            clear_up(bench.work_root, viewer.say)
            viewer.say(_headline(bench))
            async with bench.provider.open(bench.config) as hosting:
                return await run_plan(bench, hosting, options, viewer)

    result = anyio.run(go)
    _show_scopes(console, bench.plan.scopes)
    return _exit_code(console, result, ())


def end_to_end(path: Path | None, flags: Mapping[str, object], options: RunOptions, choice: JudgeChoice | None) -> int:
    """Run trials, judge them, summarise them."""
    bench = lay_out(configuration(path, flags))
    console = console_for_output()

    async def go() -> tuple[RunResult, list[Judged]]:
        with ConsoleViewer(console, len(bench.plan.trials)) as viewer:
            clear_up(bench.work_root, viewer.say)
            viewer.say(_headline(bench))
            return await _run_and_judge(bench, options, choice, viewer)

    result, words = anyio.run(go)
    _show_scopes(console, bench.plan.scopes)
    return _exit_code(console, result, words)


async def _run_and_judge(
    bench: Workbench, options: RunOptions, choice: JudgeChoice | None, viewer: ConsoleViewer
) -> tuple[RunResult, list[Judged]]:
    judging_bench = Bench(bench.repositories, bench.work_root, bench.redactor, bench.sandbox.bwrap)
    rehearsal = bench.config.provider == "rehearsal"
    scenario = Path(bench.config.scenario) if bench.config.scenario else None
    async with codex_judge(
        choice or JudgeChoice(scenario=scenario),
        bench.project,
        rehearsal=rehearsal,
        datasets=[bench.plan.dataset.path],
    ) as codex:
        judges: list[Judge] = [TestsJudge()]
        checks = []
        if choice is not None and codex is not None:
            judges.append(codex)
            checks.append(lambda: codex.prove(judging_bench))
        async with bench.provider.open(bench.config) as hosting:
            result = await run_plan(bench, hosting, options, viewer, checks)
        if choice is not None and codex is None:
            viewer.say("codex judge skipped: codex is not installed (swetrials agents install codex needs npm)")
        viewer.say("judging")
        words = await judge_trials(
            result.folders,
            judges,
            judging_bench,
            Datasets(bench.plan.dataset, bench.project.dataset),
            overwrite=False,
            repo=None,
            observe=lambda judged: viewer.say(judged_line(judged)),
        )
    return result, words


def summarize(folder: Path, *, as_json: bool) -> int:
    """Summarise one run's folder."""
    console = console_for_output()
    if as_json:
        print(to_json(summarize_scope(folder)).decode(), end="")
    else:
        _show_scopes(console, [folder])
    return 0


def judged_line(judged: Judged) -> str:
    """Return one line on what a judge said."""
    head = f"  {judged.folder.path.name}: {judged.judge}"
    word = judged.verdict
    if word is None:
        return f"{head}: nothing to do"
    if word.status == "unscored":
        return f"{head}: unscored: {word.reason}"
    score = getattr(word, "task_score", None)
    said = figures.score(score) if score is not None else figures.verdict(getattr(word, "passed", None))
    return f"{head}: {said}{' (kept)' if judged.skipped else ''}"


def _headline(bench: Workbench) -> str:
    config = bench.config
    label = " · REHEARSAL (scripted model, free)" if config.provider == "rehearsal" else ""
    return (
        f"{config.model} by {config.provider} · {bench.agent.folder} · {config.skill} · "
        f"{bench.plan.dataset.dataset.name}: {len(bench.plan.trials)} trials{label}"
    )


def _show_scopes(console: Console, scopes: Sequence[Path]) -> None:
    for scope in scopes:
        show_summary(console, summarize_scope(scope))
        console.print(
            Text(f"\nwritten to {scope}/: run-summary.md, run-summary.json, and in each trial's folder"), soft_wrap=True
        )
        console.print(Text("  metrics.json, eval.json, the artifacts, attempts/*/stream.jsonl"), soft_wrap=True)


def _exit_code(console: Console, result: RunResult, words: Sequence[Judged]) -> int:
    failures = [
        f"{m.task} (repeat {m.trial.repeat}): {m.outcome.kind}: {m.outcome.detail}"
        for m in result.infrastructure_failures
    ]
    failures += [
        f"{w.folder.path.name}: {w.judge} judge: {w.verdict.reason if w.verdict else ''}" for w in words if w.failed
    ]
    for failure in failures:
        console.print(Text(f"failed, not through the model: {failure}", style="red"), soft_wrap=True)
    return 1 if failures else 0
