"""The one command. Every import that costs time waits until a command needs it."""

import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from swetrials import __version__
from swetrials.cli.answer_app import answer
from swetrials.cli.batch_app import batch_app
from swetrials.cli.clean_app import clean
from swetrials.cli.compare_app import compare
from swetrials.cli.judge_option import JudgeChosen
from swetrials.cli.lean import LeanGroup
from swetrials.cli.options import ALL_JUDGES, JudgeNames, judge_names, with_config_keys, with_judge_keys
from swetrials.cli.report_app import report
from swetrials.cli.results_app import ResultsCommand, import_, results
from swetrials.cli.router_app import router_app
from swetrials.cli.services_app import collect_app, proxy_app, serve_app

app = typer.Typer(
    cls=LeanGroup,
    name="swetrials",
    help="Benchmark coding agents and models on real repositories: quality, tokens, dollars, latency.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
dataset_app = typer.Typer(cls=LeanGroup, help="Look at datasets.", no_args_is_help=True, rich_markup_mode=None)
agents_app = typer.Typer(
    cls=LeanGroup, help="Install and list agent CLIs.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(dataset_app, name="dataset")
app.add_typer(agents_app, name="agents")
app.add_typer(serve_app, name="serve")
app.add_typer(proxy_app, name="proxy")
app.add_typer(collect_app, name="collect")
app.add_typer(batch_app, name="batch")
app.add_typer(router_app, name="router")
app.command(epilog="Example: swetrials clean --checkouts --trash --dry-run")(clean)
app.command(epilog="Example: swetrials answer swe-benchmark-data")(answer)
app.command(epilog="Example: swetrials compare claude-opus-5 kimi-k3 --tree swe-benchmark-data")(compare)
app.command(epilog="Example: swetrials report swe-benchmark-data --out report.html --charts charts")(report)
app.command("import", epilog="Example: swetrials import published-runs.csv --into published-results")(import_)
app.command(cls=ResultsCommand, epilog="Example: swetrials results swe-benchmark-data --sql 'FROM trials LIMIT 3'")(
    results
)

ConfigFile = Annotated[Path | None, typer.Option("--config", help="Configuration file (YAML).", metavar="FILE")]
Yes = Annotated[bool, typer.Option("--yes", help="Move earlier trials to .trash and start.")]
Resume = Annotated[bool, typer.Option("--resume", help="Keep finished trials, run the others.")]
Force = Annotated[
    bool, typer.Option("--force", help="With --resume: run finished trials of which something else was asked again.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would run, and run nothing.")]
SkipProbe = Annotated[bool, typer.Option("--skip-probe", help="Make no test call before the first trial.")]
Keep = Annotated[bool, typer.Option("--keep-checkouts", help="Keep checkouts and homes of the attempts.")]
Stream = Annotated[bool, typer.Option("--stream", help="Show what the agents do while they do it.")]
SkipJudge = Annotated[bool, typer.Option("--skip-judge", help="The same as --judge-mode skip.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    if version:
        typer.echo(f"swetrials {__version__}")
        raise typer.Exit


@app.command(epilog="Example: swetrials run --config config/runner.yaml --dataset dataset/quickstart.yaml --yes")
@with_config_keys
def run(
    flags: dict[str, object],
    config: ConfigFile = None,
    yes: Yes = False,
    resume: Resume = False,
    force: Force = False,
    dry_run: DryRun = False,
    skip_probe: SkipProbe = False,
    keep_checkouts: Keep = False,
    stream: Stream = False,
) -> None:
    """Run trials: an agent works through a dataset's tasks. Judges nothing."""
    from swetrials.cli import running
    from swetrials.runs.benchmark import RunOptions

    options = RunOptions(yes, resume, force, skip_probe, keep_checkouts)
    _leave(running.dry_run(config, flags) if dry_run else running.run(config, flags, options, stream=stream))


@app.command(
    epilog="Example: swetrials e2e --provider rehearsal --model rehearsal --dataset dataset/quickstart.yaml --yes"
)
@with_config_keys
def e2e(
    flags: dict[str, object],
    config: ConfigFile = None,
    yes: Yes = False,
    resume: Resume = False,
    force: Force = False,
    dry_run: DryRun = False,
    skip_probe: SkipProbe = False,
    keep_checkouts: Keep = False,
    stream: Stream = False,
    judge: JudgeNames = ALL_JUDGES,
    judge_mode: Annotated[
        Literal["inline", "skip"], typer.Option(help="Judge once the trials have run, or not at all.")
    ] = "inline",
    skip_judge: SkipJudge = False,
) -> None:
    """Go the whole way: pre-flight, trials, judging, summary, results table."""
    from swetrials.cli import running
    from swetrials.runs.benchmark import RunOptions

    if dry_run:
        _leave(running.dry_run(config, flags))
    options = RunOptions(yes, resume, force, skip_probe, keep_checkouts)
    judges = () if skip_judge or judge_mode == "skip" else judge_names(judge)
    _leave(running.end_to_end(config, flags, options, judges, stream=stream))


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
) -> None:
    """Score trials that have run; a trial that a judge failed on is tried again."""
    from swetrials.cli import judging
    from swetrials.runs.end_to_end import JudgingRequest

    request = JudgingRequest(folder, recursive, not no_overwrite, judge_names(judge), dataset, repo, clone_root)
    _leave(judging.judge(request, config, flags, scenario))


@app.command(epilog="Example: swetrials summarize --folder swe-benchmark-data/rehearsal/claude-code/swe3/quickstart")
def summarize(
    folder: Annotated[Path, typer.Option(help="The folder of a run: <model>/<agent>/<skill>/<scope>.")],
    judge: JudgeChosen = None,
    as_json: AsJson = False,
) -> None:
    """Write run-summary.json and run-summary.md, and print the results table."""
    from swetrials.cli import running

    _leave(running.summarize(folder, judge=judge, as_json=as_json))


@app.command(epilog="Example: swetrials cost swe-benchmark-data/rehearsal")
def cost(
    folder: Annotated[Path, typer.Argument(help="A trial's folder, or a tree of them.")],
    reprice: Annotated[bool, typer.Option("--reprice", help="Apply other prices; tokens stay as they are.")] = False,
    prices: Annotated[Path | None, typer.Option(help="With --reprice: the price file; default: the project's.")] = None,
    dollars_per_hour: Annotated[float | None, typer.Option(min=0, help="With --reprice: rate of the box.")] = None,
    box_share: Annotated[float, typer.Option(min=0.001, max=1, help="Share of the box that the model takes.")] = 1.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Trials at the same time on that box.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Explain what trials cost, line by line; or give them other prices."""
    from swetrials.cli import costs
    from swetrials.pricing.hardware import Rent

    if not reprice:
        _leave(costs.explain(folder, as_json=as_json))
    rent = Rent(dollars_per_hour, box_share, concurrency) if dollars_per_hour is not None else None
    _leave(costs.reprice_folder(folder, prices, rent, as_json=as_json))


@app.command(epilog="Example: swetrials doctor --provider vllm --model qwen3-coder-30b --agent claude")
@with_config_keys
def doctor(flags: dict[str, object], config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check agent, provider and model; spends nothing. Exit code 3 when something is in the way."""
    from swetrials.cli import checking

    _leave(checking.doctor(config, flags, as_json=as_json))


@app.command(epilog="Example: swetrials matrix")
def matrix(as_json: AsJson = False) -> None:
    """Show which agent works with which provider, and why not."""
    from swetrials.cli import checking

    _leave(checking.show_matrix(as_json=as_json))


@app.command(epilog="Example: swetrials stream attempts/1/stream.jsonl --follow")
def stream(
    file: Annotated[Path, typer.Argument(help="A recorded or growing agent stream.")],
    agent: Annotated[str | None, typer.Option(help="The agent that printed it; default: told from the file.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the agent's end, or Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read an agent's stream: what it did, and what it comes to."""
    from swetrials.cli import streams

    _leave(streams.show(file, agent, follow=follow, as_json=as_json))


@app.command(epilog="Example: swetrials rehearse dataset/quickstart/scenario.yaml --port 8765")
def rehearse(
    scenario: Annotated[Path, typer.Argument(help="The scenario to play.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 0,
    fault: Annotated[str | None, typer.Option(help="A fault that every scripted request meets.")] = None,
) -> None:
    """Serve the rehearsal model on loopback until interrupted."""
    from swetrials.cli import rehearsing

    _leave(rehearsing.serve(scenario, port, fault))


@app.command(hidden=True, epilog="Example: swetrials schemas --out ../docs/schemas")
def schemas(out: Annotated[Path, typer.Option(help="Folder for the JSON Schemas.")]) -> None:
    """Write the JSON Schema of every record."""
    from swetrials.cli import schemas

    schemas.write(out)


@dataset_app.command(epilog="Example: swetrials dataset validate dataset/quickstart.yaml")
def validate(file: Annotated[Path, typer.Argument(help="The dataset's YAML file.")]) -> None:
    """Check a dataset and print a summary: exit 0, or exit 2 and one line per problem."""
    from swetrials.cli import datasets

    datasets.validate(file)


@agents_app.command(epilog="Example: swetrials agents install claude codex")
def install(names: Annotated[list[str], typer.Argument(help="Agents to install.")]) -> None:
    """Install agent CLIs, pinned, into .tools; silent when they are there."""
    from swetrials.cli import agents

    _leave(agents.install(names))


@agents_app.command("list", epilog="Example: swetrials agents list")
def list_() -> None:
    """Show each agent CLI, its pinned version, and whether it is installed."""
    from swetrials.cli import agents

    agents.show()


def _leave(code: int) -> NoReturn:
    raise typer.Exit(code)


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 done but not all, 2 bad usage, 3 pre-flight failed, 130 interrupted."""
    from swetrials.cli.errors import guarded

    sys.exit(guarded(app, sys.argv[1:] if argv is None else argv))
