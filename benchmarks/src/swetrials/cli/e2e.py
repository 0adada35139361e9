"""``e2e``: pre-flight, trials, judging and summary in one go."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import (
    ALL_JUDGES,
    JudgeNames,
    RunFlags,
    SkipJudge,
    judge_names,
    with_config_keys,
    with_run_flags,
)

if TYPE_CHECKING:
    from swetrials.judging.late import Judged
    from swetrials.runs.benchmark import RunResult

app = single_command()


@app.command(
    epilog="Example: swetrials e2e --provider rehearsal --model rehearsal --dataset dataset/quickstart.yaml --yes"
)
@with_config_keys
@with_run_flags
def e2e(
    asked: RunFlags,
    flags: dict[str, object],
    judge: JudgeNames = ALL_JUDGES,
    judge_mode: Annotated[
        Literal["inline", "skip"], typer.Option(help="Judge once the trials have run, or not at all.")
    ] = "inline",
    skip_judge: SkipJudge = False,
) -> None:
    """Go the whole way: pre-flight, trials, judging, summary, results table."""
    from swetrials.cli.run import show_plan

    if asked.dry_run:
        leave(show_plan(asked.config, flags))
    leave(end_to_end(asked, flags, () if skip_judge or judge_mode == "skip" else judge_names(judge)))


def end_to_end(asked: RunFlags, flags: Mapping[str, object], judges: Sequence[str]) -> int:
    """Run trials, judge them, summarise them."""
    from swetrials.cli.answer import show_scopes as show_answer
    from swetrials.cli.interrupting import run_async
    from swetrials.cli.judge import judged_line
    from swetrials.cli.rendering import console_for_output
    from swetrials.cli.run import exit_code
    from swetrials.cli.summarize import show_scopes
    from swetrials.cli.viewing import viewer_of
    from swetrials.runs.end_to_end import run_and_judge
    from swetrials.runs.judge_choice import JudgeChoice
    from swetrials.runs.prepared_run import lay_out
    from swetrials.store.documents import load_config

    prepared = lay_out(load_config(asked.config, os.environ, flags))
    console = console_for_output()

    failed: list[Judged] = []

    async def go() -> RunResult:
        with viewer_of(console, prepared, prepared.plan.skill.name, "trial", stream=asked.stream) as viewer:

            def tell(judged: Judged) -> None:
                viewer.say(judged_line(judged))
                if judged.failed:
                    failed.append(judged)

            return await run_and_judge(
                prepared,
                asked.options,
                judges,
                JudgeChoice.of(prepared.config),
                viewer,
                tell,
            )

    result = run_async(go)
    show_scopes(console, prepared.plan.scopes)
    show_answer(console, prepared.plan.scopes)
    return exit_code(console, result, failed)
