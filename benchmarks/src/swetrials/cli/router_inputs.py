"""``router inputs``: judgments of what each task needs, and the page on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import single_command
from swetrials.cli.options import with_config_keys_but
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from swetrials.records.judged_inputs import JudgedInputs
    from swetrials.runs.benchmark import RunOptions

app = single_command()


@app.command(
    epilog="Example: swetrials router inputs --agent claude --provider bedrock --model us.anthropic.claude-opus-5"
    " --aws-region us-east-1 --dataset dataset/mcp-gateway-registry.yaml --repeats 3"
)
@with_config_keys_but(
    dataset="dataset/mcp-gateway-registry.yaml", skill="", permission_mode="", allowed_tools="", executor=""
)
def router_inputs(
    flags: dict[str, object],
    config: Annotated[Path | None, typer.Option("--config", help="Configuration file.", metavar="FILE")] = None,
    out_json: Annotated[
        Path | None,
        typer.Option(
            help="Default: swe-router-judged-inputs-<agent>.json in docs/metrics; a rehearsal's in the results tree.",
            metavar="FILE",
        ),
    ] = None,
    out_md: Annotated[
        Path | None,
        typer.Option(help="The page; default: beside the JSON, or above it, where that is metrics/.", metavar="FILE"),
    ] = None,
    render: Annotated[
        Path | None, typer.Option(help="Make the page on this JSON again, and run nothing.", metavar="JSON")
    ] = None,
    skip_probe: Annotated[bool, typer.Option("--skip-probe", help="Make no test call before the first one.")] = False,
    keep_checkouts: Annotated[bool, typer.Option("--keep-checkouts", help="Keep checkouts and homes.")] = False,
    stream: Annotated[bool, typer.Option("--stream", help="Show what the agents do while they do it.")] = False,
) -> None:
    """Have an agent judge what the router needs to know of each task: floor and tier, --repeats times.

    It reads in a checkout and changes nothing. Each judgment is kept as it ends; the same command goes on with those
    that are missing. For a fresh start, move the JSON away.
    """
    from swetrials.runs.benchmark import RunOptions

    if render is not None:
        raise typer.Exit(render_page(render, out_md))
    options = RunOptions(yes=True, skip_probe=skip_probe, keep_checkouts=keep_checkouts)
    raise typer.Exit(judge(config, flags, options, out_json, out_md, stream=stream))


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
    from swetrials.cli.interrupting import run_async
    from swetrials.cli.rendering import console_for_output
    from swetrials.cli.viewing import viewer_of
    from swetrials.router.inputs.report import judged_inputs_markdown
    from swetrials.runs.router_inputs import SETTLED, default_file, judge_inputs, lay_out_judging
    from swetrials.store.documents import load_config
    from swetrials.store.files import write_atomically

    if settled := [f"--{name.replace('_', '-')}" for name in SETTLED if name in flags]:
        raise UsageError(f"{', '.join(settled)}: every judgment settles this by itself; leave it out")
    prepared = lay_out_judging(load_config(path, os.environ, flags))
    file = out_json or default_file(prepared)
    page = out_md or _page_of(file)
    console = console_for_output()

    async def go() -> JudgedInputs:
        with viewer_of(
            console, prepared, f"{prepared.plan.skill.name}, first step", "judgment", stream=stream
        ) as viewer:
            async with prepared.provider.open(prepared.config) as hosting:
                return await judge_inputs(prepared, file, hosting, options, viewer)

    try:
        record = run_async(go)
    except KeyboardInterrupt:
        if file.exists():
            render_page(file, page)
        print("the same command goes on with what is missing")
        raise
    write_atomically(page, judged_inputs_markdown(record))
    return _told(console, record, (file, page))


def render_page(file: Path, out_md: Path | None) -> int:
    """Make the page on a file of judgments again, from nothing but the file."""
    from swetrials.records.judged_inputs import JudgedInputs
    from swetrials.router.inputs.report import judged_inputs_markdown
    from swetrials.store.files import read_record, write_atomically

    page = out_md or _page_of(file)
    write_atomically(page, judged_inputs_markdown(read_record(file, JudgedInputs)))
    print(f"written to {page}")
    return 0


def _page_of(file: Path) -> Path:
    """Return where the page on a file goes: beside it, or above a folder of metrics, among the other pages."""
    from swetrials.runs.router_inputs import METRICS

    folder = file.absolute().parent
    return folder.parent / f"{file.stem}.md" if folder.name == METRICS else file.with_suffix(".md")


def _told(console: Console, record: JudgedInputs, written: tuple[Path, Path]) -> int:
    from rich.text import Text

    from swetrials.results.report import wording as figures

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
