"""``judge``: scoring trials that have run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import ALL_JUDGES, ConfigFile, JudgeNames, judge_names, with_judge_keys

if TYPE_CHECKING:
    from swetrials.judging.late import Judged
    from swetrials.runs.end_to_end import JudgingRequest
    from swetrials.store.results import TrialFolder

app = single_command()


@app.command(epilog="Example: swetrials judge --recursive --no-overwrite --folder swe-benchmark-data/rehearsal")
@with_judge_keys
def judge(
    flags: dict[str, object],
    folder: Annotated[Path, typer.Option(help="A trial's folder; with --recursive, a tree of them.")],
    recursive: Annotated[bool, typer.Option("--recursive", help="Judge every trial below the folder.")] = False,
    no_overwrite: Annotated[bool, typer.Option("--no-overwrite", help="Keep scores that still hold.")] = False,
    judge: JudgeNames = ALL_JUDGES,
    config: ConfigFile = None,
    dataset: Annotated[Path | None, typer.Option(help="The dataset of the trials; default: found by its name.")] = None,
    scenario: Annotated[Path | None, typer.Option(help="Rehearsal: the script to play.")] = None,
    repo: Annotated[str | None, typer.Option(help="Fetch the repository from here instead.")] = None,
    clone_root: Annotated[
        Path | None, typer.Option(help="Mirrors and checkouts; default: a private temp folder.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Trials judged at the same time.")] = 1,
) -> None:
    """Score trials that have run; a trial that a judge failed on is tried again."""
    from swetrials.runs.end_to_end import JudgingRequest

    names = judge_names(judge)
    request = JudgingRequest(folder, recursive, not no_overwrite, names, dataset, repo, clone_root, concurrency)
    leave(judge_trials(request, config, flags, scenario))


def judge_trials(request: JudgingRequest, path: Path | None, flags: Mapping[str, object], scenario: Path | None) -> int:
    """Judge one trial, or all below a folder. Exit code 1 when a judge failed on one of them.

    Raises:
        DocumentError: a key of the configuration has a fault.
        KnownError: nothing can be judged; the message says why.
    """
    from swetrials.cli.interrupting import run_async
    from swetrials.cli.progress import show_check
    from swetrials.cli.rendering import console_for_output
    from swetrials.runs.end_to_end import judge_folders
    from swetrials.runs.judge_choice import JudgeChoice
    from swetrials.store.documents import load_config

    config = load_config(path, os.environ, flags)
    choice = JudgeChoice.of(config, scenario)
    request = replace(request, environment=config.environment, preparations_max_gb=config.preparations_max_gb)
    console = console_for_output()
    show = partial(print, flush=True)
    account = _Account()

    def tell(judged: Judged) -> None:
        account.enter(judged)
        # Of a whole tree that cannot be judged the reason is the same throughout; it is told once, at the end.
        if not judged.unjudgeable:
            show(judged_line(judged))

    run_async(lambda: judge_folders(request, choice, partial(show_check, console), tell))
    for line in account.lines():
        show(line)
    return 1 if account.failed else 0


@dataclass
class _Account:
    """What came of a judging, but for what was said, which is on disk by then.

    ``reasons`` holds, by why they cannot be judged, the trials that cannot.
    """

    trials: set[TrialFolder] = field(default_factory=set)
    failed: set[TrialFolder] = field(default_factory=set)
    reasons: dict[str, dict[TrialFolder, None]] = field(default_factory=dict)

    def enter(self, judged: Judged) -> None:
        """Take in a judge's word on a trial."""
        self.trials.add(judged.folder)
        if judged.failed:
            self.failed.add(judged.folder)
        if judged.unjudgeable and judged.verdict is not None:
            self.reasons.setdefault(judged.verdict.reason, {})[judged.folder] = None

    def lines(self) -> Iterator[str]:
        """Give a line for each reason why trials cannot be judged, with their number, and one for all trials."""
        from swetrials.records.words import counted

        for reason, found in self.reasons.items():
            name = next(iter(found)).path.name
            whom = name if len(found) == 1 else f"{counted(len(found), 'trial')}, such as {name}"
            yield f"  {whom}: cannot be judged: {reason}"
        yield counted(len(self.trials), "trial") + (f", {len(self.failed)} failed" if self.failed else "")


def judged_line(judged: Judged) -> str:
    """Return one line on what a judge said."""
    from swetrials.records.verification import TestsEvaluation
    from swetrials.results.report import wording as figures

    head = f"  {judged.folder.path.name}: {judged.judge}"
    word = judged.verdict
    if word is None:
        return f"{head}: nothing to do"
    if word.status == "unscored":
        void = isinstance(word, TestsEvaluation) and word.void_reason
        return f"{head}: {'void' if void else 'unscored'}: {word.reason}"
    said = figures.verdict_with_counts(word) if isinstance(word, TestsEvaluation) else figures.score(word.task_score)
    doubt = f"; {told}" if isinstance(word, TestsEvaluation) and (told := figures.findings_in_short(word)) else ""
    return f"{head}: {said}{doubt}{' (kept)' if judged.skipped else ''}"
