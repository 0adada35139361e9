"""``router inputs``: from flags to a file of judgments, its page, and an exit code."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from swetrials.cli.interrupting import run_async
from swetrials.cli.rendering import console_for_output
from swetrials.cli.viewing import viewer_of
from swetrials.errors import UsageError
from swetrials.records.judged_inputs import JudgedInputs
from swetrials.results.report import wording as figures
from swetrials.router.inputs.report import judged_inputs_markdown
from swetrials.runs.benchmark import RunOptions
from swetrials.runs.router_inputs import METRICS, SETTLED, default_file, judge_inputs, lay_out_judging
from swetrials.store.documents import load_config
from swetrials.store.files import read_record, write_atomically


def judge(
    path: Path | None,
    flags: Mapping[str, object],
    options: RunOptions,
    out_json: Path | None,
    out_md: Path | None,
    *,
    stream: bool,
) -> int:
    """Make the judgments that are missing, and the page on all of them.

    Raises:
        UsageError: a flag is given that every judgment settles by itself.
    """
    if settled := [f"--{name.replace('_', '-')}" for name in SETTLED if name in flags]:
        raise UsageError(f"{', '.join(settled)}: every judgment settles this by itself; leave it out")
    prepared = lay_out_judging(load_config(path, os.environ, flags))
    file = out_json or default_file(prepared)
    page = out_md or _page_of(file)
    console = console_for_output()

    async def go() -> JudgedInputs:
        with viewer_of(console, prepared, f"{prepared.config.skill}, first step", "judgment", stream=stream) as viewer:
            async with prepared.provider.open(prepared.config) as hosting:
                return await judge_inputs(prepared, file, hosting, options, viewer)

    try:
        record = run_async(go)
    except KeyboardInterrupt:
        if file.exists():
            render(file, page)
        print("the same command goes on with what is missing")
        raise
    write_atomically(page, judged_inputs_markdown(record))
    return _told(console, record, (file, page))


def render(file: Path, out_md: Path | None) -> int:
    """Make the page on a file of judgments again, from nothing but the file."""
    page = out_md or _page_of(file)
    write_atomically(page, judged_inputs_markdown(read_record(file, JudgedInputs)))
    print(f"written to {page}")
    return 0


def _page_of(file: Path) -> Path:
    """Return where the page on a file goes: beside it, or above a folder of metrics, among the other pages."""
    folder = file.absolute().parent
    return folder.parent / f"{file.stem}.md" if folder.name == METRICS else file.with_suffix(".md")


def _told(console: Console, record: JudgedInputs, written: tuple[Path, Path]) -> int:
    say = partial(console.print, soft_wrap=True)
    for judgment in record.judgments:
        if judgment.inputs is None:
            say(Text(f"failed: {judgment.task} (repeat {judgment.repeat}): {judgment.failure}", style="red"))
    without = [row.task for row in record.tasks if row.floor is None]
    if without:
        say(Text(f"no judgment counts for: {', '.join(without)}", style="red"))
    if record.ended_at is None:
        say(Text("not everything is judged; the same command goes on with what is missing", style="red"))
    say(f"{figures.counted(record.judged, 'judgment')}, {record.failed} failed, cost {figures.dollars(record.cost)}")
    say(f"written to {written[0]} and {written[1]}")
    return 1 if without or record.ended_at is None else 0
